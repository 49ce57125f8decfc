"""Certificates: proofs by search that an item can be solved along its own chain, or why not.

`mentions` reads a question, `literals` a source, `pools` and `candidates` make calls of them,
`honesty` says which calls are an answer to what was asked, `judging` whether a result is the gold,
`directness` whether a made-up call proves it, `audit` how often chance gets there, `defects` what
is wrong where nothing does. All these are pure; `search` runs them for a hop by its `calls`,
`prove` for items. `model` is what comes out, `file` keeps it.
"""
