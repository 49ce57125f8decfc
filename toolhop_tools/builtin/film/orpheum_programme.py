"""The weekly programme of the Orpheum in Larkspur, a cinema made up for this tool."""

import operator

# Film, length in minutes, whether shown with subtitles, and the start on each weekday.
SHOWS = (
    ("The Salt Lantern", 113, True, {"Friday": "17:30", "Sunday": "20:15"}),
    ("Nine Winters", 141, False, {"Monday": "18:00", "Friday": "20:00"}),
    ("A Ferry to Morrow", 96, True, {"Wednesday": "19:00", "Friday": "15:10"}),
    ("The Clockmaker's Niece", 104, True, {"Tuesday": "20:30", "Friday": "22:40"}),
    ("Low Tide at Kestrel Bay", 88, False, {"Thursday": "18:20", "Saturday": "16:00"}),
    ("Harvest of Glass", 127, True, {"Thursday": "20:10", "Saturday": "21:00"}),
    ("The Paper Regiment", 119, False, {"Wednesday": "21:00", "Sunday": "17:40"}),
    ("Sparrow Street", 79, False, {"Saturday": "14:00", "Sunday": "14:30"}),
)


def orpheum_programme(weekday: str, not_before: str = "00:00") -> list[dict[str, str | int | bool]]:
    """Return the showings of a weekday in the order of their start, one row for each."""
    rows: list[dict[str, str | int | bool]] = [
        {"film": film, "start": starts[weekday], "minutes": minutes, "subtitled": subtitled}
        for film, minutes, subtitled, starts in SHOWS
        if weekday in starts and starts[weekday] >= not_before
    ]
    return sorted(rows, key=operator.itemgetter("start"))
