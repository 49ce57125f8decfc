"""Authors of novels."""

import re

WORKS = {
    "Albert Camus": "The Plague, The Stranger",
    "Charlotte Brontë": "Jane Eyre, Shirley, Villette",
    "Ernest Hemingway": "A Farewell to Arms, For Whom the Bell Tolls, The Sun Also Rises",
    "F. Scott Fitzgerald": "Tender Is the Night, The Great Gatsby, This Side of Paradise",
    "Franz Kafka": "Amerika, The Castle, The Trial",
    "George Orwell": "Animal Farm, Burmese Days, Nineteen Eighty-Four",
    "Herman Melville": "Moby-Dick, Omoo, Typee",
    "J. R. R. Tolkien": "The Hobbit",
    "James Joyce": "A Portrait of the Artist as a Young Man, Ulysses",
    "Jane Austen": "Emma, Mansfield Park, Persuasion, Pride and Prejudice",
    "John Steinbeck": "Cannery Row, East of Eden, The Grapes of Wrath",
    "Ray Bradbury": "Fahrenheit 451, Something Wicked This Way Comes",
    "Thomas Mann": "Buddenbrooks, Doctor Faustus, The Magic Mountain",
    "Virginia Woolf": "Mrs Dalloway, Orlando, The Waves, To the Lighthouse",
    "William Faulkner": "As I Lay Dying, Light in August, The Sound and the Fury",
}


def novel_author(title: str) -> str | dict[str, str]:
    """Return the author of a novel from the shelf of fifteen writers that the tool knows."""
    authors = {plain(work): name for name, works in WORKS.items() for work in works.split(", ")}
    author = authors.get(plain(title))
    if author is None:
        return {"error": f"title: {title!r} is not held; use one of {', '.join(WORKS.values())}"}
    return author


def plain(title: str) -> str:
    """A title's words in lower case, without punctuation."""
    return " ".join(re.findall(r"\w+", title.casefold()))
