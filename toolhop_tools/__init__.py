"""Tool documents, tool code, items with their hops, and the data sets that hold them."""
