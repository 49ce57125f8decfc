"""Well-known objects of Messier's catalogue."""

import re

COLUMNS = ("messier_number", "name", "ngc_number", "constellation")
OBJECTS = (
    (1, "Crab Nebula", 1952, "Taurus"),
    (8, "Lagoon Nebula", 6523, "Sagittarius"),
    (11, "Wild Duck Cluster", 6705, "Scutum"),
    (13, "Great Hercules Cluster", 6205, "Hercules"),
    (16, "Eagle Nebula", 6611, "Serpens"),
    (17, "Omega Nebula", 6618, "Sagittarius"),
    (20, "Trifid Nebula", 6514, "Sagittarius"),
    (27, "Dumbbell Nebula", 6853, "Vulpecula"),
    (31, "Andromeda Galaxy", 224, "Andromeda"),
    (33, "Triangulum Galaxy", 598, "Triangulum"),
    (42, "Orion Nebula", 1976, "Orion"),
    (44, "Beehive Cluster", 2632, "Cancer"),
    (51, "Whirlpool Galaxy", 5194, "Canes Venatici"),
    (57, "Ring Nebula", 6720, "Lyra"),
    (63, "Sunflower Galaxy", 5055, "Canes Venatici"),
    (64, "Black Eye Galaxy", 4826, "Coma Berenices"),
    (81, "Bode's Galaxy", 3031, "Ursa Major"),
    (82, "Cigar Galaxy", 3034, "Ursa Major"),
    (83, "Southern Pinwheel Galaxy", 5236, "Hydra"),
    (87, "Virgo A", 4486, "Virgo"),
    (97, "Owl Nebula", 3587, "Ursa Major"),
    (101, "Pinwheel Galaxy", 5457, "Ursa Major"),
    (104, "Sombrero Galaxy", 4594, "Virgo"),
)


def messier_object(designation: str, field: str) -> int | str | dict[str, str]:
    """Find an object by common name or by a number such as M31, and return one field of it."""
    key = " ".join(designation.split()).casefold()
    number = re.sub(r"^(messier|m) ?(?=[0-9])", "", key)
    for row in OBJECTS:
        if number == str(row[0]) or key == row[1].casefold():
            return row[COLUMNS.index(field)]
    known = ", ".join(f"M{row[0]} ({row[1]})" for row in OBJECTS)
    return {"error": f"designation: {designation!r} is not among the objects; these are {known}"}
