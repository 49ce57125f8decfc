"""Perturbations of items: pure functions ``Item -> Item`` with a seed, one module each.

They change how the tools of an item are shown: names, descriptions, order, and distractors from
other items. Tool bodies stay the same, so a call by a scrambled name still reaches its tool, and
code that plays, replays or scores episodes is unaffected.

All random choices depend on the seed and the item's id: the same seed changes an item in the same
way in any data set, and perturbations do not share random numbers.
"""
