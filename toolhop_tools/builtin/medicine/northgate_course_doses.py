"""Lengths of courses in the Northgate Formulary, a book made up for this tool."""

COURSES = {
    "short": {"brenuvexol": 15, "hembrimycin": 20, "pellivorane": 7, "quorestat": 16},
    "standard": {
        "brenuvexol": 26,
        "fostremide": 14,
        "hembrimycin": 40,
        "isolquine": 5,
        "oxamerquin": 20,
        "pellivorane": 14,
        "quorestat": 28,
        "sundravec": 21,
        "tirolandine": 12,
        "ulmetazone": 36,
    },
    "long": {"fostremide": 60, "isolquine": 28, "oxamerquin": 84, "tirolandine": 50},
}


def northgate_course_doses(drug: str, course: str = "standard") -> int | dict[str, str]:
    """Return how many doses of a drug make up a short, standard or long course."""
    key = drug.strip().casefold()
    doses = COURSES[course].get(key)
    if doses is not None:
        return doses
    offered = [name for name, drugs in COURSES.items() if key in drugs]
    if offered:
        return {"error": f"course: {drug} has no {course} course; use {' or '.join(offered)}"}
    return {"error": f"drug: {drug!r} is not in the book; it has {', '.join(COURSES['standard'])}"}
