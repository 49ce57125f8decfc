"""Certificates: which hops and items are proven, and what is known of the others.

Without the gold: `mentions` reads a question and `pools` a source; `candidates` builds calls from
both. `readable` determines where the values of a call can be found, `standing` ranks a call by
that, `rivals` lists the calls one step away, and `answering` extracts the answers of a result.
`ranking` runs calls until the answer is fixed.

With the gold: `search` compares the answer, using `judging` to find the gold in a result, `audit`
to draw other values, and `defects` to say what is wrong if nothing is proven. `calls` runs a hop's
calls, `prove` certifies whole items, `model` defines certificates, and `file` stores them.
"""
