"""`toolhop play`: a person plays an item in the terminal."""
