"""Texts that tell whoever reads them what to do, where they are to say what something is. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|do not (?:use|call|trust)|don['’]t (?:use|call|trust)"
    r"|never (?:use|call|trust)|stop (?:using|calling))\b[^.;?]*"
    r"\b(?:tools?|instructions?|calls?|functions?|prompts?|questions?|everything|above|previous)\b"
    r"|\bas an? (?:ai|assistant|language model)\b|\byou are an? (?:ai|assistant|language model)\b"
    r"|\b(?:system|developer) (?:prompt|message|note)\b|\b(?:the|your) (?:final )?answer is\b"
    r"|\b(?:always|just|simply) (?:answer|reply|respond|say)\b|\banswer directly\b"
    r"|\bwithout (?:using|calling) (?:any |the |a )?tools?\b",
    re.IGNORECASE,
)


def orders(texts: Iterable[str], what: str) -> Iterator[str]:
    """The first order to a reader in texts.

    Args:
        texts: of a reply.
        what: whose they are, for the message.
    """
    for text in texts:
        if found := _ORDER.search(text):
            yield f"{what} tells the reader what to do, {found[0]!r}: say what is so and no more."
            return
