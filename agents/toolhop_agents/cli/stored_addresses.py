"""Addresses of models that stand in a folder: no key goes to one that this command does not name.

A folder may be somebody else's. Its settings say where models are asked, and the keys are those of
whoever resumes it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import click

from toolhop_agents.models.prices import BASE_URL, is_openai
from toolhop_agents.runs.flags import flag_name
from toolhop_agents.runs.settings import RunSettings
from toolhop_tools.secrets import LEAST, PLACEHOLDERS, REFERENCE

OPENAI, KEY = "openai", "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class StoredAddress:
    """Where a folder has models asked."""

    flag: str
    """That names the address."""
    models: str
    """As the setting has them: one, or judges with commas."""
    base_url: str | None
    options: tuple[str, ...] = ()
    """Further parameters of the requests, which may take values from the environment."""

    @property
    def keys(self) -> Iterator[str]:
        """What is sent to the address that nobody else may have; nothing to OpenAI's own."""
        for model in filter(None, map(str.strip, self.models.split(","))):
            provider, slash, _ = model.removeprefix("litellm/").partition("/")
            if not slash or (provider == OPENAI and is_openai(self.base_url)):
                continue
            if provider != OPENAI:
                # litellm looks for keys in many variables, and in files of clouds.
                yield f"keys of {provider}"
            elif len(key := os.environ.get(KEY, "")) >= LEAST and key not in PLACEHOLDERS:
                yield KEY
            for option in self.options:
                yield from (found[2] for found in REFERENCE.finditer(option))


def of_run(settings: RunSettings) -> Iterator[StoredAddress]:
    """Those of a run."""
    for asked in ("model", "simulator", "user_model", "judge"):
        name = "base_url" if asked == "model" else f"{asked}_base_url"
        options = settings.request_options if asked == "model" else ()
        models, base_url = getattr(settings, asked) or "", getattr(settings, name)
        yield StoredAddress(flag_name(name), models, base_url, options)


def refuse_unnamed(folder: Path, stored: Iterable[StoredAddress], named: Container[str]) -> None:
    """See that each address that a key would be sent to is named, by a flag or `BASE_URL`.

    Args:
        folder: that holds the settings.
        stored: its addresses.
        named: flags, such as ``--base-url``, that this command gives.

    Raises:
        click.UsageError: one is not.
    """
    for one, keys in _unnamed(stored, named):
        raise click.UsageError(
            f"{folder} asks {one.models} at {one.base_url}, and would send it {keys}; to trust "
            f"that address, give {one.flag} {one.base_url}"
        )


def resuming(command: str, folder: Path, stored: Iterable[StoredAddress]) -> str:
    """The line of a shell that resumes a folder of one's own.

    Args:
        command: such as ``run --resume``.
        folder: that is resumed.
        stored: its addresses; those that `refuse_unnamed` would ask for are named.
    """
    addresses = dict.fromkeys((one.flag, str(one.base_url)) for one, _ in _unnamed(stored))
    return shlex.join(["toolhop", *command.split(), str(folder), *chain(*addresses)])


def _unnamed(
    stored: Iterable[StoredAddress], named: Container[str] = ()
) -> Iterator[tuple[StoredAddress, str]]:
    """The addresses that would be sent keys and that nobody named, with these keys."""
    for one in stored:
        if one.base_url in (None, os.environ.get(BASE_URL)) or one.flag in named:
            continue
        if keys := ", ".join(dict.fromkeys(one.keys)):
            yield one, keys
