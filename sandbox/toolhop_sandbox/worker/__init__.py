"""The code that runs inside the isolation: standard library and RestrictedPython only."""
