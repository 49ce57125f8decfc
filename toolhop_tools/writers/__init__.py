"""Scenario items in other benchmarks' official files: what `toolhop_tools.readers` reads.

Each writer is a pure function of families of scenario items (`families`), of which `labels` has
run the gold calls first. It gives texts by file name, and writes none.
"""
