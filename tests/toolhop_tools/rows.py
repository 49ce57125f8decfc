"""Rows in ToolHop's official format, made up for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]
AGE, YEAR = "How old was Ada?", "When was Ada born?"
COUNT = "How many letters has Ada?"


def schema(name: str, *properties: str, **changes: object) -> Row:
    parameters = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in properties},
        "required": list(properties[:1]),
    }
    return {"name": name, "description": "A tool.", "parameters": parameters, **changes}


def row(**changes: object) -> Row:
    return {
        "id": 7,
        "question": "How old?",
        "answer": "36",
        "sub_task": {YEAR: "1815", AGE: "36"},
        "tools": {YEAR: schema("born", "who"), AGE: schema("minus", "a", "b")},
        "functions": ["def born(who):\n    return 1815\n", "def minus(a, b=0):\n    return a\n"],
        "domain": "History",
        "answer_type": "number",
        "previous_answer_type": "person",
    } | changes


def write(folder: Path, rows: object, name: str = "rows.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def same_names(**changes: object) -> Row:
    """Hops 1 and 3 have tools of one name, with other parameters and other code."""
    return (
        row(
            sub_task={YEAR: "1815", COUNT: "3", AGE: "36"},
            tools={
                YEAR: schema("ask", "who", "style"),
                COUNT: schema("ask_2", "text"),
                AGE: schema("ask", "a", "b"),
            },
            functions=[
                "def ask(who, style=1): return 1815",
                "def ask_2(text): return 3",
                "def ask(a, b=0): return 36",
            ],
        )
        | changes
    )
