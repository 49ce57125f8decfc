"""A world with few enough entities to see what is right."""

from __future__ import annotations

from toolhop_tools.worlds.domain import Attribute, Domain, EntityType, Kind, Relation
from toolhop_tools.worlds.world import Row, World

TOWNS: dict[str, Row] = {
    "Ost": {"river": "Ulm", "hills": ("Kar", "Lin"), "people": 7, "founded": 1301},
    "Pol": {"river": "Ulm", "hills": ("Kar",), "people": 2, "founded": 1301},
    "Rin": {"river": "Vod", "hills": ("Lin",), "people": 2, "founded": 1400},
    "Sal": {"river": "Ulm", "hills": ("Mur",), "people": 4, "founded": 1200},
}
HILLS: dict[str, Row] = {
    "Kar": {"owner": "Ost", "height": 7, "charted": "1801-02-28", "soil": "chalk"},
    "Lin": {"owner": "Sal", "height": 3, "charted": "1804-03-01", "soil": "chalk"},
    "Mur": {"owner": "Sal", "height": 5, "charted": "1799-12-31", "soil": "clay"},
}
SMALL = World(
    Domain(
        name="small",
        about="Towns and hills.",
        types={
            "river": EntityType("river", "rivers", "place", (2, 2)),
            "hill": EntityType(
                "hill",
                "hills",
                "place",
                (3, 3),
                attributes={
                    "height": Attribute(Kind.NUMBER, "height", "metres", 1, 90),
                    "charted": Attribute(Kind.DATE, "date of its first map"),
                    "soil": Attribute(Kind.CATEGORY, "soil", values=("chalk", "clay")),
                },
                relations={"owner": Relation("town", "owner", "owned by {}")},
            ),
            "town": EntityType(
                "town",
                "towns",
                "place",
                (4, 4),
                attributes={
                    "people": Attribute(Kind.NUMBER, "number of people", low=1, high=90),
                    "founded": Attribute(Kind.YEAR, "year of its founding", low=1200, high=1400),
                },
                relations={
                    "river": Relation("river", "river", "on {}"),
                    "hills": Relation("hill", "hills", "below {}", back="above {}"),
                },
            ),
        },
    ),
    {"river": {"Ulm": {}, "Vod": {}}, "hill": HILLS, "town": TOWNS},
)
