"""Directors of films that won Best Picture."""

DIRECTORS = {
    "Attenborough, Richard": "Gandhi",
    "Bertolucci, Bernardo": "The Last Emperor",
    "Bigelow, Kathryn": "The Hurt Locker",
    "Bong Joon-ho": "Parasite",
    "Cameron, James": "Titanic",
    "Capra, Frank": "It Happened One Night; You Can't Take It with You",
    "Cimino, Michael": "The Deer Hunter",
    "Coppola, Francis Ford": "The Godfather; The Godfather Part II",
    "Curtiz, Michael": "Casablanca",
    "Eastwood, Clint": "Million Dollar Baby; Unforgiven",
    "Ford, John": "How Green Was My Valley",
    "Forman, Miloš": "Amadeus; One Flew Over the Cuckoo's Nest",
    "Friedkin, William": "The French Connection",
    "Gibson, Mel": "Braveheart",
    "Hitchcock, Alfred": "Rebecca",
    "Jackson, Peter": "The Lord of the Rings: The Return of the King",
    "Kazan, Elia": "Gentleman's Agreement; On the Waterfront",
    "Lean, David": "Lawrence of Arabia; The Bridge on the River Kwai",
    "Mankiewicz, Joseph L.": "All About Eve",
    "Minnelli, Vincente": "An American in Paris; Gigi",
    "Pollack, Sydney": "Out of Africa",
    "Schlesinger, John": "Midnight Cowboy",
    "Scorsese, Martin": "The Departed",
    "Scott, Ridley": "Gladiator",
    "Spielberg, Steven": "Schindler's List",
    "Stone, Oliver": "Platoon",
    "Wilder, Billy": "The Apartment; The Lost Weekend",
    "Wyler, William": "Ben-Hur; Mrs. Miniver; The Best Years of Our Lives",
    "Zinnemann, Fred": "A Man for All Seasons; From Here to Eternity",
}


def film_director(film: str) -> str | dict[str, str]:
    """Return the director of a film that won the Academy Award for Best Picture."""
    wanted = " ".join(film.split()).casefold()
    for director, films in DIRECTORS.items():
        if wanted in films.casefold().split("; "):
            family, comma, given = director.partition(", ")
            return f"{given} {family}" if comma else family
    known = ", ".join(film for films in DIRECTORS.values() for film in films.split("; "))
    return {"error": f"film: {film!r} is not among the films on file: {known}"}
