"""Convert names and plain values given to another harness into a run's settings.

Names are those of `RunSettings` or of the flags of `toolhop run`, so ``mode`` and ``modes`` are the
same setting, as are ``tools`` and ``perturbation``. Values are parsed like the flags'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_origin

from pydantic.fields import FieldInfo

from toolhop_agents.environment.changes import settings_with
from toolhop_agents.prompts import read_template
from toolhop_agents.runs.flags import flag_of
from toolhop_agents.runs.settings import OF_REQUESTS, WHO_PLAYS, RunSettings
from toolhop_tools.errors import BadChoice

OF_THE_MODEL = frozenset((*WHO_PLAYS, *OF_REQUESTS))
"""Settings of the model and agent, which the other harness controls."""
OF_A_RUN = frozenset(
    {
        "certificates", "certified_only", "epochs", "executor", "forked_from", "into", "log_dir",
        "otel", "ray_address", "retry_on_error", "run_call_limit", "run_cost_limit",
        "run_time_limit_s", "run_token_limit", "segments_to", "siblings",
    }
)  # fmt: skip
"""Settings that only affect `toolhop run`."""
TAKEN = frozenset(RunSettings.model_fields) - OF_THE_MODEL - OF_A_RUN


def settings_of(given: Mapping[str, object], harness: str) -> RunSettings:
    """Return the settings, with the defaults of `toolhop run` for those not given.

    Args:
        given: settings by name, as command-line text or plain values (``10``, ``true``, a list).
            None means not given.
        harness: name of the harness, for messages.

    Raises:
        BadChoice: a setting is unknown, controlled by `harness`, or has an invalid value.
        TemplateError: a template cannot be read.
    """
    names = _names()
    values: dict[str, object] = {}
    typed: dict[str, str] = {}
    for name, value in given.items():
        if value is None:
            continue
        field = names.get(name.replace("-", "_"))
        if field in OF_THE_MODEL or field in OF_A_RUN:
            whose = f"{harness}'s own" if field in OF_THE_MODEL else "for `toolhop run` alone"
            raise BadChoice(f"the setting {name} is {whose}", fix="leave it out here")
        if field is None:
            raise BadChoice(
                f"there is no setting {name!r}",
                fix="give " + ", ".join(sorted(one for one in names if names[one] in TAKEN)),
            )
        if field in values:
            raise BadChoice(f"{typed[field]} and {name} are one setting", fix="give one of them")
        typed[field] = name
        values[field] = _value(name, RunSettings.model_fields[field], value)
    if "template" in values:
        values["template"] = read_template(Path(str(values["template"])))
    return settings_with(values, typed)


def named(text: str) -> str:
    """Replace flags of `toolhop run` in a message with the names of the settings."""
    names = _names()

    def name(found: re.Match[str]) -> str:
        setting = found.group(1).replace("-", "_")
        return setting if setting in names else found.group()

    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", name, text)


def _names() -> dict[str, str]:
    """Return all accepted names of settings, each with its field."""
    found = {name: name for name in RunSettings.model_fields}
    for name, field in RunSettings.model_fields.items():
        if (flag := flag_of(field)) is not None:
            found |= {one.lstrip("-").replace("-", "_"): name for one in flag.names}
        for unit in ("_s", "_mib"):
            found.setdefault(name.removesuffix(unit), name)
    return found


def _value(name: str, field: FieldInfo, value: Any) -> object:  # noqa: ANN401 -- whatever a harness read
    """Convert a value for its field. A list stands for a flag's comma-separated text."""
    flag, several = flag_of(field), get_origin(field.annotation) is tuple
    parts = [str(one) for one in value] if isinstance(value, list | tuple) else None
    text = ",".join(parts) if parts is not None else str(value)
    if flag is not None and flag.parse is not None:
        try:
            return flag.parse(text)
        except ValueError as error:
            raise BadChoice(
                f"the setting {name} cannot be {text!r}: {error}",
                fix="`toolhop run --help` says what it can be",
            ) from error
    if several:
        return tuple(parts if parts is not None else text.split(","))
    return text
