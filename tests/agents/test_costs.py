"""Prices, what replies cost, the response cache, and the ledger of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhop_agents.models import prices
from toolhop_agents.models.cache import CachedModel, CacheUnusable, RequestContext, ResponseCache
from toolhop_agents.models.exchange import priced
from toolhop_agents.models.prices import Price, TokenRate, UnknownPrice, check, listed, parse
from toolhop_agents.runs.ledger import Ledger, RunLimitReached, RunLimits
from toolhop_env.messages import Message, Origin, RawCall, Reply, ToolMessage, Usage, UserMessage
from toolhop_env.spending import Spent, spent_on
from toolhop_env.trace import Replied
from toolhop_tools.model import ToolSchema

QUESTION: list[Message] = [UserMessage("What is 4 squared?")]
TOOL = ToolSchema("power", "Raises.", {"type": "object", "properties": {}})
ASKED = RequestContext(
    model="openai/x",
    base_url="http://127.0.0.1/v1",
    call_format="native",
    epoch=1,
    temperature=0.0,
    max_tokens=None,
    seed=0,
)

# --- prices ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "base_url", "known"),
    [
        ("openai/gpt-4o", None, True),
        ("openai/gpt-4o", "https://api.openai.com/v1", True),
        ("openai/gpt-4o", "http://127.0.0.1:8000/v1", False),
        ("litellm/openai/gpt-4o", "http://127.0.0.1:8000/v1", False),
        ("anthropic/claude-sonnet-4-5", None, True),
        ("mistral/mistral-large-latest", None, True),
        ("deepseek/deepseek-chat", "http://127.0.0.1:8000/v1", True),
        ("openai/no-such-model", None, False),
        ("nobody/gpt-4o", None, False),
        ("sample_spec", None, False),
    ],
)
def test_the_table_knows_providers_models_and_no_namesakes(
    model: str, base_url: str | None, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(prices.BASE_URL, raising=False)
    price = listed(model, base_url)
    assert (price is not None) is known
    assert price is None or 0 < price.usual.prompt_cached_usd <= price.usual.input_usd < 1e-3
    if not known:
        with pytest.raises(UnknownPrice, match="pass --price"):
            check(model, base_url, None)
    check(model, base_url, "1,2")


def test_the_address_in_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(prices.BASE_URL, "http://127.0.0.1:8000/v1")
    assert listed("openai/gpt-4o", None) is None


@pytest.mark.parametrize("text", ["", "1", "1,2,3,4", "a,b", "-1,2", "1,nan", "1,inf", "1;2"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="give USD for a million input tokens"):
        parse(text)


def test_tokens_at_hand_and_long_requests_have_rates_of_their_own() -> None:
    assert parse("2.5,10,1").cost_usd(Usage(1000, 100, None, 400)) == pytest.approx(
        600 * 2.5e-6 + 400 * 1e-6 + 100 * 1e-5
    )
    price = Price(
        TokenRate(1, 2, 0.5), long=((200, TokenRate(10, 20, 5)), (100, TokenRate(3, 6, 1)))
    )
    assert price.cost_usd(Usage(100, 1)) == 102
    assert price.cost_usd(Usage(101, 1)) == 303 + 6
    assert price.cost_usd(Usage(201, 1)) == 2010 + 20
    assert price.cost_usd(Usage(10, 0, None, 99)) == 5


def test_the_table_s_tiers_are_read() -> None:
    price = listed("gemini/gemini-2.5-pro", None)
    assert price
    assert price.long
    above, rate = price.long[0]
    assert above >= 100_000
    assert rate.input_usd > price.usual.input_usd


def test_a_stated_cost_goes_before_a_price_and_no_usage_has_none() -> None:
    assert priced(Usage(5, 5, 0.25), parse("1,1")).cost_usd == 0.25
    assert priced(Usage(5, 5), parse("1,1")).cost_usd == pytest.approx(1e-5)
    assert priced(Usage(), parse("1,1")).cost_usd is None
    assert priced(Usage(5, 5), None).cost_usd is None


# --- spending ----------------------------------------------------------------------------------

REPLIES = st.builds(
    Reply,
    usage=st.builds(
        Usage, st.integers(0, 99), st.integers(0, 99), st.none() | st.integers(0, 9).map(float)
    ),
    retries=st.integers(0, 3),
    origin=st.sampled_from(Origin),
)


@given(st.lists(REPLIES, max_size=8), st.lists(REPLIES, max_size=8))
def test_sums_add_up_and_no_token_is_both_spent_and_saved(
    one: list[Reply], other: list[Reply]
) -> None:
    assert spent_on(one) + spent_on(other) == spent_on([*one, *other])
    assert Spent() + spent_on(one) == spent_on(one)
    total = spent_on(one)
    assert total.tokens + total.saved_tokens == sum(
        reply.usage.input_tokens + reply.usage.output_tokens
        for reply in one
        if reply.origin is not Origin.RESUMED
    )


def test_a_ledger_counts_what_is_new_and_stops_at_the_limit() -> None:
    ledger = Ledger(RunLimits(tokens=100))
    ledger.add(Replied(1, Reply(usage=Usage(90, 9))), prefix_turns=1)
    ledger.add(Replied(2, Reply(usage=Usage(90, 9), origin=Origin.CACHED)), prefix_turns=1)
    ledger.add(Replied(2, Reply(usage=Usage(90, 9))), prefix_turns=1)
    ledger.check()
    ledger.add(Replied(3, Reply(usage=Usage(1, 0))), prefix_turns=1)
    with pytest.raises(RunLimitReached, match="100 of 100 tokens") as stopped:
        ledger.check()
    assert stopped.value.limit == "run_token_limit"
    assert ledger.spent.saved_tokens == 99


def test_costs_that_are_not_known_cannot_be_limited() -> None:
    before = spent_on([Reply(usage=Usage(5, 5))])
    with pytest.raises(RunLimitReached, match="is not known"):
        Ledger(RunLimits(cost_usd=1, known_costs=True), before).check()
    Ledger(RunLimits(tokens=100), before).check()
    ledger = Ledger(RunLimits(known_costs=True))
    ledger.add(Replied(1, Reply(usage=Usage(5, 5, 0.1))), prefix_turns=0)
    ledger.check()
    ledger.add(Replied(2, Reply(usage=Usage(5, 5))), prefix_turns=0)
    with pytest.raises(RunLimitReached, match="is not known") as stopped:
        ledger.check()
    assert stopped.value.limit == "cost_limit"


@pytest.mark.parametrize("name", ["tokens", "calls", "cost_usd", "time_s"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_limits_are_more_than_nothing(name: str, value: float) -> None:
    limits: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match="must be more than 0"):
        RunLimits(**limits)


# --- the cache ---------------------------------------------------------------------------------


def test_everything_that_matters_is_in_the_key_and_no_secret() -> None:
    changes: list[dict[str, Any]] = [
        {"model": "openai/y"}, {"base_url": "http://127.0.0.2/v1"}, {"call_format": "text"},
        {"epoch": 2}, {"temperature": None}, {"temperature": 1.0}, {"max_tokens": 5}, {"seed": 1},
        {"extra": {"reasoning_effort": "low"}}, {"extra": {"prompt_cache_key": "a"}},
    ]  # fmt: skip
    keys = [ASKED.key(QUESTION, [TOOL]), ASKED.key(QUESTION, []), ASKED.key(QUESTION * 2, [TOOL])]
    keys += [replace(ASKED, **change).key(QUESTION, [TOOL]) for change in changes]
    assert len(set(keys)) == len(keys)
    secrets: list[dict[str, Any]] = [
        {"extra": {"api_key": "sk-1"}},
        {"extra": {"extra_headers": {"Authorization": "Bearer x", "x-api-key": "y"}}},
        {"base_url": "http://user:password@127.0.0.1/v1"},
    ]
    empty = replace(ASKED, extra={"extra_headers": {}}).key(QUESTION, [TOOL])
    for change in secrets:
        assert replace(ASKED, **change).key(QUESTION, [TOOL]) in (keys[0], empty)


def test_a_reply_comes_back_as_it_was_marked_as_cached(tmp_path: Path) -> None:
    cache = ResponseCache.open(tmp_path / "a" / "b")
    reply = Reply(
        "ü \ud800", (RawCall("1", "f", '{"x": '),), Usage(3, 4, 0.5, 2), 1.0, "m", "stop", 2
    )
    cache.put("ab" * 32, reply)
    assert cache.get("ab" * 32) == replace(reply, origin=Origin.CACHED, retries=0)
    assert cache.get("cd" * 32) is None


def test_an_entry_that_is_cut_short_or_of_another_key_is_as_good_as_not_there(
    tmp_path: Path,
) -> None:
    cache = ResponseCache.open(tmp_path)
    key = ASKED.key(QUESTION, [])
    cache.put(key, Reply("16"))
    (path,) = tmp_path.glob("*/*.json")
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        assert cache.get(key) is None
    path.write_bytes(whole.replace(key.encode(), b"0" * 64))
    assert cache.get(key) is None
    for entry in (b"[]", b"null", b'{"format": 1}', json.dumps({"format": 1, "key": key}).encode()):
        path.write_bytes(entry)
        assert cache.get(key) is None
    cache.put(key, Reply("16"))
    assert cache.get(key) is not None
    assert not list(tmp_path.rglob(".*"))


def test_a_model_is_asked_once_and_a_full_disk_loses_no_reply(tmp_path: Path) -> None:
    class Counting:
        name = "counting"
        asked = 0

        async def reply(self, messages: Any, tools: Any) -> Reply:
            self.asked += 1
            return Reply("16", usage=Usage(7, 1))

    counting = Counting()
    cached = CachedModel(counting, ResponseCache.open(tmp_path), ASKED)
    first = anyio.run(cached.reply, QUESTION, [TOOL])
    again = anyio.run(cached.reply, QUESTION, [TOOL])
    assert (first.origin, again.origin) == (Origin.ASKED, Origin.CACHED)
    assert (counting.asked, again.usage, again.content) == (1, Usage(7, 1), "16")
    other = [*QUESTION, ToolMessage("1", "power", "16")]
    gone = CachedModel(counting, ResponseCache(Path("/dev/null/x")), ASKED)
    assert anyio.run(gone.reply, other, [TOOL]).content == "16"
    with pytest.raises(CacheUnusable, match="pass another --cache"):
        ResponseCache.open(Path("/dev/null/x"))
