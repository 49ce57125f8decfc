"""The novels that well-known characters come from."""

NOVELS = {
    "Atticus Finch": "To Kill a Mockingbird",
    "Bilbo Baggins": "The Hobbit",
    "Billy Pilgrim": "Slaughterhouse-Five",
    "Captain Ahab": "Moby-Dick",
    "Clarissa Dalloway": "Mrs Dalloway",
    "Dorian Gray": "The Picture of Dorian Gray",
    "Elizabeth Bennet": "Pride and Prejudice",
    "Guy Montag": "Fahrenheit 451",
    "Heathcliff": "Wuthering Heights",
    "Holden Caulfield": "The Catcher in the Rye",
    "Jay Gatsby": "The Great Gatsby",
    "Jonathan Harker": "Dracula",
    "Josef K.": "The Trial",
    "Leopold Bloom": "Ulysses",
    "Long John Silver": "Treasure Island",
    "Mr Rochester": "Jane Eyre",
    "Okonkwo": "Things Fall Apart",
    "Paul Atreides": "Dune",
    "Robert Jordan": "For Whom the Bell Tolls",
    "Sethe": "Beloved",
    "Victor Frankenstein": "Frankenstein",
    "Winston Smith": "Nineteen Eighty-Four",
}


def novels_with_characters(characters: list[str]) -> list[str] | dict[str, str]:
    """Return, for each character and in the same order, the novel he or she was created for."""
    novels = {plain(name): novel for name, novel in NOVELS.items()}
    for character in characters:
        if plain(character) not in novels:
            known = ", ".join(NOVELS)
            return {"error": f"characters: {character!r} is not indexed; use some of {known}"}
    return [novels[plain(character)] for character in characters]


def plain(name: str) -> str:
    """A name without full stops, case and spare space."""
    return " ".join(name.replace(".", " ").split()).casefold()
