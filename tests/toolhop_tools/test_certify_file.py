"""Certificate files: streamed, taken up again after a kill, refused when stale."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.toolhop_tools.certifying import BASIS, item, made
from toolhop_tools.certify.candidates import Provenance
from toolhop_tools.certify.file import (
    BEGINNING,
    CertificateError,
    Writer,
    default_path,
    is_proven,
    progress,
    proven_only,
    read,
    with_certificates,
)
from toolhop_tools.certify.model import VERSION, Certificate, HopProof, HopVerdict, to_line
from toolhop_tools.model import Item

SOURCE = "def f(text):\n    return len(text)"


def one_item(identity: str) -> Item:
    return item(made(SOURCE, "How long is Oslo?", "4"), identity=identity)


def certificate(of: Item, verdict: HopVerdict = HopVerdict.PROVEN) -> Certificate:
    proven = verdict is HopVerdict.PROVEN
    hop = HopProof(
        "f",
        verdict,
        "why",
        3,
        arguments={"text": "Oslo"} if proven else None,
        provenance=Provenance.QUESTION if proven else None,
    )
    return Certificate(of.id, of.digest, BASIS, verdict, "why", "independent", (hop,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "c.jsonl"


def test_what_is_added_is_read(path: Path) -> None:
    items = [one_item("a"), one_item("b")]
    with Writer(path) as writer:
        for one in items:
            writer.add(certificate(one))
            assert list(read(path))[-1] == certificate(one)
    assert [one.item for one in read(path)] == ["a", "b"]


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_line_that_was_cut_off_is_taken_away(path: Path, cut: int) -> None:
    items = [one_item("a"), one_item("b")]
    with Writer(path) as writer:
        for one in items:
            writer.add(certificate(one))
    path.write_bytes(path.read_bytes()[:-cut])
    digests = {one.id: one.digest for one in items}
    assert progress(path, digests, BASIS).keys() == {"a"}
    with Writer(path) as writer:
        writer.add(certificate(items[1]))
    assert progress(path, digests, BASIS).keys() == {"a", "b"}
    assert len(path.read_bytes().splitlines()) == 2


def test_a_file_of_a_half_line_is_emptied(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(BEGINNING + b"x" * 200_000)
    with Writer(path):
        pass
    assert path.read_bytes() == b""


@pytest.mark.parametrize("held", [b'{"id": 1}', b"x" * 200_000, b"[1,\n2]"])
def test_a_file_of_another_kind_is_left_as_it_is(path: Path, held: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(held)
    with pytest.raises(CertificateError, match="ends in a line that is not a certificate"):
        Writer(path)
    assert path.read_bytes() == held


@pytest.mark.parametrize("line", [b"{]", b'{"item": "1"}', b"\xff\xfe", b"[]"])
def test_a_line_that_is_no_certificate_is_named(path: Path, line: bytes) -> None:
    with Writer(path) as writer:
        writer.add(certificate(one_item("a")))
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(
        CertificateError, match=r"line 2 is not a certificate [^\n]*\n.*take the line out"
    ):
        list(read(path))


def test_one_process_writes_at_a_time(path: Path) -> None:
    with Writer(path), pytest.raises(CertificateError, match="another `toolhop certify`"):
        Writer(path)
    with Writer(path):
        pass


STALE: dict[str, tuple[Callable[[Certificate], Certificate], str]] = {
    "the item": (lambda one: replace(one, digest="0"), "the item has changed"),
    "the search": (
        lambda one: replace(one, basis=replace(BASIS, version=VERSION + 1)),
        "of the search",
    ),
}


@pytest.mark.parametrize("name", STALE)
def test_stale_certificates_are_refused(path: Path, name: str) -> None:
    change, why = STALE[name]
    one = one_item("a")
    stale = change(certificate(one))
    with Writer(path) as writer:
        writer.add(stale)
    with pytest.raises(CertificateError, match=rf"id a: .*{why}[^$]*toolhop certify"):
        with_certificates([one], path)
    assert not progress(path, {"a": one.digest}, BASIS)
    # The last one counts, and certificates of other items are none of ours.
    with Writer(path) as writer:
        writer.add(certificate(one))
    assert is_proven(with_certificates([one], path)[0])
    assert progress(path, {"a": one.digest}, BASIS).keys() == {"a"}
    assert with_certificates([one_item("b")], path) == (one_item("b"),)


def test_other_settings_make_certify_search_again(path: Path) -> None:
    one = one_item("a")
    with Writer(path) as writer:
        writer.add(certificate(one))
    assert not progress(path, {"a": one.digest}, replace(BASIS, audit=99))


def test_items_take_the_proven_calls(path: Path) -> None:
    good, bad, unknown = one_item("a"), one_item("b"), one_item("c")
    with Writer(path) as writer:
        writer.add(certificate(good))
        writer.add(certificate(bad, HopVerdict.DEFECTIVE))
    found = with_certificates([good, bad, unknown], path)
    assert [is_proven(one) for one in found] == [True, False, None]
    gold = found[0].hops[0].gold
    assert gold is not None
    assert (gold.arguments, gold.source) == ({"text": "Oslo"}, "question")
    assert found[1].hops == bad.hops
    assert found[0].digest == good.digest
    assert proven_only(found, path) == found[:1]
    with pytest.raises(CertificateError, match="proves none of the 2 chosen items"):
        proven_only(found[1:], path)


def test_no_file_and_no_certificate(path: Path) -> None:
    with pytest.raises(CertificateError, match="toolhop certify --data DATA"):
        list(read(path))
    assert not progress(path, {}, BASIS)
    path.parent.mkdir()
    path.write_bytes(to_line(certificate(one_item("a"))) + b'{"item": "b"}\n')
    with pytest.raises(CertificateError, match="line 2 is not a certificate"):
        list(read(path))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CertificateError, match="--out"):
        Writer(tmp_path / "file" / "c.jsonl")
    with pytest.raises(CertificateError, match="--out"):
        Writer(tmp_path)


def test_the_usual_place_is_a_file_below_the_folder() -> None:
    assert str(default_path("ToolHop-60")) == "certificates/ToolHop-60.jsonl"
    assert default_path("../a b").parent.name == "certificates"


def test_an_older_certificate_is_read_as_stale(path: Path) -> None:
    one = one_item("a")
    kept = json.loads(to_line(certificate(one)))
    kept["basis"]["version"] = VERSION - 1
    kept["hops"][0] |= {"verdict": "defective", "defect": "tool raises"}
    path.parent.mkdir()
    path.write_text(json.dumps(kept) + "\n")
    with pytest.raises(
        CertificateError, match=rf"of version {VERSION - 1} of the search[^$]*again"
    ):
        with_certificates([one], path)
    assert not progress(path, {"a": one.digest}, BASIS)
