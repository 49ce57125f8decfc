"""Main spans of suspension bridges."""

# Distance between the towers in metres.
SPANS = {
    "25 de Abril": 1013,
    "Akashi Kaikyo": 1991,
    "Ambassador": 564,
    "Bosphorus": 1074,
    "Brooklyn": 486,
    "Clifton": 214,
    "Fatih Sultan Mehmet": 1090,
    "Forth Road": 1006,
    "George Washington": 1067,
    "Golden Gate": 1280,
    "Humber": 1410,
    "Mackinac": 1158,
    "Menai": 176,
    "Severn": 988,
    "Storebaelt East": 1624,
    "Tsing Ma": 1377,
    "Verrazzano-Narrows": 1298,
}


def bridge_main_spans(bridges: list[str]) -> list[int] | dict[str, str]:
    """Return the main span of each suspension bridge in whole metres, in the order given."""
    spans = {plain(name): span for name, span in SPANS.items()}
    found: list[int] = []
    for bridge in bridges:
        span = spans.get(plain(bridge))
        if span is None:
            return {"error": f"bridges: {bridge!r} is not measured; known are {', '.join(SPANS)}"}
        found.append(span)
    return found


def plain(name: str) -> str:
    """A name in lower case without hyphens, spaces and the words that all bridges share."""
    words = name.replace("-", " ").replace("æ", "ae").casefold().split()
    return "".join(word for word in words if word not in ("bridge", "suspension"))
