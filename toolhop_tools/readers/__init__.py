"""What readers of data sets share, and those of no single benchmark.

A package of one's own adds a reader by an entry point of the group ``toolhop.readers`` that
names a `toolhop_tools.readers.reader.Reader`.
"""
