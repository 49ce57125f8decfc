"""Settings of a folder of made items, and of each model asked for them.

Each field with a `Flag` is a flag of the commands that make items; name, type, bounds, default and
help are stated only here (`toolhop_agents.cli.options`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from toolhop_agents.models import prices
from toolhop_agents.models.prices import Price
from toolhop_agents.runs.flags import Amount, Count, Flag, max_tokens_of, temperature_of
from toolhop_sandbox.choose import Kind
from toolhop_sandbox.outcome import JSON
from toolhop_tools.properties.check import EXAMPLES

OFF = "off"
"""Value of `second` that turns the second implementation off even if readers are named."""
PRICE = "IN,OUT[,CACHED]"
TOLD_SETTINGS = (
    "model", "temperature", "max_tokens", "repairs", "seed", "examples", "sandbox",
    "official_safe", "per_template", "second", "readers", "votes", "wording", "closed_book",
    "closed_book_samples",
)  # fmt: skip
"""Settings that cards and methods report. Addresses are left out, as they may be private."""


Author = Annotated[str, Flag(
    "provider/model, such as openai/gpt-4o.",
    metavar="NAME", default="")]  # fmt: skip
"""The model that writes items."""


class Settings(BaseModel):
    """Settings for making items, stored in the folder without any keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # fmt: off
    model: Author
    base_url: Annotated[str | None, Flag(
        "Base URL of the model's API, if not its provider's.")] = None
    temperature: Annotated[float | None, Flag(
        "Sampling temperature; none leaves it to the provider, as reasoning models want it.",
        metavar="NUMBER|none", default="0.7", parse=temperature_of)] = 0.7
    max_tokens: Annotated[Count, Flag(
        "Tokens per reply, reasoning included; none leaves it to the provider.",
        metavar="NUMBER|none", default="none", parse=max_tokens_of)] = None
    price: Annotated[str | None, Flag(
        "USD per million tokens, if the response states no cost.", metavar=PRICE)] = None
    timeout_s: Annotated[float, Field(gt=0), Flag(
        "Seconds per request.", operational=True)] = 120.0
    max_retries: Annotated[int, Field(ge=0), Flag(
        "Retries of a failed request.", operational=True)] = 5
    cache: Annotated[Path | None, Flag(
        "Keep replies here and reuse them: none is paid for twice.",
        metavar="FOLDER", operational=True)] = None
    prompts: Annotated[Path | None, Flag(
        "Prompts that replace the built-in ones, one in each file.", metavar="FOLDER")] = None
    prompts_digest: str = ""
    repairs: Annotated[int, Field(ge=0, le=20), Flag("Repairs per stage.")] = 4
    against: Annotated[tuple[str, ...], Flag(
        "A test set that no item may resemble, in words that hold a value or in values and "
        "answers; may be repeated.", metavar="DATA")] = ()
    per_template: Annotated[Count, Flag(
        "Keep at most N items whose questions differ only in values.")] = None
    official_safe: Annotated[bool, Flag(
        "Reject answers that ToolHop's official rule can find by accident.")] = False
    second: Annotated[str | None, Flag(
        "A model that writes each function again from its document alone; if the two differ, a "
        "third decides. off skips this.  [default: the first of --readers]",
        metavar="NAME")] = None
    second_base_url: Annotated[str | None, Flag("Base URL of --second.", goes_with="second")] = None
    second_price: Annotated[str | None, Flag(
        "Price of --second, in the form of --price.", metavar=PRICE, goes_with="second")] = None
    readers: tuple[str, ...] = ()
    """Models that plan the calls of each item from its question and documents."""
    votes: int = 0
    """Total votes of the readers; 0 for three, or one per reader if there are more."""
    wording: Annotated[int | None, Field(ge=0, le=20), Flag(
        "Changed chains that test an item's wording.  [default: 2 with readers]"
    , goes_with="readers")] = None
    reader_base_url: tuple[str | None, ...] = ()
    reader_price: tuple[str | None, ...] = ()
    domains: Annotated[bool, Flag(
        "Have --model name the domain of each accepted question, and merge similar ones.",
        names=("--name-domains",))] = False
    closed_book: Annotated[str | None, Flag(
        "Ask this model each question without tools; in a closed world, reject items that it "
        "gets right.", metavar="NAME")] = None
    closed_book_samples: Annotated[int, Field(ge=1, le=100), Flag(
        "Times that --closed-book is asked each question.", goes_with="closed_book")] = 1
    closed_book_base_url: Annotated[str | None, Flag(
        "Base URL of --closed-book.", goes_with="closed_book")] = None
    closed_book_price: Annotated[str | None, Flag(
        "Price of --closed-book, in the form of --price.",
        metavar=PRICE, goes_with="closed_book")] = None
    token_limit: Annotated[Count, Flag("Tokens per item.", operational=True)] = None
    cost_limit: Annotated[Amount, Flag("USD per item.", operational=True)] = None
    run_token_limit: Annotated[Count, Flag("Tokens in the whole run.", operational=True)] = None
    run_cost_limit: Annotated[Amount, Flag("USD in the whole run.", operational=True)] = None
    least_yield: Annotated[float, Field(ge=0, le=1), Flag(
        "Stop after 20 items if fewer passed every stage at the first reply; 0: never.",
        operational=True)] = 0.1
    max_samples: Annotated[int, Field(ge=1, le=64), Flag("Items at a time.", operational=True)] = 2
    seed: Annotated[int, Field(ge=0), Flag("Seed of all random choices.")] = 0
    """The seed is never shown to a model."""
    examples: int = EXAMPLES
    executor: Literal["local", "ray"] = "local"
    """Where tools are verified; this process always asks the models itself."""
    ray_address: str | None = None
    sandbox: Annotated[Kind, Flag("What isolates tools.")] = "auto"
    # fmt: on

    @property
    def all_votes(self) -> int:
        """Number of votes per item; 0 without readers."""
        return (self.votes or max(3, len(self.readers))) if self.readers else 0

    @property
    def changes(self) -> int:
        """Number of changes that test an item's wording."""
        return (2 if self.wording is None else self.wording) if self.readers else 0

    def of_second(self) -> Settings | None:
        """Return the settings of the model that writes second implementations; None if there is
        none.

        The author's own model is asked at a different temperature.
        """
        if self.second == OFF or not (self.second or self.readers):
            return None
        if self.second is None:
            return self.of_readers()[0].model_copy(update={"temperature": 0.0})
        warm = self.second == self.model and not self.temperature
        return self._of(self.second, self.second_base_url, self.second_price, 0.7 if warm else 0.0)

    def of_readers(self) -> list[Settings]:
        """Return each reader's settings. Readers should not invent, but repeated votes need to
        differ.
        """
        temperature = 0.0 if self.all_votes <= len(self.readers) else 0.7
        nothing = (None,) * len(self.readers)
        of_each = zip(
            self.readers, self.reader_base_url or nothing, self.reader_price or nothing, strict=True
        )
        return [self._of(*own, temperature) for own in of_each]

    def of_closed_book(self) -> Settings | None:
        """Return the settings of the model without tools; None if there is none."""
        if self.closed_book is None:
            return None
        url, price = self.closed_book_base_url, self.closed_book_price
        return self._of(self.closed_book, url, price, self.temperature)

    def _of(
        self, name: str, base_url: str | None, price: str | None, temperature: float | None
    ) -> Settings:
        own = {"model": name, "base_url": base_url, "price": price, "temperature": temperature}
        return self.model_copy(update=own)

    @property
    def asked(self) -> Iterator[tuple[str, Settings]]:
        """Yield the settings of each model with the flag of its price."""
        models = (
            ("--price", self if self.model else None),
            *(("--reader-price", reader) for reader in self.of_readers()),
            ("--second-price", self.of_second()),  # may be the first reader
            ("--closed-book-price", self.of_closed_book()),
        )
        return ((flag, own) for flag, own in models if own is not None)

    @property
    def asked_with(self) -> dict[str, JSON]:
        """Settings that determine a model's replies, for the ledger keys."""
        own: dict[str, JSON] = self.model_dump(include={"temperature", "max_tokens", "base_url"})
        return own


def check_prices(settings: Settings) -> None:
    """Check that a cost limit can be enforced: the price of each model must be known.

    Raises:
        UnknownPrice: a model's price is not known.
    """
    if settings.run_cost_limit or settings.cost_limit:
        for flag, own in settings.asked:
            prices.check(own.model, own.base_url, own.price, flag=flag)


def price_of(settings: Settings) -> Price | None:
    """Return the price of the model's tokens; None if unknown."""
    if settings.price:
        return prices.parse(settings.price)
    return prices.listed(settings.model, settings.base_url)
