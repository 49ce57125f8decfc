"""Chromosome numbers of animals and of their hybrids."""

# Chromosomes in a body cell of the female (diploid number).
DIPLOID = {
    "cat": 38,
    "chicken": 78,
    "chimpanzee": 48,
    "cow": 60,
    "dog": 78,
    "donkey": 62,
    "elephant": 56,
    "fruit fly": 8,
    "giraffe": 30,
    "goat": 60,
    "golden hamster": 44,
    "gorilla": 48,
    "guinea pig": 64,
    "honey bee": 32,
    "horse": 64,
    "house mouse": 40,
    "human": 46,
    "lion": 38,
    "pig": 38,
    "rabbit": 44,
    "sheep": 54,
    "silkworm moth": 56,
    "tiger": 38,
    "wolf": 78,
    "zebrafish": 50,
}


def chromosome_number(parents: list[str]) -> int | dict[str, str]:
    """Return the diploid number of an animal, or of a hybrid that has half from each parent."""
    halves = []
    for parent in parents:
        count = DIPLOID.get(" ".join(parent.split()).casefold())
        if count is None:
            known = ", ".join(DIPLOID)
            return {"error": f"parents: {parent!r} is not in the table; it covers {known}"}
        halves.append(count // 2)
    return halves[0] + halves[-1]
