"""Items that lack something, and items in which something goes wrong, each with a proven label.

A scenario is made of a certified item by a pure function of item and seed, a file each; what it
claims is then shown by execution (`proof`): what is solvable is proven with the tools on offer, and
of what is not each tool on offer was tried. The transformations follow ToolBeHonest (missing,
potential and limited tools) and RelyToolBench (missing parameters, unmatched tools); the hazards
that leave an item solvable are ours.
"""
