"""Change a pool's settings for a single episode. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from toolhop_agents.runs.settings import RunSettings
from toolhop_tools.errors import BadChoice

OF_AN_EPISODE = frozenset(
    {"answer_malformed", "call_format", "call_limit", "cost_limit", "feedback", "seed",
     "single_shot", "template", "time_limit_s", "token_limit", "turn_limit"}
)  # fmt: skip
"""Settings that a reset may change; all others apply to every environment of a pool."""


def changed(settings: RunSettings, changes: Mapping[str, object]) -> RunSettings:
    """Return the settings of one episode.

    Raises:
        BadChoice: the setting cannot be changed per episode, or the value is invalid.
    """
    if not changes:
        return settings
    if unknown := sorted(changes.keys() - OF_AN_EPISODE):
        raise BadChoice(
            f"{unknown[0]!r} is no setting of an episode",
            fix=f"give {', '.join(sorted(OF_AN_EPISODE))}",
        )
    found = settings_with(settings.model_dump() | dict(changes))
    check_template(found)
    return found


def settings_with(
    values: Mapping[str, object], typed: Mapping[str, str] | None = None
) -> RunSettings:
    """Return settings with these values. `typed` has the names as the user wrote them, for errors.

    Raises:
        BadChoice: a value is invalid.
    """
    try:
        return RunSettings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "together"
        place = (typed or {}).get(name, name)
        raise BadChoice(
            f"the setting {place} cannot be {first['input']!r}: {first['msg']}",
            fix="`toolhop run --help` says what it can be",
        ) from error


def check_template(settings: RunSettings) -> None:
    """Check that the template is text rather than a path, which only `toolhop run` accepts.

    Raises:
        BadChoice: it has no placeholder for the question.
    """
    if settings.template is not None and "{question}" not in settings.template:
        raise BadChoice(
            f"the setting template cannot be {settings.template[:60]!r}: it has no {{question}}",
            fix="give the text of a template, not the path of its file",
        )
