"""Tool schemas, tool code, items with their hops, and the data sets that contain them."""
