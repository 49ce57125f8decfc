"""Films that won the Academy Award for Best Picture."""

# In the order of the ceremonies from the 1st, for films of 1927/28, to the 92nd.
WINNERS = """
Wings; The Broadway Melody; All Quiet on the Western Front; Cimarron; Grand Hotel; Cavalcade;
It Happened One Night; Mutiny on the Bounty; The Great Ziegfeld; The Life of Emile Zola;
You Can't Take It with You; Gone with the Wind; Rebecca; How Green Was My Valley; Mrs. Miniver;
Casablanca; Going My Way; The Lost Weekend; The Best Years of Our Lives; Gentleman's Agreement;
Hamlet; All the King's Men; All About Eve; An American in Paris; The Greatest Show on Earth;
From Here to Eternity; On the Waterfront; Marty; Around the World in 80 Days;
The Bridge on the River Kwai; Gigi; Ben-Hur; The Apartment; West Side Story; Lawrence of Arabia;
Tom Jones; My Fair Lady; The Sound of Music; A Man for All Seasons; In the Heat of the Night;
Oliver!; Midnight Cowboy; Patton; The French Connection; The Godfather; The Sting;
The Godfather Part II; One Flew Over the Cuckoo's Nest; Rocky; Annie Hall; The Deer Hunter;
Kramer vs. Kramer; Ordinary People; Chariots of Fire; Gandhi; Terms of Endearment; Amadeus;
Out of Africa; Platoon; The Last Emperor; Rain Man; Driving Miss Daisy; Dances with Wolves;
The Silence of the Lambs; Unforgiven; Schindler's List; Forrest Gump; Braveheart;
The English Patient; Titanic; Shakespeare in Love; American Beauty; Gladiator; A Beautiful Mind;
Chicago; The Lord of the Rings: The Return of the King; Million Dollar Baby; Crash; The Departed;
No Country for Old Men; Slumdog Millionaire; The Hurt Locker; The King's Speech; The Artist; Argo;
12 Years a Slave; Birdman; Spotlight; Moonlight; The Shape of Water; Green Book; Parasite
"""


def best_picture_winner(ceremony: int) -> str:
    """Return the film that won Best Picture at a ceremony of the Academy Awards, 1 to 92."""
    return " ".join(WINNERS.split(";")[int(ceremony) - 1].split())
