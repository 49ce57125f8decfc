"""Birth days of presidents, writers, architects and film directors."""

import unicodedata

# Gregorian dates, one person a line, grouped by what they are known for.
BIRTH_DAYS = """
Abraham Lincoln 1809-02-12
Andrew Johnson 1808-12-29
Ulysses S. Grant 1822-04-27
Rutherford B. Hayes 1822-10-04
James A. Garfield 1831-11-19
Chester A. Arthur 1829-10-05
Grover Cleveland 1837-03-18
Benjamin Harrison 1833-08-20
William McKinley 1843-01-29
Theodore Roosevelt 1858-10-27
William Howard Taft 1857-09-15
Woodrow Wilson 1856-12-28
Warren G. Harding 1865-11-02
Calvin Coolidge 1872-07-04
Herbert Hoover 1874-08-10
Franklin D. Roosevelt 1882-01-30
Harry S. Truman 1884-05-08
Dwight D. Eisenhower 1890-10-14
John F. Kennedy 1917-05-29
Lyndon B. Johnson 1908-08-27
Richard Nixon 1913-01-09
Gerald Ford 1913-07-14
Jimmy Carter 1924-10-01
Ronald Reagan 1911-02-06
George H. W. Bush 1924-06-12
Bill Clinton 1946-08-19
George W. Bush 1946-07-06
Barack Obama 1961-08-04
Jane Austen 1775-12-16
Charlotte Brontë 1816-04-21
Herman Melville 1819-08-01
Franz Kafka 1883-07-03
James Joyce 1882-02-02
Virginia Woolf 1882-01-25
George Orwell 1903-06-25
J. R. R. Tolkien 1892-01-03
F. Scott Fitzgerald 1896-09-24
Ray Bradbury 1920-08-22
William Butler Yeats 1865-06-13
George Bernard Shaw 1856-07-26
Thomas Mann 1875-06-06
Pearl S. Buck 1892-06-26
Hermann Hesse 1877-07-02
T. S. Eliot 1888-09-26
William Faulkner 1897-09-25
Ernest Hemingway 1899-07-21
Albert Camus 1913-11-07
John Steinbeck 1902-02-27
Antoni Gaudí 1852-06-25
Frank Lloyd Wright 1867-06-08
Le Corbusier 1887-10-06
Oscar Niemeyer 1907-12-15
I. M. Pei 1917-04-26
Jørn Utzon 1918-04-09
Frank Gehry 1929-02-28
Norman Foster 1935-06-01
Renzo Piano 1937-09-14
Tadao Ando 1941-09-13
Peter Zumthor 1943-04-26
Rem Koolhaas 1944-11-17
Jean Nouvel 1945-08-12
Zaha Hadid 1950-10-31
Alfred Hitchcock 1899-08-13
William Wyler 1902-07-01
Billy Wilder 1906-06-22
David Lean 1908-03-25
Miloš Forman 1932-02-18
Clint Eastwood 1930-05-31
Francis Ford Coppola 1939-04-07
Martin Scorsese 1942-11-17
Oliver Stone 1946-09-15
Steven Spielberg 1946-12-18
Kathryn Bigelow 1951-11-27
James Cameron 1954-08-16
Peter Jackson 1961-10-31
Bong Joon-ho 1969-09-14
"""


def person_birth_day(person: str) -> str | dict[str, str]:
    """Return the day on which a well-known person was born, as an ISO date.

    Upper and lower case, accents and spaces around initials make no difference.
    """
    entries = [line.rpartition(" ") for line in BIRTH_DAYS.strip().splitlines()]
    days = {plain(name): day for name, gap, day in entries}
    day = days.get(plain(person))
    if day is None:
        names = ", ".join(name for name, gap, day in entries)
        return {"error": f"person: {person!r} is not on record; use one of {names}"}
    return day


def plain(name: str) -> str:
    """Letters and digits of a name without accents, case and spaces."""
    text = unicodedata.normalize("NFKD", name.replace("ø", "o").casefold())
    return "".join(char for char in text if char.isalnum())
