"""Made items before people: a page on loopback, or the terminal; verdicts go to the folder."""
