"""Number of matches in a tournament."""


def match_count(teams: int, mode: str = "round_robin", legs: int = 1) -> int:
    """Return how many matches are played until the tournament is decided."""
    count, each = int(teams), int(legs)
    if mode == "round_robin":
        return each * count * (count - 1) // 2
    # Every tie of a knock-out sends one team home, and the final is a single match.
    return each * (count - 2) + 1
