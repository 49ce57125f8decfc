"""Certificates: which hops and items are proven, and what is known of the others.

`mentions` reads a question, `pools` a source, `candidates` makes calls of them.
`readable` says where the values of a call can be had, `standing` ranks a call by it, `rivals` has
the calls one step away, and `answering` says what a result answers: none of these knows the gold.
`ranking` runs calls until the answer is fixed, `search` compares it with the gold. `judging` finds
the gold in a result, `audit` has other values, `defects` says what is wrong where nothing is
proven. `calls` makes a hop's calls, `prove` goes through items, `model` is what comes out, `file`
keeps it.
"""
