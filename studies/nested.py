"""What becomes of faults that are planted in nested tasks.

    python -m studies.nested [--out FOLDER]

Each kind is planted twice: in the first reply of its stage, and in every one. Kinds of texts that
say every value are left to readers, and are counted apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from studies.constructor.nest_plants import READ
from studies.constructor.nest_plants_later import ALL, LATER
from studies.constructor.serving import nest_plant_of
from studies.running import fresh, interval, rows, run, scripts


def plants(folder: Path) -> Iterator[str]:
    """Make a task for each plant, and say which were accepted."""
    with scripts() as address:
        run("construct", "nested", "from-domain", "Harbour", "--items", str(2 * len(ALL)),
            "--depth", "3", "--width", "2", "--model", "openai/faulty", "--base-url", address,
            "--least-yield", "0", "--max-samples", "4", "--out", str(fresh(folder)))  # fmt: skip
    accepted: dict[tuple[str, bool], bool] = {}
    for row in rows(folder, "item"):
        accepted[nest_plant_of(row["item"])] = row["accepted"]
    for name, kinds in (
        ("kinds that the checks were written for", [k for k in ALL if k not in {*LATER, *READ}]),
        ("kinds written after the checks", [k for k in LATER if k not in READ]),
        ("kinds that only a reader can see", sorted(READ)),
    ):
        stubborn = sum(accepted[kind, True] for kind in kinds)
        repaired = sum(accepted[kind, False] for kind in kinds)
        yield f"{name}: accepted with the fault {interval(stubborn, len(kinds))}"
        yield f"    repaired and accepted {interval(repaired, len(kinds))}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("studies-nested"))
    for line in plants(parser.parse_args().out):
        print(line)


if __name__ == "__main__":
    main()
