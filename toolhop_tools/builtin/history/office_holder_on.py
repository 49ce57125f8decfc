"""Who held an office on a day."""

import bisect
import datetime

# First day of each holder in order; an empty name is a vacancy or the end of what is covered.
US_PRESIDENT = """
1861-03-04 Abraham Lincoln; 1865-04-15 Andrew Johnson; 1869-03-04 Ulysses S. Grant;
1877-03-04 Rutherford B. Hayes; 1881-03-04 James A. Garfield; 1881-09-19 Chester A. Arthur;
1885-03-04 Grover Cleveland; 1889-03-04 Benjamin Harrison; 1893-03-04 Grover Cleveland;
1897-03-04 William McKinley; 1901-09-14 Theodore Roosevelt; 1909-03-04 William Howard Taft;
1913-03-04 Woodrow Wilson; 1921-03-04 Warren G. Harding; 1923-08-02 Calvin Coolidge;
1929-03-04 Herbert Hoover; 1933-03-04 Franklin D. Roosevelt; 1945-04-12 Harry S. Truman;
1953-01-20 Dwight D. Eisenhower; 1961-01-20 John F. Kennedy; 1963-11-22 Lyndon B. Johnson;
1969-01-20 Richard Nixon; 1974-08-09 Gerald Ford; 1977-01-20 Jimmy Carter;
1981-01-20 Ronald Reagan; 1989-01-20 George H. W. Bush; 1993-01-20 Bill Clinton;
2001-01-20 George W. Bush; 2009-01-20 Barack Obama; 2017-01-20
"""
BRITISH_MONARCH = """
1760-10-25 George III; 1820-01-29 George IV; 1830-06-26 William IV; 1837-06-20 Victoria;
1901-01-22 Edward VII; 1910-05-06 George V; 1936-01-20 Edward VIII; 1936-12-11 George VI;
1952-02-06 Elizabeth II; 2022-09-08
"""
POPE = """
1846-06-16 Pius IX; 1878-02-07 ; 1878-02-20 Leo XIII; 1903-07-20 ; 1903-08-04 Pius X;
1914-08-20 ; 1914-09-03 Benedict XV; 1922-01-22 ; 1922-02-06 Pius XI; 1939-02-10 ;
1939-03-02 Pius XII; 1958-10-09 ; 1958-10-28 John XXIII; 1963-06-03 ; 1963-06-21 Paul VI;
1978-08-06 ; 1978-08-26 John Paul I; 1978-09-28 ; 1978-10-16 John Paul II; 2005-04-02 ;
2005-04-19 Benedict XVI; 2013-02-28
"""
OFFICES = {"US president": US_PRESIDENT, "British monarch": BRITISH_MONARCH, "Pope": POPE}


def office_holder_on(office: str, day: str, detail: str = "name") -> str | dict[str, str]:
    """Return who held an office on a day, or the first or last day of that holder's term.

    On a day of change the newcomer counts; a term's last day is the day of that change.
    """
    try:
        wanted = datetime.date.fromisoformat(day.strip()).isoformat()
    except ValueError:
        return {"error": f"day: {day!r} is no calendar date; write it as YYYY-MM-DD"}
    terms = [entry.strip().partition(" ") for entry in OFFICES[office].split(";")]
    index = bisect.bisect_right([start for start, gap, name in terms], wanted) - 1
    if index < 0 or not terms[index][2]:
        return {
            "error": f"day: no {office} on {wanted} is on record; the list runs from "
            f"{terms[0][0]} to {terms[-1][0]}, without vacancies"
        }
    facts = {"first day": terms[index][0], "name": terms[index][2]}
    return facts.get(detail, terms[index + 1][0])
