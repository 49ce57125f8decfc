"""Has a dataclass fetch the real `str.format`, by a field of that name in a class of texts.

Contained: the policy is left. A template reads attributes as text, of a process that holds no
secret and is closed as without a policy.
"""

from dataclasses import asdict, dataclass
from typing import Annotated


@dataclass(init=False)
class Formats:
    format: object


class Text(Formats, Annotated[str, "x"]):
    pass


def attack():
    return "escaped: " + asdict(Text("{0.__" + "class__}"))["format"](1)
