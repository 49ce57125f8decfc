"""A data card of any data set: every figure counted, and what nobody has noted said to be so."""
