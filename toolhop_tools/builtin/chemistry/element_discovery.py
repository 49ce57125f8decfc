"""Discoveries of elements for which one year and one party are generally credited."""

DISCOVERIES = {
    "phosphorus": (1669, "Hennig Brand"),
    "nickel": (1751, "Axel Cronstedt"),
    "uranium": (1789, "Martin Klaproth"),
    "iodine": (1811, "Bernard Courtois"),
    "cadmium": (1817, "Friedrich Stromeyer"),
    "lithium": (1817, "Johan August Arfwedson"),
    "selenium": (1817, "Jons Jacob Berzelius"),
    "bromine": (1826, "Antoine Balard"),
    "lanthanum": (1839, "Carl Gustaf Mosander"),
    "caesium": (1860, "Robert Bunsen and Gustav Kirchhoff"),
    "rubidium": (1861, "Robert Bunsen and Gustav Kirchhoff"),
    "thallium": (1861, "William Crookes"),
    "indium": (1863, "Ferdinand Reich and Theodor Richter"),
    "gallium": (1875, "Paul-Emile Lecoq de Boisbaudran"),
    "scandium": (1879, "Lars Fredrik Nilson"),
    "germanium": (1886, "Clemens Winkler"),
    "argon": (1894, "Lord Rayleigh and William Ramsay"),
    "krypton": (1898, "William Ramsay and Morris Travers"),
    "neon": (1898, "William Ramsay and Morris Travers"),
    "xenon": (1898, "William Ramsay and Morris Travers"),
    "polonium": (1898, "Marie and Pierre Curie"),
    "hafnium": (1923, "Dirk Coster and George de Hevesy"),
    "rhenium": (1925, "Walter Noddack, Ida Tacke and Otto Berg"),
    "technetium": (1937, "Carlo Perrier and Emilio Segre"),
    "francium": (1939, "Marguerite Perey"),
}


def element_discovery(element: str, want: str = "year") -> int | str | dict[str, str]:
    """Return the year in which the element was discovered, or the credited discoverer."""
    key = element.strip().casefold()
    if key not in DISCOVERIES:
        known = ", ".join(DISCOVERIES)
        return {"error": f"element: no discovery is noted for {element!r}; noted are {known}"}
    year, discoverer = DISCOVERIES[key]
    return year if want == "year" else discoverer
