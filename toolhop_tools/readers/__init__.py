"""Shared code of data set readers, and readers that belong to no single benchmark.

Your package can add a reader by an entry point in the group ``toolhop.readers`` that names a
`toolhop_tools.readers.reader.Reader`.
"""
