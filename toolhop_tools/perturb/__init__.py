"""Changes of items: each a pure ``Item -> Item`` with a seed, a file each.

What changes is how an item's tools are shown: names, descriptions, order, and tools of other
items among its own. The bodies stay. So a call by a scrambled name reaches its tool, and nothing
that plays, replays or scores has to know. All is drawn from the seed and the item's id: the same
seed changes an item in the same way in any company, and one change draws nothing from another's
random numbers.
"""
