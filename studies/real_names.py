"""Writes which invented roots are real words or names: `python -m studies.real_names LIST...`.

A list is a text with words, such as `/usr/share/dict/words`. What the built-in items say counts as
well; what an earlier run has found stays. Run it when the syllables in `names.json` change.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from toolhop_tools.worlds.names import STYLES, SYLLABLES

BUILTIN = Path(__file__).parents[1] / "toolhop_tools" / "builtin"
WORD = re.compile(r"[^\W\d_]{3,}")


def plain(word: str) -> str:
    """A word in lower case without accents."""
    return unicodedata.normalize("NFD", word).encode("ascii", "ignore").decode().lower()


def words_in(paths: Iterable[Path]) -> set[str]:
    """Every word of some files."""
    texts = (path.read_text("utf-8", errors="replace") for path in paths)
    return {plain(word) for text in texts for word in WORD.findall(text)}


def builtin_words() -> set[str]:
    """Every word of the built-in items and their tools."""
    kinds = {".py", ".json", ".jsonl"}
    return words_in(path for path in BUILTIN.rglob("*") if path.suffix in kinds)


def main() -> None:
    known = builtin_words() | words_in(map(Path, sys.argv[1:]))
    data = json.loads(SYLLABLES.read_text("utf-8"))
    for name, style in STYLES.items():
        roots = style.roots()
        real = {root for root in roots if plain(root) in known} | (style.real & roots)
        data[name]["real"] = " ".join(sorted(real))
        print(f"{name}: {len(roots)} roots, {len(real)} are real")
    SYLLABLES.write_text(json.dumps(data, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
