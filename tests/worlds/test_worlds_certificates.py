"""Certificates of made items: by construction, with the search beside it; others as before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tests.agents.items import small_item
from toolhop_sandbox.base import Limits, Program
from toolhop_sandbox.choose import open_sandbox
from toolhop_tools.certify.construction import certify_surely
from toolhop_tools.certify.file import (
    CertificateError,
    Writer,
    is_proven,
    proven_only,
    with_certificates,
)
from toolhop_tools.certify.model import (
    VERSION,
    Basis,
    Certificate,
    HopVerdict,
    from_line,
    to_line,
)
from toolhop_tools.load import load
from toolhop_tools.model import Item
from toolhop_tools.worlds import items

BASIS = Basis(VERSION, 0, 5, 2, 2.0, 256, "restricted")


def certified(*chosen: Item) -> list[Certificate]:
    async def run() -> list[Certificate]:
        async with await open_sandbox("process", limits=Limits(), max_workers=1) as sandbox:
            return [await certify_surely(item, sandbox, BASIS) for item in chosen]

    return anyio.run(run)


@pytest.fixture(scope="module")
def item() -> Item:
    return load("worlds:seed=5,items=20").items[3]


@pytest.fixture(scope="module")
def certificate(item: Item) -> Certificate:
    return certified(item)[0]


def test_the_chain_of_a_made_item_is_executed(item: Item, certificate: Certificate) -> None:
    assert certificate.verdict is HopVerdict.CONSTRUCTED
    assert certificate.generator == items.VERSION
    for hop, proof, beside in zip(item.hops, certificate.hops, certificate.searched, strict=True):
        assert hop.gold is not None
        assert (proof.arguments, proof.answer) == (hop.gold.arguments, hop.answer)
        assert proof.result
        assert beside.verdict is not HopVerdict.CONSTRUCTED
    used = {edge.hop for proof in certificate.hops for edge in proof.edges}
    assert used == set(range(1, len(item.hops)))
    assert from_line(to_line(certificate)) == certificate


def test_an_item_that_the_generator_does_not_make_has_the_searchs_verdict(item: Item) -> None:
    changed, other = certified(replace(item, question=f"{item.question} Now."), small_item())
    for found in (changed, other):
        assert found.verdict is not HopVerdict.CONSTRUCTED
        assert (found.generator, found.searched) == (0, ())


def test_a_chain_that_does_not_run_here_is_not_shown(
    item: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = item.hops[0]
    name = first.tool.name
    broken = Program(f"def {name}(**given):\n    return {{}}\n", name)
    hop = replace(first, tool=replace(first.tool, body=broken))
    monkeypatch.setattr("toolhop_tools.certify.construction.is_made", lambda _: True)
    [found] = certified(replace(item, hops=(hop, *item.hops[1:])))
    assert found.verdict is HopVerdict.UNPROVEN
    assert found.why.startswith(f"hop 1 ({name}): the chain's call gives ")
    assert found.generator == 0


def test_it_holds_for_the_generator_of_its_version(
    item: Item, certificate: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "certificates.jsonl"
    with Writer(path) as writer:
        writer.add(certificate)
    [golden] = with_certificates([item], path)
    assert is_proven(golden)
    assert golden.hops == item.hops
    assert proven_only([golden], path) == (golden,)
    monkeypatch.setattr(items, "VERSION", items.VERSION + 1)
    with pytest.raises(CertificateError, match=r"of generator 1 of worlds, this is 2"):
        with_certificates([item], path)
