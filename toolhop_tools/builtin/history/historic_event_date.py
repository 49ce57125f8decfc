"""Days on which well-known events happened."""

EVENTS = {
    "Lisbon earthquake": "1755-11-01",
    "Boston Tea Party": "1773-12-16",
    "Adoption of the United States Declaration of Independence": "1776-07-04",
    "Storming of the Bastille": "1789-07-14",
    "Execution of Louis XVI": "1793-01-21",
    "Battle of Trafalgar": "1805-10-21",
    "Battle of Waterloo": "1815-06-18",
    "Opening of the Great Exhibition": "1851-05-01",
    "Charge of the Light Brigade": "1854-10-25",
    "Gettysburg Address": "1863-11-19",
    "Completion of the first transcontinental railroad in the United States": "1869-05-10",
    "Opening of the Suez Canal": "1869-11-17",
    "Climax of the Krakatoa eruption": "1883-08-27",
    "First powered flight of the Wright brothers": "1903-12-17",
    "San Francisco earthquake": "1906-04-18",
    "Tunguska explosion": "1908-06-30",
    "Amundsen's arrival at the South Pole": "1911-12-14",
    "Assassination of Archduke Franz Ferdinand": "1914-06-28",
    "Opening of the Panama Canal": "1914-08-15",
    "Armistice of the First World War": "1918-11-11",
    "Black Tuesday on Wall Street": "1929-10-29",
    "Attack on Pearl Harbor": "1941-12-07",
    "D-Day": "1944-06-06",
    "Independence of India": "1947-08-15",
    "First ascent of Mount Everest": "1953-05-29",
    "Coronation of Elizabeth II": "1953-06-02",
    "Launch of Sputnik 1": "1957-10-04",
    "Gagarin's space flight": "1961-04-12",
    "Chernobyl disaster": "1986-04-26",
    "Fall of the Berlin Wall": "1989-11-09",
    "Release of Nelson Mandela from prison": "1990-02-11",
    "Reunification of Germany": "1990-10-03",
}


def historic_event_date(event: str) -> str | dict[str, str]:
    """Return the day of a well-known event between 1755 and 1990 as an ISO date.

    The name may be given in part, as long as it fits one event only.
    """
    wanted = " ".join(event.split()).casefold()
    fitting = [name for name in EVENTS if wanted in name.casefold()]
    exact = [name for name in fitting if wanted == name.casefold()]
    if len(exact or fitting) == 1:
        return EVENTS[(exact or fitting)[0]]
    if fitting:
        return {"error": f"event: {event!r} fits several; use one of {'; '.join(fitting)}"}
    return {"error": f"event: {event!r} is not on record; use one of {'; '.join(EVENTS)}"}
