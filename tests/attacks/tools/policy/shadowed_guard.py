"""Takes the names of the guards for its own arguments, as once stood open in RestrictedPython.

Contained: the guards have names that no identifier can be.
"""


def attack():
    def shadow(_getattr_=None, _write_=lambda thing: thing, _inplacevar_=None):
        return _write_(attack)

    try:
        return f"escaped: {getattr(shadow(), '__glo' + 'bals__')}"
    except Exception:
        return "held"
