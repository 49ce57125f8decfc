"""Work spread over the nodes of a Ray cluster: a place on each, and jobs that are sent there.

`host` is what runs on a node; `nodes`, with `jobs` and `connect`, is the driver's side, and alone
asks for Ray; `alike` compares what nodes have. What is sent, and what comes of it, is the caller's.
"""
