"""Towns in which writers were born."""

PLACES = {
    "Albert Camus": "Mondovi",
    "Bram Stoker": "Dublin",
    "Charles Dickens": "Portsmouth",
    "Charlotte Brontë": "Thornton",
    "Chinua Achebe": "Ogidi",
    "Ernest Hemingway": "Oak Park",
    "F. Scott Fitzgerald": "Saint Paul",
    "Frank Herbert": "Tacoma",
    "Franz Kafka": "Prague",
    "Gabriel García Márquez": "Aracataca",
    "George Orwell": "Motihari",
    "Herman Melville": "New York City",
    "J. R. R. Tolkien": "Bloemfontein",
    "James Joyce": "Dublin",
    "Jane Austen": "Steventon",
    "John Steinbeck": "Salinas",
    "Ray Bradbury": "Waukegan",
    "Robert Louis Stevenson": "Edinburgh",
    "Rudyard Kipling": "Bombay",
    "Thomas Mann": "Lübeck",
    "Toni Morrison": "Lorain",
    "Virginia Woolf": "London",
    "William Faulkner": "New Albany",
}


def writer_birthplace(writer: str) -> str | dict[str, str]:
    """Return the town where a writer was born, under the name it had then."""
    wanted = "".join(writer.split()).casefold()
    for name, place in PLACES.items():
        if "".join(name.split()).casefold() == wanted:
            return place
    return {"error": f"writer: {writer!r} is unknown here; choose from {', '.join(PLACES)}"}
