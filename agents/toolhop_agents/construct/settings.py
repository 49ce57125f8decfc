"""How items are made: the settings of a folder, and those of each model that is asked for it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from toolhop_agents.models import prices
from toolhop_agents.models.prices import Price
from toolhop_agents.scripted.constructor.model import PREFIX
from toolhop_sandbox.choose import Kind
from toolhop_sandbox.outcome import JSON
from toolhop_tools.properties.check import EXAMPLES


class Settings(BaseModel):
    """How items are made. Kept in the folder; keys are never among them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    base_url: str | None = None
    temperature: float | None = 0.7
    max_tokens: int | None = None
    price: str | None = None
    prompts: Path | None = None
    prompts_digest: str = ""
    repairs: int = Field(4, ge=0)
    seed: int = 0
    """Of the verifier: examples and random values. No model is shown it."""
    examples: int = EXAMPLES
    sandbox: Kind = "auto"
    against: tuple[str, ...] = ()
    per_template: int | None = None
    official_safe: bool = False
    direct_model: str | None = None
    """Asked without tools."""
    direct_base_url: str | None = None
    direct_price: str | None = None
    direct_samples: int = 1
    checker: str | None = None
    """Has to come to what was made, from its text alone."""
    checker_base_url: str | None = None
    checker_price: str | None = None
    cache: Path | None = None
    """Of replies, for several folders."""
    least_yield: float = 0.1
    token_limit: int | None = None
    cost_limit: float | None = None
    run_token_limit: int | None = None
    run_cost_limit: float | None = None
    timeout_s: float = 120.0
    """Of one request, in seconds."""
    max_retries: int = 5
    at_a_time: int = 2
    executor: Literal["local", "ray"] = "local"
    """Where tools are verified; the model is asked by this process."""
    ray_address: str | None = None

    def of_direct(self) -> Settings | None:
        """How the model is asked that gets no tools; None where there is none."""
        if self.direct_model is None:
            return None
        own = {"base_url": self.direct_base_url, "price": self.direct_price}
        return self.model_copy(update={"model": self.direct_model, **own})

    def of_checker(self) -> Settings | None:
        """How the checker is asked; None where there is none. It is to read, not to invent."""
        if not self.checker:
            return None
        own = {"base_url": self.checker_base_url, "price": self.checker_price, "temperature": 0.0}
        return self.model_copy(update={"model": self.checker, **own})

    @property
    def asked_with(self) -> dict[str, JSON]:
        """What a model is asked with, for the keys of its replies."""
        return {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "base_url": self.base_url,
        }


def check_prices(settings: Settings) -> None:
    """See that a limit on costs can be kept: of each model that is asked, the price is known.

    Raises:
        UnknownPrice: of one it is not.
    """
    if settings.run_cost_limit is None and settings.cost_limit is None:
        return
    asked = {
        "--price": settings if settings.model else None,
        "--checker-price": settings.of_checker(),
        "--direct-price": settings.of_direct(),
    }
    for flag, one in asked.items():
        if one is None or (flag == "--direct-price" and one.model.startswith(PREFIX)):
            continue  # nobody is asked, or no tokens are used
        prices.check(one.model, one.base_url, one.price, flag=flag)


def price_of(settings: Settings) -> Price | None:
    """What the model's tokens cost; None where nothing tells."""
    if settings.price:
        return prices.parse(settings.price)
    return prices.listed(settings.model, settings.base_url)
