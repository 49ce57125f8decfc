"""Selection of items by the pass rates of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolhop_env.profile import PROFILE
from toolhop_tools import regular
from toolhop_tools.errors import BadChoice, DataError, counted, why
from toolhop_tools.load import select
from toolhop_tools.model import DataSet, by_id


def rated(
    data: DataSet, sample_ids: Sequence[str], pass_rate: tuple[float, float] | None,
    profile: Path | None,
) -> Sequence[str]:  # fmt: skip
    """Return `sample_ids`, or the ids among them whose pass rate is in a range, ends included.

    Items without a pass rate are left out.

    Args:
        data: the items to choose from.
        sample_ids: see `toolhop_tools.load.select`.
        pass_rate: lowest and highest rate; None to select by ids alone.
        profile: the file that `toolhop profile` wrote.

    Raises:
        DataError: only one of the last two is given, the file cannot be read or is no profile, it
            profiles other versions of the items, or no item is in the range.
    """
    if pass_rate is None and profile is None:
        return sample_ids
    if pass_rate is None or profile is None:
        given, lacks = ("profile", "pass-rate") if pass_rate is None else ("pass-rate", "profile")
        raise BadChoice(f"--{given} was given without --{lacks}", fix=f"give --{lacks} too")
    low, high = pass_rate
    try:
        found = PROFILE.validate_json(regular.content(profile, below=0))
    except (OSError, ValueError) as error:
        fix = "give a file that `toolhop profile` wrote"
        raise DataError(f"{profile} cannot be read as a profile: {why(error)}", fix=fix) from error
    chosen = by_id(select(data, sample_ids=sample_ids))
    known = {one.name: one for one in found.items if one.pass_rate is not None}
    rates = {name: known[name].pass_rate for name in chosen if name in known}
    within = [name for name, rate in rates.items() if rate is not None and low <= rate <= high]
    if not within:
        raise BadChoice(
            f"--pass-rate {low:g}-{high:g} leaves nothing of {counted(len(chosen), 'item')}, "
            f"{len(rates)} of which {profile} rates",
            fix="give another range, or profile a run with more --epochs",
        )
    as_is = found.group.perturbation == "as-is"  # else no item was played as it stands
    stale = [name for name in within if as_is and known[name].item_digest != chosen[name].digest]
    if stale:
        raise BadChoice(
            f"{profile} profiles another version of {counted(len(stale), 'item')}, such as "
            f"{stale[0]!r}",
            fix="play these items again, and profile that run",
        )
    return within
