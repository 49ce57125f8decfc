"""Items without end: typed worlds, whose chains, tools and questions come from one source.

`domain` reads what a kind of world holds, `world` fills it, `expression` is what a question means,
`draw` samples such meanings, `tools` and `render` make Python tools of a world's tables, `plan`
turns a meaning into calls, `wording` into a question, `checks` keeps what is right and hard.
"""
