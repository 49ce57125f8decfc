"""How many of ToolHop's own rows are refused as seeds before any model is asked, and why.

    python -m studies.toolhop_seeds FILE

FILE has official rows. A row's question, sub-questions and answers make a seed; what reads seeds
and what checks a plan look at it, as `toolhop construct` does first.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from studies.running import interval
from toolhop_tools.construct.plan import of_answers, plan_findings
from toolhop_tools.construct.seeds import LEAST_HOPS, MOST_HOPS, World, read
from toolhop_tools.errors import ToolsError


def refusals(row: Mapping[str, Any]) -> Iterator[str]:
    """Why a row is refused; nothing if it is taken."""
    own = {"id": str(row["id"]), "question": row["question"], "sub_task": row["sub_task"],
           "answer": str(row["answer"]), "licence": "CC-BY-4.0"}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seeds.jsonl"
        path.write_text(json.dumps(own) + "\n", encoding="utf-8")
        try:
            [seed] = read(path, world=World.REAL, licence="", hops=(LEAST_HOPS, MOST_HOPS))
        except ToolsError as error:
            yield f"not a seed: {error}"
            return
    findings = plan_findings(of_answers(seed), seed)
    yield from (f"{problem.check}: {problem.message}" for problem in findings.problems)


def shown(row: Mapping[str, Any], why: Sequence[str]) -> str:
    """A refused row, hop by hop."""
    lines = [f"{row['id']}: {row['question']} ({row['answer']})"]
    lines += [f"    {question} -> {answer}" for question, answer in row["sub_task"].items()]
    return "\n".join([*lines, *(f"  ! {reason}" for reason in why)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    try:
        rows = json.loads(given.file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        parser.error(f"{given.file}: {error}")
    refused = [(row, why) for row in rows if (why := [*refusals(row)])]
    for row, why in refused:
        print(shown(row, why))
    print(f"refused before a model is asked: {interval(len(refused), len(rows))}")


if __name__ == "__main__":
    main()
