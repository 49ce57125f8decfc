"""Certificates: proofs that an item can be solved along its own chain, or why there is none.

`mentions` reads a question, `literals` a source, `pools` and `candidates` make calls of them, which
may use anything. `conditions` judges a call by five conditions, with `readable` for what somebody
can read who does not see the source, `support` for what speaks for a call, `rivals` for the calls
it is compared with, `judging` for where a result has the gold, and `audit` for other values;
`defects` says what is wrong where nothing is proven. All these are pure; `calls` runs a hop's
calls, `search` judges them, `prove` does so for items. `model` is what comes out, `file` keeps it.
"""
