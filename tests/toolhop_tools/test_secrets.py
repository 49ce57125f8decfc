"""A secret is found however a server, a mail or a page writes it, and at the speed of reading."""

from __future__ import annotations

import base64
import html
import json
import quopri
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from toolhop_tools.secrets import PART_BYTES, holds_secret, redacted, redacted_bytes

SECRET = 'sk-7731/env+v"ar&=pa\\ss x%41=zü'  # noqa: S105 -- no real one
ENCODINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON with a slash escaped": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON of numbers": lambda text: "".join(f"\\u{ord(letter):04X}" for letter in text),
    "Python": lambda text: ascii(text)[1:-1],
    "URL": lambda text: "".join(f"%{one:02X}" if one in b'/+"&=%\\ ' else chr(one)
                                for one in text.replace("ü", "u").encode()),
    "URL in small letters": lambda text: "".join(f"%{one:02x}" for one in text.encode()),
    "HTML": html.escape,
    "HTML by names": lambda text: text.replace("&", "&amp;").replace("/", "&sol;")
                                      .replace("+", "&plus;").replace("=", "&equals;"),
    "HTML by numbers": lambda text: "".join(f"&#{ord(letter):05};" for letter in text),
    "HTML by hex numbers": lambda text: "".join(f"&#x{ord(letter):x};" for letter in text),
    "quoted-printable": lambda text: quopri.encodestring(text.encode(), quotetabs=True).decode(),
    "quoted-printable with line ends": lambda text: "=\r\n".join(
        "".join(f"={one:02X}" for one in letter.encode()) for letter in text),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATE_KEY", SECRET)


@pytest.mark.parametrize(("inner", "outer"), [*product(ENCODINGS, repeat=2)])
def test_a_secret_is_taken_out_however_it_is_written(
    inner: str, outer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = SECRET.replace("ü", "u") if "URL" in (inner, outer) else SECRET
    monkeypatch.setenv("GATE_KEY", secret)
    written = ENCODINGS[outer](ENCODINGS[inner](secret))
    assert redacted(f"key=<{written}>, 100% of it") == "key=<[redacted]>, 100% of it"


@pytest.mark.parametrize("encode", [
    lambda coded: coded.decode(),
    lambda coded: coded.decode().replace("+", "-").replace("/", "_"),
    lambda coded: coded.decode().replace("/", "\\/"),
    lambda coded: "".join(f"%{one:02x}" for one in coded),
])  # fmt: skip
@pytest.mark.parametrize("user", ["", "m", "me", "you"])
def test_base64_is_found_at_each_place(user: str, encode: Callable[[bytes], str]) -> None:
    said = redacted(encode(base64.b64encode(f"{user}:{SECRET}".encode())))
    assert "[redacted]" in said
    assert len(said) < 30


@pytest.mark.parametrize("before", ["?key=", "\\", "&#4", "100% ", "=3D=3D", "a=\n", "\\\\"])
@pytest.mark.parametrize("written", ["de41/abc-7731/x", "de41%2fabc-7731%2fx"])
def test_what_stands_before_it_does_not_hide_it(
    before: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``=de`` of ``key=de41`` is no letter of quoted-printable."""
    monkeypatch.setenv("GATE_KEY", "de41/abc-7731/x")
    assert redacted(before + written).endswith("[redacted]")


def test_lines_of_json_stay_lines_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    value = '\\"part/7731"\\'
    monkeypatch.setenv("GATE_KEY", value)
    for text in (value, json.dumps(value), json.dumps(json.dumps(value)), f"\n{value}\n"):
        line = json.dumps({"text": text})
        for written in (line, line.replace("/", "\\/"), line.replace("\\\\", "\\u005c")):
            assert json.loads(redacted(written))["text"].strip('\n"\\') == "[redacted]"


def test_ordinary_text_stays_as_it_is() -> None:
    text = 'say("50% &amp; more\\n") = \\u00fc &#47; =3D \\\\ 100%2F &unknown; \\x4 %zz =\n \\'
    assert redacted(text) == text
    assert redacted_bytes(bytes(range(256))) == bytes(range(256))
    assert redacted("half \ud800 of a pair") == "half \ud800 of a pair"


@pytest.mark.parametrize("piece", [
    "%2", "%25", "&#", "&#4", "&#x41", "&amp;", "&a", "\\", "\\u002f", "\\u0", "=", "=2", "=\n",
    "= ", "=3D", "%5C", SECRET[:-1], SECRET, "".join(f"%{one:02x}" for one in SECRET.encode()),
])  # fmt: skip
def test_hostile_text_takes_time_in_proportion_to_its_length(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece.encode() * (size // len(piece.encode()))
        started = time.process_time()
        redacted_bytes(text)
        return time.process_time() - started

    small = min(seconds(2**14) for _ in range(3))
    assert seconds(2**18) < 16 * 4 * small + 0.06


def test_a_secret_that_lies_across_two_parts_of_a_file_is_found(tmp_path: Path) -> None:
    written = "".join(f"%{one:02x}" for one in SECRET.encode())
    path = tmp_path / "large"
    for before in (PART_BYTES - 1, PART_BYTES - 40, PART_BYTES, 2 * PART_BYTES - 3):
        path.write_bytes(b"a" * before + written.encode() + b"b" * 100)
        assert holds_secret(path)
    path.write_bytes(b"a" * 2 * PART_BYTES)
    assert not holds_secret(path)
