"""Work spread over the nodes of a Ray cluster: a place on each, and jobs that are sent there.

`nodes` is the driver's side and the only module that asks for Ray; `host` is what runs on a node;
`alike` compares what the nodes have. What is sent, and what comes of it, is the caller's.
"""
