"""The modules tool code may import, and the copies of them that it is given.

Tools never hold a library module. A module is a door: `random._os`, `calendar.sys`,
`statistics.sys` and `typing.sys` are all one attribute away, and `json.dumps = ...` would change
it for whatever runs later. They are given a module object of the same name with the listed
names in it and nothing else, which no guard lets them write to. It is a plain module object, so
the interpreter's fast path for `math.sqrt` and its error messages stay.

The names are listed one by one, not taken from `__all__`: each was looked at, and a new Python
adds nothing by itself. Names that the running Python lacks are skipped.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any, Final

from sandbox.worker.substitutes import SUBSTITUTES

# ruff: noqa: A002, ANN401 -- the parameters of __import__ are Python's, and may be anything

_NAMES: dict[str, str] = {
    "__future__": "annotations division generator_stop print_function unicode_literals",
    # Without ABCMeta: `register` and metaclasses.
    "abc": "ABC abstractmethod abstractproperty",
    "base64": (
        "a85decode a85encode b16decode b16encode b32decode b32encode b64decode b64encode b85decode "
        "b85encode decodebytes encodebytes standard_b64decode standard_b64encode "
        "urlsafe_b64decode urlsafe_b64encode"
    ),
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    # Without the functions that print.
    "calendar": (
        "APRIL AUGUST Calendar DECEMBER Day FEBRUARY FRIDAY HTMLCalendar IllegalMonthError "
        "IllegalWeekdayError JANUARY JULY JUNE MARCH MAY MONDAY Month NOVEMBER OCTOBER SATURDAY "
        "SEPTEMBER SUNDAY THURSDAY TUESDAY TextCalendar WEDNESDAY calendar day_abbr day_name "
        "firstweekday isleap leapdays month month_abbr month_name monthcalendar monthrange "
        "setfirstweekday timegm weekday weekheader"
    ),
    "cmath": (
        "acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan "
        "log log10 nan nanj phase pi polar rect sin sinh sqrt tan tanh tau"
    ),
    # Without UserString: its `format` calls `str.format` with any template.
    "collections": (
        "ChainMap Counter OrderedDict UserDict UserList abc defaultdict deque namedtuple"
    ),
    "collections.abc": (
        "ByteString Callable Collection Container Generator Hashable ItemsView Iterable Iterator "
        "KeysView Mapping MappingView MutableMapping MutableSequence MutableSet Reversible "
        "Sequence Set Sized ValuesView"
    ),
    "contextlib": "contextmanager nullcontext suppress",
    # copy only calls what METHODS lets a class define: no __reduce__, no __setstate__.
    "copy": "Error copy deepcopy",
    "csv": (
        "DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC "
        "Sniffer excel excel_tab reader unix_dialect writer"
    ),
    # Without make_dataclass, which takes any bases and any special name.
    "dataclasses": (
        "FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple dataclass field fields "
        "is_dataclass replace"
    ),
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "decimal": (
        "Clamped Context Decimal DecimalException DivisionByZero FloatOperation Inexact "
        "InvalidOperation MAX_EMAX MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP ROUND_CEILING "
        "ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded "
        "Subnormal Underflow getcontext localcontext setcontext"
    ),
    "difflib": (
        "Differ IS_CHARACTER_JUNK IS_LINE_JUNK SequenceMatcher context_diff get_close_matches "
        "ndiff restore unified_diff"
    ),
    "enum": "Enum Flag IntEnum IntFlag StrEnum auto unique",
    "fractions": "Fraction",
    # Without singledispatch: it evaluates annotations that are strings.
    "functools": (
        "cache cached_property cmp_to_key lru_cache partial reduce total_ordering "
        "update_wrapper wraps"
    ),
    "hashlib": (
        "blake2b blake2s md5 new sha1 sha224 sha256 sha384 sha3_224 sha3_256 sha3_384 sha3_512 "
        "sha512"
    ),
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "html": "escape unescape",
    # Buffers in memory; every class that touches a file stays out.
    "io": "BytesIO StringIO",
    "itertools": (
        "accumulate batched chain combinations combinations_with_replacement compress count cycle "
        "dropwhile filterfalse groupby islice pairwise permutations product repeat starmap "
        "takewhile tee zip_longest"
    ),
    # `load` and `dump` take an object with `read` or `write`: a StringIO, there is no other.
    "json": "JSONDecodeError JSONDecoder JSONEncoder decoder dump dumps load loads",
    "json.decoder": "JSONDecodeError JSONDecoder",
    "math": (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e "
        "erf erfc exp exp2 expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf "
        "isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan "
        "nextafter perm pi pow prod radians remainder sin sinh sqrt sumprod tan tanh tau trunc ulp"
    ),
    "numbers": "Complex Integral Number Rational Real",
    # attrgetter and methodcaller are ours.
    "operator": (
        "abs add and_ attrgetter call concat contains countOf delitem eq floordiv ge getitem gt "
        "iadd iand iconcat ifloordiv ilshift imatmul imod imul index indexOf inv invert ior ipow "
        "irshift is_ is_not isub itemgetter itruediv ixor le length_hint lshift lt matmul "
        "methodcaller mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor"
    ),
    "pprint": "pformat pprint",
    "random": (
        "Random SystemRandom betavariate choice choices expovariate gammavariate gauss "
        "getrandbits getstate lognormvariate normalvariate paretovariate randbytes randint "
        "random randrange sample seed setstate shuffle triangular uniform vonmisesvariate "
        "weibullvariate"
    ),
    "re": (
        "A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern PatternError "
        "RegexFlag S U UNICODE VERBOSE X compile error escape findall finditer fullmatch match "
        "purge search split sub subn"
    ),
    "statistics": (
        "NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean "
        "linear_regression mean median median_grouped median_high median_low mode multimode "
        "pstdev pvariance quantiles stdev variance"
    ),
    # Without Formatter, which walks attributes (CVE-2024-47532, CVE-2026-76825).
    "string": (
        "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits "
        "octdigits printable punctuation whitespace"
    ),
    "textwrap": "TextWrapper dedent fill indent shorten wrap",
    # sleep only uses up the call's own time limit.
    "time": (
        "asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter "
        "perf_counter_ns process_time process_time_ns sleep strftime strptime struct_time time "
        "time_ns timezone tzname"
    ),
    # Without what evaluates (get_type_hints, ForwardRef), what hands out `type` (get_origin) and
    # what makes isinstance look at names instead of bases (Protocol, runtime_checkable).
    "typing": (
        "AbstractSet Annotated Any AnyStr Callable ChainMap ClassVar Collection Container Counter "
        "DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable ItemsView Iterable "
        "Iterator KeysView List Literal LiteralString Mapping MappingView Match MutableMapping "
        "MutableSequence MutableSet NamedTuple Never NewType NoReturn NotRequired Optional "
        "OrderedDict ParamSpec Pattern Required Reversible Self Sequence Set Sized TYPE_CHECKING "
        "Text Tuple Type TypeAlias TypeGuard TypeVar TypedDict Union Unpack ValuesView "
        "assert_never cast final overload override"
    ),
    "unicodedata": (
        "bidirectional category combining decimal decomposition digit east_asian_width "
        "is_normalized lookup mirrored name normalize numeric unidata_version"
    ),
    # Without uuid1 and getnode, which ask the machine for its address.
    "uuid": "NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 UUID uuid3 uuid4 uuid5",
}

ALLOWED_MODULES: Final[dict[str, frozenset[str]]] = {
    module: frozenset(names.split()) for module, names in _NAMES.items()
}
"""The import allow-list: module name to the names tools may have of it."""


@functools.cache
def curated(name: str) -> ModuleType:
    """The tools' copy of the module `name`, made once a process.

    Raises:
        KeyError: `name` is not in `ALLOWED_MODULES`.
        ImportError: the running Python does not have it.
    """
    real = importlib.import_module(name)
    found = {key: getattr(real, key) for key in ALLOWED_MODULES[name] if hasattr(real, key)}
    if name in SUBSTITUTES:
        found |= {key: ours for key, ours in SUBSTITUTES[name]().items() if key in found}
    for key in found:
        if f"{name}.{key}" in ALLOWED_MODULES:
            found[key] = curated(f"{name}.{key}")
    copy = ModuleType(name)
    vars(copy).update(found, __all__=sorted(found))
    return copy


def guarded_import(
    name: str,
    globals: Any = None,
    locals: Any = None,
    fromlist: Any = (),
    level: int = 0,
) -> ModuleType | None:
    """`__import__` of tool code: import statements end here.

    So does the C code of the library that a tool calls, for what it imports as it goes
    (`PyImport_Import` looks the function up in the *caller's* built-ins; `datetime.strptime`
    needs `_strptime` that way). It passes an empty list where a statement passes a tuple or
    None, and takes the module from `sys.modules` whatever is returned: so it gets its import,
    and the tool gets nothing.

    Every name in `fromlist` is checked here, because on a missing attribute `from x import y`
    falls back to `sys.modules["x.y"]`, which is a library module.
    """
    if type(fromlist) is list:
        importlib.import_module(name)
        return None
    if level or name not in ALLOWED_MODULES:
        raise ModuleNotFoundError(f"module {name!r} is not available to tools", name=name)
    module = curated(name)
    for key in fromlist or ():
        if key != "*" and key not in vars(module):
            raise ImportError(f"cannot import name {key!r} from {name!r}", name=name)
    return module if fromlist else curated(name.partition(".")[0])
