"""Endless generated items: typed worlds whose chains, tools and questions come from one source.

`domain` parses a kind of world, `world` fills it, `expression` is the meaning of a question, `draw`
samples such meanings, `tools` and `render` make Python tools from a world's tables, `plan` turns a
meaning into calls, `wording` into a question, and `checks` rejects what is wrong or too easy.
"""
