"""The crewed flights of the Apollo programme, 1968 to 1972."""

COLUMNS = ("number", "commander", "launch_date", "command_module", "lunar_module")
MISSIONS = (
    (7, "Wally Schirra", "1968-10-11", "", ""),
    (8, "Frank Borman", "1968-12-21", "", ""),
    (9, "James McDivitt", "1969-03-03", "Gumdrop", "Spider"),
    (10, "Thomas Stafford", "1969-05-18", "Charlie Brown", "Snoopy"),
    (11, "Neil Armstrong", "1969-07-16", "Columbia", "Eagle"),
    (12, "Pete Conrad", "1969-11-14", "Yankee Clipper", "Intrepid"),
    (13, "Jim Lovell", "1970-04-11", "Odyssey", "Aquarius"),
    (14, "Alan Shepard", "1971-01-31", "Kitty Hawk", "Antares"),
    (15, "David Scott", "1971-07-26", "Endeavour", "Falcon"),
    (16, "John Young", "1972-04-16", "Casper", "Orion"),
    (17, "Gene Cernan", "1972-12-07", "America", "Challenger"),
)


def apollo_mission(mission: str, field: str) -> int | str | dict[str, str]:
    """Find a flight by its number or by the name of either craft, and return one field of it."""
    key = " ".join(mission.split()).casefold().removeprefix("apollo ")
    for row in MISSIONS:
        number, command, lunar = row[0], row[3], row[4]
        if key and key in (str(number), command.casefold(), lunar.casefold()):
            found = row[COLUMNS.index(field)]
            if found == "":
                return {"error": f"field: Apollo {number} had no {field} with a name; use another"}
            return found
    names = ", ".join(f"{row[3]}, {row[4]}" for row in MISSIONS if row[4])
    return {
        "error": f"mission: {mission!r} is unknown; give a number from 7 to 17 or one of {names}"
    }
