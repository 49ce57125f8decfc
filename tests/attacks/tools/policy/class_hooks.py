"""Is called by the class statement: subclasses, descriptors, decorators, generic items.

Contained: the hooks get the tool's own classes, and nothing of the interpreter's.
"""

SEEN = []


class Descriptor:
    def __set_name__(self, owner, name):
        SEEN.append(owner)

    def __get__(self, owner, kind=None):
        SEEN.append(kind)
        return self


class Base:
    def __init_subclass__(cls, **options):
        SEEN.append(cls)

    def __class_getitem__(cls, item):
        SEEN.append(cls)
        return cls


@lambda cls: SEEN.append(cls) or cls
class Derived(Base, option=1):
    field = Descriptor()


def attack():
    Derived.field, Base[int], Derived().field
    found = []
    for seen in SEEN:
        for name in ("__glo" + "bals__", "__sub" + "classes__", "__dic" + "t__", "__mod" + "ule__"):
            try:
                found.append(getattr(seen, name))
            except Exception:
                continue
    return f"escaped: {found}" if found else "held"
