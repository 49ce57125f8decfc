"""Detect errors that a tool reports in its return value instead of raising."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from toolhop_sandbox.outcome import JSON, Returned

_NO_ERROR = frozenset({"", "none", "null", "no", "no error", "n/a", "ok"})
OPENING_CHARS = 400
"""Characters at the start of a text that are searched for an error report."""
_NUMBER_ONLY = r"[-+±]?\s*[\d.,]+\s*%?\s*$"
_ERROR_TEXT = re.compile(
    rf"""(?:
    \[error\]
  | (?:error|exception)\s*(?:$ | [:!](?!\s*{_NUMBER_ONLY}) | -\s)
  | (?:invalid|internal|unexpected|unknown|runtime|fatal|critical|value|type|key|index|name|syntax
      |input|parameter|argument|validation|pars(?:e|ing)|server|network|connection|database
      |conversion|division|calculation)\s+(?:\w+\s+)?(?:error|exception)\s*(?:$ | :)
  | (?:an?\s+(?:\w+\s+){{0,2}} | (?:unexpected|unknown|internal|some)\s+)?
      (?:error|exception)\s+(?:has\s+)?occur
  | (?:error|exception)\s+(?:while|when|during)\b
  | (?:error|exception)\s+(?:in|at|on|with|from|(?!handling|correcting|checking)\w+ing)\b
      [^:]{{0,80}}:
  | traceback\s+\(most\ recent
  | (?-i:(?:\w+\.)*[A-Z]\w*(?:Error|Exception))\s*(?:$ | [:(])
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def result_value(outcome: Returned) -> JSON:
    """Parse what a tool returned; None if it is too deeply nested."""
    try:
        value: JSON = json.loads(outcome.json_text)
    except RecursionError:
        return None
    return value


def tells_of_error(value: JSON) -> bool:
    """Whether a returned value says that the tool failed.

    Tools report failure in band: of the 253 tools in 60 items of ToolHop, those that report
    errors return an object with a text under `error`, or a text that begins with "Error:". The
    following count as errors:

    - a text that begins like an error report: "Error: ...", "ValueError: ...", "An
      unexpected error occurred", "Error while reading ...";
    - an object with a text, an object, a list or `true` under `error`, `error_message` or
      `exception`, or with `"success": false` or `"status": "error"`;
    - an object with a non-empty `errors` and no other result;
    - any of these as the only element of a list.

    Numbers do not count: `{"error": 0.5}` and "Error: 0.5" are measurements. Neither does a text
    about errors ("Error analysis"), a report that nothing was found, or `"status": "failed"`, which
    may be the requested information, for example about a mission.
    """
    if isinstance(value, list) and len(value) == 1:
        return tells_of_error(value[0])
    if isinstance(value, str):
        return _ERROR_TEXT.match(value.lstrip()[:OPENING_CHARS]) is not None
    if isinstance(value, dict):
        if any(_is_report(value.get(key)) for key in ("error", "error_message", "exception")):
            return True
        if _is_report(value.get("errors")):
            return not any(part for key, part in value.items() if key != "errors")
        status = value.get("status")
        failed = isinstance(status, str) and status.casefold() == "error"
        return failed or value.get("success") is False
    return False


def _is_report(value: JSON) -> bool:
    if isinstance(value, str):
        return value.strip().casefold() not in _NO_ERROR
    return value is True or (isinstance(value, list | dict) and bool(value))


CODES = ("code", "error_code", "status_code", "error_type", "type", "status")
"""Fields with a code or type of error, as common in HTTP APIs."""
SENTENCES = frozenset({"error", "errors", "message", "error_message", "exception", "detail"})
"""Fields with words on an error."""
_ARGUMENTS = ("parameter", "param", "argument", "field")
_ALLOWED = ("allowed", "allowed_values", "valid_values", "options", "choices", "expected")
_OUTAGES = (
    "408 429 500 502 503 504 timed_out out_of_memory died TimeoutError ConnectionError "
    "ConnectionRefusedError ConnectionResetError BrokenPipeError"
)
NATURES = {
    **dict.fromkeys(_OUTAGES.split(), "outage"),
    **dict.fromkeys(("404", "410", "KeyError", "IndexError", "LookupError"), "no match"),
}
"""What a code or a type of error says of the failure; numbers are HTTP's (RFC 9110)."""


def reported(value: JSON) -> dict[str, str]:
    """Return the ``type`` of an error that a tool returned, the argument (``path``) and what is
    ``allowed``, from fields of the object or of that under ``error``; empty without such a field.

    A text under ``error`` is the type if there is a ``message`` beside it.
    """
    if isinstance(value, list) and len(value) == 1:
        return reported(value[0])
    outer = value if isinstance(value, dict) else {}
    inner = outer.get("error")
    fields = {**outer, **inner} if isinstance(inner, dict) else outer
    named = inner if isinstance(inner, str) and isinstance(outer.get("message"), str) else ""
    kind = _field(fields, CODES[:-1]) or named
    return {"type": kind, "path": _field(fields, _ARGUMENTS), "allowed": _field(fields, _ALLOWED)}


def _field(fields: Mapping[str, JSON], names: Sequence[str]) -> str:
    """Return the first of these fields that has a value, as text."""
    value = next((fields[name] for name in names if fields.get(name) not in (None, "")), "")
    parts = value if isinstance(value, list) else [value]
    texts = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in parts)
    return ", ".join(texts)
