"""Items that lack something or contain a fault, each with a proven label.

Each scenario is made from a certified item by a pure function of item and seed, one file each; its
claims are then proven by execution (`proof`): a solvable item is solved with the tools on offer,
and for an unsolvable one every tool on offer is tried. The transformations follow ToolBeHonest
(missing, potential and limited tools) and RelyToolBench (missing parameters, unmatched tools); the
hazards that leave an item solvable are our own.
"""
