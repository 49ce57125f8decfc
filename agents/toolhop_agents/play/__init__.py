"""`toolhop play`: play an item in the terminal."""
