"""Strategies for the string formats of JSON Schema; formats not listed here are not enforced."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from hypothesis import strategies as st

_WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
_DATES = (
    *("2000-01-01", "2000-02-29", "2024-02-29", "2023-02-28", "1900-02-28", "2023-01-31"),
    *("2023-04-30", "2023-12-31", "2024-01-01", "1999-12-31", "1970-01-01", "0001-01-01"),
    "9999-12-31",
)
"""Ends of months and years, leap days, and the last days of February in other years."""
_TIMES = ["00:00:00Z", "23:59:59Z", "12:00:00+00:00", "12:30:00.5Z", "06:15:00-08:00"]


def dates() -> st.SearchStrategy[str]:
    """Return a strategy for ``YYYY-MM-DD`` dates of any year that Python and the format support."""
    return st.dates().map(dt.date.isoformat) | st.sampled_from(_DATES)


def _times() -> st.SearchStrategy[str]:
    plain = st.times().map(lambda time: f"{time.replace(microsecond=0).isoformat()}Z")
    return plain | st.sampled_from(_TIMES)


def _date_times() -> st.SearchStrategy[str]:
    return st.builds("{}T{}".format, dates(), _times())


def _hosts() -> st.SearchStrategy[str]:
    return st.lists(_WORD, min_size=1, max_size=3).map(".".join) | st.sampled_from(
        ["localhost", "example.com", "a-b.example.org", "xn--bcher-kva.example"]
    )


def _emails() -> st.SearchStrategy[str]:
    plain = st.builds("{}@{}.{}".format, _WORD, _WORD, st.sampled_from(["com", "org"]))
    return plain | st.sampled_from(["a.b+c@example.com", "first.last@sub.example.org"])


def _addresses() -> st.SearchStrategy[str]:
    path = st.lists(_WORD, max_size=3).map(lambda parts: "".join(f"/{part}" for part in parts))
    plain = st.builds("{}://{}.com{}".format, st.sampled_from(["https", "http"]), _WORD, path)
    return plain | st.sampled_from(
        ["https://example.com/?q=a%20b#c", "mailto:a@example.com", "urn:isbn:0451450523"]
    )


def _sampled(*texts: str) -> Callable[[], st.SearchStrategy[str]]:
    return lambda: st.sampled_from(texts)


FORMATS: dict[str, Callable[[], st.SearchStrategy[str]]] = {
    "date": dates,
    "time": _times,
    "date-time": _date_times,
    "duration": _sampled("P1D", "PT1H", "P1Y2M3DT4H5M6S", "P2W", "PT0S"),
    "email": _emails,
    "idn-email": _emails,
    "hostname": _hosts,
    "idn-hostname": _hosts,
    "ipv4": lambda: st.ip_addresses(v=4).map(str),
    "ipv6": lambda: st.ip_addresses(v=6).map(str),
    "uri": _addresses,
    "uri-reference": lambda: _addresses() | st.sampled_from(["", "/a/b", "../a", "#a"]),
    "iri": _addresses,
    "iri-reference": _addresses,
    "uri-template": _sampled("https://example.com/{a}", "/a/{b}"),
    "uuid": lambda: st.uuids().map(str),
    "json-pointer": _sampled("", "/a", "/a/0", "/a~1b"),
    "relative-json-pointer": _sampled("0", "1/a", "0#"),
    "regex": _sampled("", "a", "^[a-z]+$", "a|b"),
}
