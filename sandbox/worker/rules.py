"""Which names tool code may use: the rules that transformer and guards share.

The policy rests on one observation: nearly every published escape from a restricted Python
spells the name of an attribute that leads from a harmless object to its interior (`__globals__`,
`gi_frame`, `tb_frame`, `str.format` with a template that spells it). Names in source are known
when it is compiled, so they are judged there, once, and ordinary attribute access stays plain
bytecode at full speed. What is left for run time are names that arrive as strings (`getattr`,
templates, `attrgetter`), names starting with an underscore, and four harmless-looking names
(`GUARDED`).
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found]  # the parser behind str.format
import functools
from collections.abc import Iterable, Mapping
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    GeneratorType,
    TracebackType,
)
from typing import Final

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

MARK: Final = "<tool>"
"""Attribute of classes, and key of namespaces, that tool code made. No source can spell it."""
TOKEN: Final = object()
"""The value of `MARK`. Its identity is what counts."""
SIGNATURE: Final[object] = staticmethod(TOKEN)  # type: ignore[arg-type]  # any object will do
"""What a class's body stores as `MARK`, to be read as `TOKEN`. An enumeration takes a plain value
in its body for a member, and a descriptor not; a static method is one that costs nothing."""

GETATTR: Final = "<getattr>"
INITIAL: Final = "<initial>"
PRIVATE: Final = "<private>"
SIGN: Final = "<sign>"
TYPE: Final = "<type>"
UPDATE: Final = "<update>"
WRITE: Final = "<write>"
"""Names under which transformed code reaches the guards. They are no identifiers, so tool code
can neither call nor shadow them, and may name its own variables `_getattr_` or `_write_`. (An
argument that shadowed a guard was an escape from RestrictedPython before 8.3.)"""


class PolicyViolation(Exception):
    """The policy does not accept the source, or a step that the running code tried.

    While running, every refusal is this exception, save that of an import: code that carries on
    without an optional module expects `ImportError`.
    """

    def __init__(self, problems: Iterable[tuple[int, str]] | str) -> None:
        # A text where `enum` raises an exception of a class statement again, since Python 3.12.
        self.problems = ((0, problems),) if isinstance(problems, str) else tuple(problems)
        """Line of the source (0 where it is not known) and what is wrong there."""
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "; ".join(f"line {line}: {text}" if line else text for line, text in self.problems)


def refused(message: str) -> PolicyViolation:
    """The exception for something refused while the code runs; its traceback has the line."""
    return PolicyViolation([(0, message)])


def _inner_names() -> frozenset[str]:
    """What frames, code, tracebacks and suspended functions show of the interpreter.

    Asked of the running interpreter's types as well, so that what a new Python adds (3.14 added
    `f_generator`) is refused before anyone reviews it. Whole prefixes are not refused: `f_score`
    and `co_author` are honest names.
    """
    prefixes: dict[type, str] = {
        FrameType: "f_",
        CodeType: "co_",
        TracebackType: "tb_",
        GeneratorType: "gi_",
        CoroutineType: "cr_",
        AsyncGeneratorType: "ag_",
    }
    found = {
        name for kind, start in prefixes.items() for name in dir(kind) if name.startswith(start)
    }
    return frozenset(found | INSPECT_ATTRIBUTES)


UNSAFE: Final = _inner_names() | {
    MARK,  # not for a tool to have: what has it counts as the tool's own
    "mro",  # a class's bases up to object; nothing needs it
    "_abc_impl",  # lent from `Sequence`, it makes texts instances of a tool's class for `match`
    "with_traceback",  # plants a traceback; reading one is refused anyway
    "func_closure",  # Python 2's spellings, refused so that no shim brings them back
    "func_code",
    "func_defaults",
    "func_globals",
    "im_class",
    "im_func",
    "im_self",
}
"""Attributes not told by their underscores that nothing may read, write or declare in a class."""

GUARDED: Final = frozenset({"format", "format_map", "obj", "register"})
"""Attributes that are honest on most objects and harmful on a few, so the value decides:
`str.format` walks attributes by template (CVE-2023-41039), `AttributeError.obj` hands out the
object that a library was looking at (CVE-2024-47532), `ABCMeta.register` makes `isinstance` and
with it `match` treat a foreign object as an instance of a tool's class."""

_BINARY = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor"
_OTHERS = (
    "init new post_init init_subclass class_getitem call repr str bytes format hash "
    "eq ne lt le gt ge bool int float complex index round trunc floor ceil "
    "neg pos abs invert len length_hint getitem setitem delitem missing iter next "
    "reversed contains enter exit copy deepcopy"
)
METHODS: Final = frozenset(
    f"__{name}__"
    for name in (
        *_OTHERS.split(),
        *(prefix + name for prefix in ("", "r", "i") for name in _BINARY.split()),
    )
)
"""Special methods that classes may define and code may name, as in `super().__init__()`.

Left out on purpose, with what they would open:

- `__getattr__`, `__getattribute__`, `__setattr__`, `__delattr__`: answer or receive what library
  code asks of an object by name (`functools.update_wrapper` hands over any attribute of a
  function that way); also, a guard could not trust what it reads.
- `__reduce__`, `__reduce_ex__`, `__getstate__`, `__setstate__`, `__getnewargs__`: `copy` calls
  what they return, and sets any attribute on it.
- `__instancecheck__`, `__subclasscheck__`, `__subclasshook__`, `__mro_entries__`, `__prepare__`,
  `__match_args__`, `__annotations__`: forge what `match`, class statements and `dataclass` read.
- `__del__`: runs at times nobody chose, after the guards' caller has gone.
- `__get__` and its kin may be defined (`DESCRIPTORS`) and not named: `X.name.__set__(other, 1)`
  would write past the write guard.
"""
INITIALS: Final = frozenset({"__init__", "__new__", "__init_subclass__", "__post_init__"})
"""Those of `METHODS` that may be named only of the tool's classes and their bases:
`Fraction.numerator.__init__(f)` would rewrite a property of the library."""
DESCRIPTORS: Final = frozenset({"__get__", "__set__", "__delete__", "__set_name__"})
TEXTS: Final = frozenset({"__name__", "__qualname__", "__doc__"})
"""Readable on anything: on types, functions and modules they are texts. A decorator may set them
on a function of the tool's."""
MODULE_FACTS: Final = frozenset({"__all__", "__author__", "__date__", "__license__", "__version__"})
"""Names that a module may declare about itself; nothing reads them."""

NAMEDTUPLE_API: Final = frozenset({"_asdict", "_field_defaults", "_fields", "_make", "_replace"})


def is_dunder(name: str) -> bool:
    """Whether Python itself may give the name a meaning."""
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def is_private(name: str) -> bool:
    """An underscore ahead, and no more than the convention: `_total`, `__total`, not `_`."""
    return name.startswith("_") and name != "_" and not is_dunder(name)


def mangled(name: str, class_name: str | None) -> str:
    """The name that `__name` becomes in the body of `class_name` (Language Reference 6.2.1)."""
    stem = (class_name or "").lstrip("_")
    if not stem or not name.startswith("__") or is_dunder(name):
        return name
    return f"_{stem}{name}"


def read_problem(name: str) -> str | None:
    """Why no code may read this attribute, on any object; None if it may."""
    if name in UNSAFE or (is_dunder(name) and name not in METHODS and name not in TEXTS):
        return f"attribute {name!r} leads into the interpreter and cannot be read"
    return None


def write_problem(name: str) -> str | None:
    """Why no code may set or delete this attribute, on any object; None if it may."""
    if name in UNSAFE or (is_dunder(name) and name not in TEXTS) or not name.isidentifier():
        return f"attribute {name!r} cannot be set or deleted"
    return None


@functools.lru_cache(maxsize=64)
def template_problem(template: str) -> str | None:
    """Why `str.format` may not have this template; None if it may.

    A field may pick items (`{0[key]}`) and plain public attributes (`{film.title}`): the same
    names that an expression may spell. The value of the field becomes text, so `GUARDED` names
    do no harm here.

    A malformed template may pass. `str.format` reads it with the same parser, field by field, and
    stops at the latest where that parser stopped here; what lies before was checked.

    Cached, as a template is usually formatted in a loop: 1.4 us a call otherwise.
    """
    try:
        for _, field, spec, _ in _string.formatter_parser(template):
            if field is None:
                continue
            _, rest = _string.formatter_field_name_split(field)
            for is_attribute, name in rest:
                if is_attribute and (name.startswith("_") or read_problem(name)):
                    return f"attribute {name!r} cannot be read from a format template"
            if "{" in spec and (problem := template_problem(spec)):
                return problem
    except ValueError:
        return None
    return None


def str_format(template: str, /, *args: object, **kwargs: object) -> str:
    """`str.format` that walks no attribute it should not."""
    return str.format(_checked(template), *args, **kwargs)


def str_format_map(template: str, mapping: Mapping[str, object], /) -> str:
    """`str.format_map`, likewise."""
    return str.format_map(_checked(template), mapping)


def _checked(template: str) -> str:
    # The text itself, whatever a subclass makes of `__str__`; TypeError for anything else.
    text = str.__str__(template)
    if problem := template_problem(text):
        raise refused(problem)
    return text
