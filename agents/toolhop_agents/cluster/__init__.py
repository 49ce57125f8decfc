"""Distribute jobs over the nodes of a Ray cluster, each of which holds an open place.

`host` runs on the nodes; `nodes`, with `jobs` and `connect`, is the driver's side and the only part
that needs Ray; `alike` compares the nodes' software. The jobs and their results are the caller's
business.
"""
