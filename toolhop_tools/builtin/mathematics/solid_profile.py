"""Platonic, Archimedean and a few Catalan solids."""

# Faces, edges, vertices.
SOLIDS = {
    "tetrahedron": (4, 6, 4),
    "cube": (6, 12, 8),
    "octahedron": (8, 12, 6),
    "dodecahedron": (12, 30, 20),
    "icosahedron": (20, 30, 12),
    "truncated tetrahedron": (8, 18, 12),
    "cuboctahedron": (14, 24, 12),
    "truncated cube": (14, 36, 24),
    "truncated octahedron": (14, 36, 24),
    "rhombicuboctahedron": (26, 48, 24),
    "truncated cuboctahedron": (26, 72, 48),
    "snub cube": (38, 60, 24),
    "icosidodecahedron": (32, 60, 30),
    "truncated dodecahedron": (32, 90, 60),
    "truncated icosahedron": (32, 90, 60),
    "rhombicosidodecahedron": (62, 120, 60),
    "truncated icosidodecahedron": (62, 180, 120),
    "snub dodecahedron": (92, 150, 60),
    "rhombic dodecahedron": (12, 24, 14),
    "rhombic triacontahedron": (30, 60, 32),
}


def solid_profile(solid: str, part: str) -> int | dict[str, str]:
    """Return how many faces, edges or vertices the solid has."""
    key = " ".join(solid.split()).casefold()
    if key not in SOLIDS:
        return {"error": f"solid: {solid!r} is not known here; known solids: {', '.join(SOLIDS)}"}
    return SOLIDS[key][("faces", "edges", "vertices").index(part)]
