"""Model addresses stored in a run folder: no key is sent to one that this command does not name.

A folder may come from somebody else. Its settings choose the addresses of models, but the keys
belong to whoever resumes it.
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
    """A stored address of a model."""

    flag: str
    """Flag that names the address."""
    models: str
    """Value of the setting: one model, or several judges separated by commas."""
    base_url: str | None
    options: tuple[str, ...] = ()
    """Further request parameters, which may refer to environment variables."""

    @property
    def keys(self) -> Iterator[str]:
        """Secrets that would be sent to the address, except an OpenAI key sent to OpenAI."""
        for model in filter(None, map(str.strip, self.models.split(","))):
            provider, slash, _ = model.removeprefix("litellm/").partition("/")
            if not slash or (provider == OPENAI and is_openai(self.base_url)):
                continue
            if provider != OPENAI:
                # litellm looks for keys in many variables and in cloud credential files.
                yield f"keys of {provider}"
            elif len(key := os.environ.get(KEY, "")) >= LEAST and key not in PLACEHOLDERS:
                yield KEY
            for option in self.options:
                yield from (found[2] for found in REFERENCE.finditer(option))


def of_run(settings: RunSettings) -> Iterator[StoredAddress]:
    """Yield the stored addresses of a run."""
    for asked in ("model", "simulator", "user_model", "judge"):
        name = "base_url" if asked == "model" else f"{asked}_base_url"
        options = settings.request_options if asked == "model" else ()
        models, base_url = getattr(settings, asked) or "", getattr(settings, name)
        yield StoredAddress(flag_name(name), models, base_url, options)


def refuse_unnamed(folder: Path, stored: Iterable[StoredAddress], named: Container[str]) -> None:
    """Check that every address that would receive a key is named by a flag or `BASE_URL`.

    Args:
        folder: the folder that holds the settings.
        stored: the addresses in the folder.
        named: flags given to this command, such as ``--base-url``.

    Raises:
        click.UsageError: an address would receive a key and is not named.
    """
    for one, keys in _unnamed(stored, named):
        raise click.UsageError(
            f"{folder} asks {one.models} at {one.base_url}, and would send it {keys}; to trust "
            f"that address, give {one.flag} {one.base_url}"
        )


def resuming(command: str, folder: Path, stored: Iterable[StoredAddress]) -> str:
    """Return the shell command that resumes one's own folder.

    Args:
        command: the command, such as ``run --resume``.
        folder: the folder to resume.
        stored: its addresses; the command names those that `refuse_unnamed` requires.
    """
    addresses = dict.fromkeys((one.flag, str(one.base_url)) for one, _ in _unnamed(stored))
    return shlex.join(["toolhop", *command.split(), str(folder), *chain(*addresses)])


def _unnamed(
    stored: Iterable[StoredAddress], named: Container[str] = ()
) -> Iterator[tuple[StoredAddress, str]]:
    """Yield each address that is not named but would receive keys, with these keys."""
    for one in stored:
        if one.base_url in (None, os.environ.get(BASE_URL)) or one.flag in named:
            continue
        if keys := ", ".join(dict.fromkeys(one.keys)):
            yield one, keys
