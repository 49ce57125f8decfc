"""Replies of services that cannot be called: recorded ones, and ones made up from the data's
`template_response`.

Names follow ToolBench's code, on which RelyToolBench is built.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from pathlib import Path

from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.errors import DataError, shown
from toolhop_tools.model import canonical
from toolhop_tools.readers.datafile import parse, read_bytes
from toolhop_tools.readers.record import Record

RESPONSE_CHARS = 1024
"""Maximum length of a response shown to an agent, in characters, as in the official code."""
ELEMENTS = 3
"""Maximum number of elements in a made-up list."""
RESERVED = frozenset({"from", "class", "return", "false", "true", "id", "and"})
"""Names that are prefixed with ``is_``."""
SAMPLES: dict[str, JSON] = {
    "str": "sample", "int": 1, "float": 1.5, "bool": True, "NoneType": None, "list": [], "dict": {},
}  # fmt: skip

_LIST = re.compile(r"list of (\w+) with length (\d+)")


def service_name(text: str, *, reserved: bool = False) -> str:
    """Normalize a name of a function, parameter or cache file: lower case, digits and ``_``."""
    name = re.sub(r"_+", "_", re.sub(r"[^\u4e00-\u9fa5^a-zA-Z0-9_]", "_", text)).lower().strip("_")
    name = f"get_{name}" if name[:1].isdigit() else name
    return f"is_{name}" if reserved and name in RESERVED else name


def filled(form: JSON) -> JSON:
    """Fill in a template whose leaves name types: ``{"a": "int"}`` becomes ``{"a": 1}``.

    A template may be a text that contains JSON; any other text is returned unchanged.
    """
    match form:
        case dict():
            return {key: filled(value) for key, value in form.items() if key != "_list_length"}
        case [dict() as element, *_]:
            length = element.get("_list_length", 1)
            count = min(length, ELEMENTS) if isinstance(length, int) else 1
            return [filled(element) for _ in range(count)]
        case [str() as text] if found := _LIST.fullmatch(text):
            return [SAMPLES.get(found[1], found[1])] * min(int(found[2]), ELEMENTS)
        case list():
            return [filled(one) for one in form if one != "empty list"]
        case str() if form in SAMPLES:
            return SAMPLES[form]
        case str() if form.lstrip()[:1] in ("{", "["):
            try:
                inner: JSON = json.loads(form)
            except (ValueError, RecursionError):
                return form
            return filled(inner)
        case str() if found := _LIST.fullmatch(form):
            return [SAMPLES.get(found[1], found[1])] * min(int(found[2]), ELEMENTS)
        case "empty list":
            return []
        case _:
            return form


def response(value: JSON, error: str = "") -> dict[str, JSON]:
    """Build a reply in the services' form; one over `RESPONSE_CHARS` becomes a cut text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    cut = f"{text[:RESPONSE_CHARS]}..." if len(text) > RESPONSE_CHARS else value
    return {"error": error, "response": cut}


def recorded(folder: Path, names: Sequence[str], api: Record) -> dict[str, Outcome]:
    """Return the cached replies of an API, by the canonical text of the arguments.

    Args:
        folder: the cache.
        names: category, tool, and possible names of the API's file.
        api: record in which faults are noted: a file that is not a JSON object, or a key that is
            not the text of a dict.
    """
    category = re.sub(r"[ ,/]", "_", names[0]).replace("__", "_")
    homes = (folder / category / tool for tool in (f"{names[1]}_for_{category}", names[1]))
    places = (home / f"{name}.json" for home in homes for name in names[2:])
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        return {}
    try:
        content = parse(read_bytes(path), str(path))
    except DataError as error:
        api.note("bad-replies", "api_name", expected="a cache file of JSON", given=str(error))
        return {}
    if not isinstance(content, dict):
        api.note("bad-replies", "api_name", expected=f"an object in {path}", given=shown(content))
        return {}
    found: dict[str, Outcome] = {}
    for key, reply in content.items():
        try:
            arguments = ast.literal_eval(key) if key.strip() else {}
            text = canonical(arguments)
        except (ValueError, SyntaxError, TypeError, RecursionError):
            arguments, text = None, ""
        if not isinstance(arguments, dict):
            given = f"{shown(key)} in {path}"
            expected = "a dict of arguments as Python writes it"
            api.note("bad-key", "api_name", expected=expected, given=given, level="finding")
            continue
        parts = reply if isinstance(reply, dict) else {"response": reply}
        whole = response(parts.get("response", ""), str(parts.get("error") or ""))
        found[text] = Returned(json.dumps(whole, ensure_ascii=False))
    return found
