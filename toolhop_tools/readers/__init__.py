"""Readers of data sets, one file a source; `toolhop_tools.load` finds them by name.

A package of one's own adds a reader by an entry point of the group ``toolhop.readers`` that
names a `toolhop_tools.readers.reader.Reader`.
"""
