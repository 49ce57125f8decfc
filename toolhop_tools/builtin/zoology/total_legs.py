"""Counting the legs of groups of animals."""

LEGS = {
    "ant": 6,
    "bear": 4,
    "butterfly": 6,
    "cat": 4,
    "chicken": 2,
    "cow": 4,
    "crab": 10,
    "dog": 4,
    "frog": 4,
    "fruit fly": 6,
    "goat": 4,
    "goose": 2,
    "grasshopper": 6,
    "honey bee": 6,
    "horse": 4,
    "human": 2,
    "ladybird": 6,
    "lobster": 10,
    "mosquito": 6,
    "ostrich": 2,
    "pigeon": 2,
    "scorpion": 8,
    "sheep": 4,
    "snake": 0,
    "spider": 8,
    "swan": 2,
    "tick": 8,
    "wasp": 6,
}


def total_legs(groups: list[dict[str, str | int]]) -> int | dict[str, str]:
    """Add up the legs of all animals in the groups, every animal being whole and grown up."""
    total = 0
    for group in groups:
        each = LEGS.get(" ".join(str(group["animal"]).split()).casefold())
        if each is None:
            known = ", ".join(LEGS)
            return {"error": f"groups: the legs of {group['animal']!r} are unknown; use {known}"}
        total += each * int(group["count"])
    return total
