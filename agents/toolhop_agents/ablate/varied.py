"""Levels of the factor `setting`: values of a run's flags, such as ``call-format=text``.

A level may set several flags, joined by ``+``: ``turn-limit=none+call-limit=12``. Flags that it
does not name keep the values that all arms share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import cast

from pydantic import TypeAdapter, ValidationError

from toolhop_agents.runs.flags import Flag, Section, flag_name, flag_of, in_section
from toolhop_agents.runs.parameters import request_parameters
from toolhop_agents.runs.settings import OF_REQUESTS, OPERATIONAL, RunSettings

NO_LEVELS = frozenset(
    {"feedback", "modes", "perturbation", "template", "price", "keep_thoughts", "stream", "stop",
     "request_options"}
)  # fmt: skip
"""Settings with a factor of their own, with files or lists as values, and those that change nothing
that a model sees."""
_LIMITS = frozenset({"turn_limit", "call_limit", "token_limit", "cost_limit"})
SETTINGS: Mapping[str, str] = {
    flag_name(name).removeprefix("--"): name
    for section in (Section.ASKING, Section.REQUESTS, Section.LIMITS)
    for name in in_section(RunSettings, section)
    if name not in NO_LEVELS | OPERATIONAL
}
"""Settings that can be a factor, by flag."""


class DesignError(ValueError):
    """An ablation cannot be played as requested; the message says why and what is allowed."""


class ForkAt(Enum):
    """Where an episode forks, as nothing differs between the levels before."""

    FAILURE = "a failed call"
    """At the first failed call, which feedback levels answer differently."""
    FIRST_TURN = "a second turn"
    """After the first turn: only then are results read, or thoughts sent back."""
    LIMIT = "a turn"
    """Where a limit ends it: agents are not told of limits."""


_FORKS: Mapping[ForkAt, frozenset[str]] = {
    ForkAt.FIRST_TURN: frozenset({"results", "reasoning_history"}),
    ForkAt.LIMIT: _LIMITS,
}


def fork_at(levels: Sequence[str]) -> ForkAt | None:
    """Return where episodes fork; None if the levels may differ from the first request on."""
    named = {name for level in levels for name in _given(level)}
    return next((at for at, names in _FORKS.items() if named <= names), None)


def set_by_all(levels: Sequence[str]) -> frozenset[str]:
    """Return the settings that every level gives."""
    return frozenset[str].intersection(*(frozenset(_given(level)) for level in levels))


def levels_named(text: str, levels: Sequence[str]) -> tuple[str, ...]:
    """Return the levels that ``--factor FLAG=VALUE,VALUE``, or FLAG and `levels`, stand for.

    Raises:
        DesignError: no such flag can be a factor, or the levels are missing or given twice.
    """
    flag, equals, values = text.removeprefix("--").partition("=")
    if equals and levels:
        raise DesignError(f"--factor {flag} has its levels twice; leave --levels out")
    if flag not in SETTINGS:
        raise DesignError(
            f"--factor {flag} is not known; give feedback, mode, tools, scenario, or FLAG=VALUE,"
            f"VALUE with one of {', '.join(SETTINGS)}"
        )
    if not equals and not levels:
        raise DesignError(f"--factor {flag} has no levels; give --factor {flag}=VALUE,VALUE")
    given = levels or [value.strip() for value in values.split(",")]
    return tuple(f"{flag}={value}" for value in given)


def varied(base: RunSettings, level: str) -> RunSettings:
    """Return the settings of a level.

    Raises:
        DesignError: no run can have them.
    """
    values = {name: _value(name, text) for name, text in _given(level).items()}
    needing = [name for name in values if name in OF_REQUESTS]
    if needing and base.model is None:
        raise DesignError(f"--factor {level}: {flag_name(needing[0])} goes with --model; add it")
    settings = base.model_copy(update=values)
    try:
        settings.check_limits()
        request_parameters(settings)
    except ValueError as error:
        raise DesignError(f"--factor {level}: {error}") from error
    return settings


def _given(level: str) -> dict[str, str]:
    """Split a level into the texts of settings; values may contain ``+`` themselves."""
    texts, name = dict[str, str](), ""
    for part in level.split("+"):
        flag, equals, value = part.partition("=")
        if flag in SETTINGS and equals:
            name = SETTINGS[flag]
            if name in texts:
                raise DesignError(f"the level {level} sets {flag} twice; set it once")
            texts[name] = value
        elif name:
            texts[name] += f"+{part}"
        else:
            raise DesignError(
                f"{level!r} is not a level of settings; write it as FLAG=VALUE[+FLAG=VALUE] with "
                f"flags of {', '.join(SETTINGS)}"
            )
    return texts


def _value(name: str, text: str) -> object:
    field = RunSettings.model_fields[name]
    parse = cast("Flag", flag_of(field)).parse
    check = parse or TypeAdapter[object](field.rebuild_annotation()).validate_python
    try:
        return check(text)
    except ValueError as error:
        if text == "none" and (field.default is None or name in _LIMITS):
            return None
        said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise DesignError(f"--factor {flag_name(name)[2:]}={text}: {said}") from error
