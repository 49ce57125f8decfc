"""Token prices, from the user or from litellm's bundled table. No network access."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from toolhop_env.messages import Usage
from toolhop_sandbox.outcome import JSON

TABLE = "model_prices_and_context_window_backup.json"
"""File name of litellm's price table within its package."""
BASE_URL = "OPENAI_BASE_URL"
"""Environment variable that the `openai` client reads if no base URL is given."""
MILLION = 1_000_000
TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


@dataclass(frozen=True, slots=True)
class TokenRate:
    """Prices per token in USD."""

    input_usd: float
    output_usd: float
    prompt_cached_usd: float
    """Price of an input token from the provider's cache."""


@dataclass(frozen=True, slots=True)
class Price:
    """Token prices of a model."""

    usual: TokenRate
    long: tuple[tuple[int, TokenRate], ...] = ()
    """Input token counts, in descending order, with the rates for requests above them."""

    def cost_usd(self, usage: Usage) -> float:
        """Return the cost of `usage` at this price, in USD."""
        fitting = (rate for above, rate in self.long if usage.input_tokens > above)
        rate = next(fitting, self.usual)
        at_hand = min(usage.prompt_cached_tokens, usage.input_tokens)
        return math.fsum(
            (
                (usage.input_tokens - at_hand) * rate.input_usd,
                at_hand * rate.prompt_cached_usd,
                usage.output_tokens * rate.output_usd,
            )
        )


def parse(text: str) -> Price:
    """Parse a ``--price``: USD per million tokens, ``IN,OUT`` or ``IN,OUT,CACHED``.

    Raises:
        ValueError: the text has another form; the message states the expected one.
    """
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or not all(math.isfinite(n) and n >= 0 for n in numbers):
        raise ValueError(
            f"the price is {text!r}; give USD for a million input tokens and a million output "
            "tokens, such as 2.5,10 (a third number is for input tokens that the provider has "
            "in its cache)"
        )
    given = [number / MILLION for number in numbers]
    return Price(TokenRate(given[0], given[1], given[2] if len(given) == 3 else given[0]))


class UnknownPrice(Exception):
    """A cost limit is set, but the model's price is unknown."""


def check(model: str, base_url: str | None, price: str | None, *, flag: str = "--price") -> None:
    """Check that the model's price is known. `flag` is the option that sets it.

    Raises:
        UnknownPrice: `price` is None and the table does not list the model.
    """
    if price is None and listed(model, base_url) is None:
        raise UnknownPrice(
            f"a limit on costs is asked for, and no price is known for {model}"
            + (f" at {base_url}" if base_url else "")
            + f"\n  fix: pass {flag} IN,OUT (USD for a million tokens), or leave the limit out"
        )


def listed(model: str, base_url: str | None) -> Price | None:
    """Return the price in litellm's table, or None if it is not listed.

    Args:
        model: the name as in ``--model``.
        base_url: the server's URL. Self-hosted servers with OpenAI's protocol do not cost what the
            namesakes of their models do.
    """
    name = model.removeprefix("litellm/")
    provider, _, rest = name.partition("/")
    if provider == "openai":
        address = base_url or (os.environ.get(BASE_URL) if name == model else None)
        if not is_openai(address or None):
            return None
    for key in (name, rest):
        entry = _table().get(key)
        if isinstance(entry, dict) and _is_of(entry, provider):
            return _price(entry)
    return None


def is_openai(base_url: str | None) -> bool:
    """Whether requests go to OpenAI itself rather than to a compatible server."""
    return base_url is None or urlsplit(base_url).hostname == "api.openai.com"


def _is_of(entry: Mapping[str, JSON], provider: str) -> bool:
    # The table names some providers twice, such as vertex_ai and vertex_ai-language-models.
    return str(entry.get("litellm_provider", "")).startswith(provider)


@cache
def _table() -> Mapping[str, JSON]:
    """Return the table, read without importing litellm (which takes seconds); empty if missing."""
    spec = importlib.util.find_spec("litellm")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        try:
            found = json.loads((Path(folder) / TABLE).read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(found, dict):
            return found
    return {}


def _price(entry: Mapping[str, JSON]) -> Price | None:
    usual = _rate(entry, "")
    if usual is None:
        return None
    return Price(usual, tuple(sorted(_long(entry), reverse=True, key=lambda tier: tier[0])))


def _long(entry: Mapping[str, JSON]) -> Iterator[tuple[int, TokenRate]]:
    for name in entry:
        tier = TIER.fullmatch(name)
        rate = _rate(entry, f"_above_{tier[1]}k_tokens") if tier else None
        if tier and rate:
            yield int(tier[1]) * 1000, rate


def _rate(entry: Mapping[str, JSON], suffix: str) -> TokenRate | None:
    input_usd = _number(entry.get(f"input_cost_per_token{suffix}"))
    output_usd = _number(entry.get(f"output_cost_per_token{suffix}"))
    if input_usd is None or output_usd is None:
        return None
    cached_usd = _number(entry.get(f"cache_read_input_token_cost{suffix}"))
    return TokenRate(input_usd, output_usd, input_usd if cached_usd is None else cached_usd)


def _number(value: JSON) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and isinstance(value, int | float) else None
