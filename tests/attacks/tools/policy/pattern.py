"""Reads inner names by class patterns, and by a class that answers for foreign objects.

Contained: no pattern names them; no class decides for itself what its instances are.
"""


def attack():
    class Any:
        __match_args__ = ("gi_frame",)

    match (value for value in ()):
        case object(gi_frame=frame):
            return f"escaped: {frame}"
    return "held"
