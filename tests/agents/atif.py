"""What ATIF 1.8 asks of a trajectory of texts, from the fields that Harbor documents."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jsonschema import Draft202012Validator

TEXT, INT, COUNT = {"type": "string"}, {"type": "integer"}, {"type": "integer", "minimum": 0}
NUMBER, OBJECT = {"type": "number"}, {"type": "object"}


def _closed(required: str, **fields: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**fields, "extra": OBJECT},
        "required": required.split(),
        "additionalProperties": False,
    }


def _listed(one: object, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": one, "minItems": least}


CALL = _closed(
    "tool_call_id function_name arguments",
    tool_call_id=TEXT,
    function_name=TEXT,
    arguments=OBJECT,
)
RESULT = _closed("", source_call_id=TEXT, content=TEXT)
OBSERVATION = _closed("results", results=_listed(RESULT))
del OBSERVATION["properties"]["extra"]
METRICS = _closed("", prompt_tokens=INT, completion_tokens=INT, cached_tokens=INT, cost_usd=NUMBER)
AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")
STEP = _closed(
    "step_id source message",
    step_id={"type": "integer", "minimum": 1},
    timestamp=TEXT,
    source={"enum": ["system", "user", "agent"]},
    model_name=TEXT,
    reasoning_effort={"type": ["string", "number"]},
    message=TEXT,
    reasoning_content=TEXT,
    tool_calls=_listed(CALL),
    observation=OBSERVATION,
    metrics=METRICS,
    is_copied_context={"type": "boolean"},
    llm_call_count=COUNT,
)
TRAJECTORY = _closed(
    "schema_version agent steps",
    schema_version={"const": "ATIF-v1.8"},
    session_id=TEXT,
    trajectory_id=TEXT,
    agent=_closed(
        "name version",
        name=TEXT,
        version=TEXT,
        model_name=TEXT,
        tool_definitions=_listed(OBJECT),
    ),
    steps=_listed(STEP, least=1),
    notes=TEXT,
    final_metrics=_closed(
        "",
        total_prompt_tokens=INT,
        total_completion_tokens=INT,
        total_cached_tokens=INT,
        total_cost_usd=NUMBER,
        total_steps=COUNT,
    ),
    continued_trajectory_ref=TEXT,
)


def faults(trajectory: dict[str, Any]) -> list[str]:
    """What is wrong with a trajectory; nothing where it is valid."""
    found = [
        f"{error.json_path}: {error.message}"
        for error in Draft202012Validator(TRAJECTORY).iter_errors(trajectory)
    ]
    if found:
        return found
    for number, step in enumerate(trajectory["steps"], start=1):
        where = f"step {number}"
        if step["step_id"] != number:
            found.append(f"{where}: its id is {step['step_id']}")
        if step["source"] != "agent":
            found += [f"{where}: {name} is an agent's" for name in AGENT_ONLY if name in step]
        if "timestamp" in step:
            try:
                datetime.fromisoformat(step["timestamp"])
            except ValueError as error:
                found.append(f"{where}: {error}")
        ids = [call["tool_call_id"] for call in step.get("tool_calls", ())]
        if len(set(ids)) < len(ids):
            found.append(f"{where}: two calls have one id")
        for result in step.get("observation", {}).get("results", ()):
            if result.get("source_call_id") not in {None, *ids}:
                found.append(f"{where}: no call {result['source_call_id']}")
    if trajectory.get("final_metrics", {}).get("total_steps", number) != number:
        found.append("total_steps is not the number of steps, and no note says why")
    return found
