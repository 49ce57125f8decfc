"""What tool code can reach: a walk over everything it is given, and generated programs."""

from __future__ import annotations

import contextlib
import types
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.sandbox.policy_runs import outcome, plain, restricted
from toolhop_sandbox.worker.policy import ALLOWED_MODULES, PolicyViolation, restricted_globals
from toolhop_sandbox.worker.policy.modules import curated
from toolhop_sandbox.worker.policy.names import INNER, is_private
from toolhop_sandbox.worker.policy.templates import template_problem

INSTANCES = """
import re, json, decimal, fractions, random, string, datetime, calendar, collections, csv, io
import functools, itertools, operator, statistics, textwrap, difflib, typing, enum, dataclasses
import contextlib, uuid, hashlib
class C:
    def __init__(self): self._x = 1
    def f(self): yield self
    @property
    def p(self): return 1
    @functools.cached_property
    def q(self): return 1
@dataclasses.dataclass
class D:
    x: int = dataclasses.field(default=1, metadata={'a': 1})
class E(enum.Enum):
    A = 1
@contextlib.contextmanager
def manager(): yield
def error(run):
    try: run()
    except Exception as caught: return caught
found = dict(
    match=re.match('(a)', 'a'), pattern=re.compile('a'), decoder=json.JSONDecoder(),
    encoder=json.JSONEncoder(), context=decimal.getcontext(), fraction=fractions.Fraction(1, 2),
    rng=random.Random(1), template=string.Template('$a'), now=datetime.datetime.now(),
    calendar=calendar.TextCalendar(), chain=collections.ChainMap(), deque=collections.deque(),
    reader=csv.DictReader(io.StringIO('a')), writer=csv.writer(io.StringIO()), text=io.StringIO(),
    data=io.BytesIO(b'a').getbuffer(), cached=functools.lru_cache(C), partial=functools.partial(C),
    key=functools.cmp_to_key(C)(1), group=itertools.groupby('a'), getter=operator.itemgetter(1),
    normal=statistics.NormalDist(), wrapper=textwrap.TextWrapper(), instance=C(), own=C, d=D(),
    matcher=difflib.SequenceMatcher(), alias=typing.List[int], union=typing.Optional[int],
    type_alias=typing.Type[int], variable=typing.TypeVar('T'), generic=list[int], either=int | str,
    generator=C().f(), method=C().f, member=E.A, enumeration=E, field=dataclasses.fields(D)[0],
    manager=manager(), uuid=uuid.uuid4(), digest=hashlib.sha256(), sup=super(C, C()),
    auto=enum.auto(), stood=type(lambda: 0), kind=type(C), wrapped=functools.wraps(C),
    unknown=error(lambda: nothing),
    missing=error(lambda: re.nothing), key_error=error(lambda: {}[1]),
    bad_json=error(lambda: json.loads('{')), refused=error(lambda: re.nothing._x), print=print,
    bad_text=error(lambda: b'\\xff'.decode()), stop=error(lambda: next(iter([]))), view={}.keys(),
    named=collections.namedtuple('P', 'x')(1), frozen=error(lambda: int('x')), fmt='{}'.format,
)
"""

CALLABLE = {type, types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType}
MOST = {True: 100_000, False: 300}
"""Objects looked at of a type. Of values 300 are enough: some attributes make new ones for ever."""

_FORBIDDEN_TYPES = (types.CodeType, types.FrameType, types.TracebackType)
_FORBIDDEN = {eval, exec, compile, open, __import__, input, breakpoint, globals, locals, type}
_FORBIDDEN |= {str.format, str.format_map}


def _steps(owner: Any, read: Callable[[Any, str], Any]) -> list[tuple[str, Any]]:
    """What an expression can read off `owner`: attributes by the policy's rules, and items."""
    found: list[tuple[str, Any]] = []
    for name in dir(owner):
        try:
            found.append((f".{name}", read(owner, name)))
        except Exception:  # noqa: S112, BLE001 -- refused, or an honest AttributeError
            continue
    if isinstance(owner, dict):
        found += [(f"[{key!r}]", value) for key, value in owner.items()]
    elif isinstance(owner, (list, tuple, set, frozenset)):
        found += [(f"[{index}]", value) for index, value in enumerate(owner)]
    return found


def _identity(value: Any) -> object:
    """Equal for what need not be walked twice: texts, numbers, methods that are made anew."""
    if isinstance(value, (str, bytes, int, float, complex)):
        return type(value)
    if isinstance(value, types.FunctionType):
        return value.__code__
    if isinstance(value, (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)):
        owner = value.__self__
        return type(value), value.__name__, type(owner), id(owner) if isinstance(owner, type) else 0
    return id(value)


@pytest.mark.filterwarnings("ignore")
def test_no_walk_over_attributes_and_items_leads_out() -> None:
    """Everything the namespace and every allowed module hold, and all that can be read off it."""
    namespace: dict[str, Any] = restricted_globals()
    builtins: dict[str, Any] = dict(namespace["__builtins__"])
    read = builtins["getattr"]
    hidden = {"__build_class__", "__import__"}
    queue = [(n, v) for n, v in builtins.items() if n not in hidden and not n.startswith("<")]
    for module in ALLOWED_MODULES:
        top = module.partition(".")[0]
        alias = f"import {module} as m" if top != "__future__" else "m = None"
        queue.append((module, restricted(alias)["m"]))
    queue += list(restricted(INSTANCES)["found"].items())
    curated = {id(value) for _, value in queue if isinstance(value, types.ModuleType)}
    seen: set[object] = set()
    kinds: Counter[type] = Counter()
    keep = []  # ids stay unique while their objects live
    while queue:
        path, value = queue.pop()
        kinds[type(value)] += 1
        if _identity(value) in seen or kinds[type(value)] > MOST[type(value) in CALLABLE]:
            continue
        seen.add(_identity(value))
        keep.append(value)
        assert not isinstance(value, _FORBIDDEN_TYPES), path
        assert not (isinstance(value, type) and issubclass(value, type)), path
        assert not any(value is bad for bad in _FORBIDDEN), path
        assert getattr(value, "__module__", None) not in ("posix", "os", "sys"), path
        if isinstance(value, types.ModuleType):
            assert id(value) in curated, path
        queue += [(path + step, inner) for step, inner in _steps(value, read)]
    assert len(seen) > 1500


def test_private_names_of_bases_lead_to_no_module_and_no_metaclass() -> None:
    """A tool may derive from every class that it can reach, and then use its private names."""
    modules = [vars(curated(name)) for name in ALLOWED_MODULES]
    offered = {value for names in modules for value in names.values() if isinstance(value, type)}
    for base in [*offered, dict, list, str, tuple, Exception]:
        for name in dir(base):
            if is_private(name) and name not in INNER:
                value = getattr(base, name)
                assert not isinstance(value, (types.ModuleType, *_FORBIDDEN_TYPES)), (base, name)
                assert not (isinstance(value, type) and issubclass(value, type)), (base, name)


# -- properties ------------------------------------------------------------------------------

SPELLED = sorted(
    {name for kind in (types.FunctionType, types.GeneratorType, type) for name in dir(kind)}
    - {"__name__", "__qualname__", "__doc__", "__class__"}
    - set(dir(int) + dir(list) + dir(dict))
    - {"__call__", "__or__", "__ror__", "__next__", "__get__", "send", "throw", "close"}
    - {"gi_running", "gi_suspended"}
)


@given(
    st.sampled_from(SPELLED),
    st.sampled_from(["{}.{}", "getattr({}, '{}')", "'{{0.{1}}}'.format(0)"]),
)
def test_no_spelling_reaches_an_inner_name(name: str, spelling: str) -> None:
    with pytest.raises((PolicyViolation, AttributeError)):
        restricted("f = lambda: 0\n" + spelling.format("f", name))


@given(st.text(alphabet="{}.[]_:!rsa0x ", max_size=25))
def test_a_template_formats_as_without_the_policy_or_is_refused(template: str) -> None:
    source = f"t = {template!r}\nresult = t.format(1, a=[2], s='x')"
    with_policy = outcome(restricted, source)
    assert with_policy[1] == "PolicyViolation" or with_policy == outcome(plain, source)


class Spy:
    """Gives itself for every attribute and item, and notes the private ones."""

    seen: ClassVar[list[str]] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            Spy.seen.append(name)
        return self

    def __getitem__(self, key: object) -> Any:
        return self

    def __format__(self, spec: str) -> str:
        return ""


@given(st.text(alphabet="{}}.[]_:!a", max_size=20))
@example("{a._}}").via("a private name before the fault")
@example("{a:{a._a}")
def test_an_accepted_template_reads_nothing_private(template: str) -> None:
    Spy.seen.clear()
    if template_problem(template) is None:
        with contextlib.suppress(ValueError, KeyError, IndexError):
            template.format(Spy(), Spy(), a=Spy())
    assert Spy.seen == []


NUMBERS = st.integers(-20, 20)
EXPRESSION = st.recursive(
    st.one_of(NUMBERS.map(str), st.sampled_from("abc"), st.text(max_size=3).map(repr)),
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "//", "%", "==", "<", "and", "or"]), inner
        ).map(lambda parts: f"({' '.join(parts)})"),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        inner.map(lambda item: f"[x for x in {item}]"),
        inner.map(lambda item: f"str({item}).upper()"),
        inner.map(
            lambda item: f"f'{{({item})!r}}'" if "'" not in item and "\\" not in item else item
        ),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]})[{pair[1]}]"),
    ),
    max_leaves=8,
)
STATEMENT = st.one_of(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["", "+", "*"]), EXPRESSION).map(
        lambda parts: f"{parts[0]} {parts[1]}= {parts[2]}"
    ),
    st.tuples(NUMBERS, EXPRESSION).map(lambda parts: f"d[{parts[0]}] += {parts[1]}"),
    EXPRESSION.map(lambda text: f"o.x = {text}"),
    EXPRESSION.map(lambda text: f"o._y += {text}"),
    EXPRESSION.map(lambda text: f"a, *b = {text}"),
)


@pytest.mark.filterwarnings("ignore")
@given(st.lists(STATEMENT, max_size=5), EXPRESSION)
def test_generated_programs_do_the_same_with_and_without(lines: list[str], last: str) -> None:
    head = "class O:\n    _y = 1\no = O(); d = {1: 2, 2: [3]}; a, b, c = 1, 'x', [4]\n"
    source = head + "\n".join(lines) + f"\nresult = [{last}, a, b, c, d, vars(o)]"
    assert outcome(restricted, source) == outcome(plain, source)
