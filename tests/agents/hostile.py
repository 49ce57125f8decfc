"""Run folders of strangers who mean harm, and what the commands make of them.

Each is a copy of one good run with one thing changed. Beside it lies `outside`, with files that
would be read if links were followed; `SENTINEL` stands in all of them.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import anyio

from tests.agents.command import toolhop
from toolhop_agents.runs.execute import execute
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.runs.judgements import Judgement
from toolhop_env.runs.packing import Packing, pack
from toolhop_env.runs.store import RunStore
from toolhop_tools.readers import native

SENTINEL = "what-stands-outside"
SETTINGS = RunSettings(
    data="builtin", sandbox="process", agent="repairing:0.5", limit="3", max_samples=1
)
LIMIT_S = 120
"""A command that takes longer is said to hang; on an idle machine each takes a tenth of one."""
COMMANDS: Sequence[Sequence[str]] = (
    ("show", "RUN"),
    ("score", "RUN", "--by", "domain"),
    ("report", "RUN", "--out", "OUT/report.html"),
    ("export", "RUN", "--to", "chat", "--out", "OUT/chat.jsonl"),
    ("replay", "RUN", "--verify"),
    ("compare", "RUN", "GOOD"),
    ("diagnose", "RUN"),
    ("explain", "RUN"),
    ("runs", "HERE"),
    ("run", "--resume", "RUN"),
)
"""What reads a run; the last one may change it."""
FURTHER: Sequence[Sequence[str]] = (
    *COMMANDS,
    ("show", "RUN", "ITEM"),
    ("export", "RUN", "--to", "atif", "--out", "OUT/atif"),
    ("export", "RUN", "--to", "inspect", "--out", "OUT/logs"),
    ("explain", "RUN", "--methods"),
)
CODES = frozenset({0, 1, 2, 3})

Change = Callable[[Path, Path], None]
"""Changes a file of a run, given it and the folder `outside`."""


@dataclass(frozen=True, slots=True)
class Good:
    """The run that hostile ones are copies of."""

    folder: Path
    item: str
    files: Sequence[Path]
    """Its files, from the folder on."""

    @classmethod
    def made(cls, folder: Path) -> Good:
        """A run of three items in two segments' worth of files: two traces packed, one not."""
        store = anyio.run(execute, SETTINGS.model_copy(update={"log_dir": folder})).store
        with store.held():
            pack(store, Packing(begin=2, traces=2))
            said = [Judgement(one.episode, "q", "d", "somebody", answer=True) for one in
                    store.attempts()]  # fmt: skip
            store.add_judgements(said)
        files = [path.relative_to(store.folder) for path in sorted(store.folder.rglob("*"))
                 if path.is_file()]  # fmt: skip
        return cls(store.folder, next(store.attempts()).item, files)

    def native(self) -> list[Any]:
        """The items as those of other benchmarks are kept."""
        return [native.to_row(item) for item in RunStore(self.folder).items().items]


class Hung(BaseException):
    """A command did not end."""


@contextmanager
def watched(limit_s: float = LIMIT_S) -> Iterator[None]:
    """Within it nothing takes longer: a read that waits is broken off by a signal."""

    def ring(_: int, __: FrameType | None) -> NoReturn:
        raise Hung

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True, slots=True)
class Scene:
    """A hostile run, a good one beside it, and what lies outside of both."""

    home: Path
    good: Good

    @property
    def run(self) -> Path:
        return self.home / "here" / "run"

    @property
    def outside(self) -> Path:
        return self.home / "outside"

    def set(self) -> None:
        """Put everything in its place, the run still good."""
        shutil.rmtree(self.home, ignore_errors=True)
        (self.home / "out").mkdir(parents=True)
        shutil.copytree(self.good.folder, self.run)
        shutil.copytree(self.good.folder, self.outside / "run")
        for path in (self.outside / "run").rglob("*"):
            if path.suffix in (".json", ".jsonl"):
                text = path.read_text(encoding="utf-8")
                text = text.replace("What", f"{SENTINEL} What").replace("builtin", SENTINEL)
                path.write_text(text, encoding="utf-8")

    def invoked(self, command: Sequence[str], codes: Set[int] = CODES) -> str:
        """What is wrong with how a command ends; empty for nothing."""
        places = {
            "RUN": self.run,
            "HERE": self.run.parent,
            "GOOD": self.good.folder,
            "ITEM": self.good.item,
        }
        words = [str(places.get(one, one)).replace("OUT/", f"{self.home}/out/") for one in command]
        outside = state(self.outside)
        try:
            with watched():
                done = toolhop(*words)
        except Hung:
            return "hangs"
        except MemoryError:
            return "takes all memory"
        except Exception as error:  # noqa: BLE001 -- this is what is looked for
            frames = traceback.extract_tb(error.__traceback__)
            last = [f"{Path(one.filename).name}:{one.lineno}" for one in frames[-4:]]
            return f"raises {type(error).__name__}: {str(error)[:200]} at {', '.join(last)}"
        if done.returncode not in codes:
            return f"ends with {done.returncode}: {done.stderr}"
        if done.returncode == 2 and not done.stderr.strip():
            return "says nothing"
        if "Traceback (most" in done.stdout + done.stderr:
            return "prints a traceback"
        written = [path for path in (self.home / "out").rglob("*") if path.is_file()]
        if SENTINEL in done.stdout + done.stderr or any(
            SENTINEL.encode() in path.read_bytes() for path in written
        ):
            return "tells what stands outside"
        if state(self.outside) != outside:
            return "writes outside"
        return ""


def state(folder: Path) -> Mapping[str, object]:
    """Everything in a folder."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


# -- changes --------------------------------------------------------------------------------------


def _emptied(path: Path) -> None:
    path.unlink(missing_ok=True)


def fifo(path: Path, _: Path) -> None:
    _emptied(path)
    os.mkfifo(path)


def device(path: Path, _: Path) -> None:
    _emptied(path)
    path.symlink_to("/dev/zero")


def link(path: Path, outside: Path) -> None:
    _emptied(path)
    run = next(one for one in path.parents if one.name == "run")
    path.symlink_to(outside / "run" / path.relative_to(run))


def dangling(path: Path, outside: Path) -> None:
    _emptied(path)
    path.symlink_to(outside / "new")


def folder(path: Path, _: Path) -> None:
    _emptied(path)
    path.mkdir()


def large(path: Path, _: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 42)


def holding(content: bytes) -> Change:
    def change(path: Path, _: Path) -> None:
        is_packed = path.suffix == ".gz"
        path.write_bytes(gzip.compress(content) if is_packed else content)

    return change


def truncated(path: Path, _: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def raw(path: Path, _: Path) -> None:
    path.write_bytes(bytes(range(256)) * 64)


def bomb(path: Path, _: Path) -> None:
    content = gzip.compress(bytes(1 << 24)) * 4
    path.write_bytes(content)


KINDS: Mapping[str, Change] = {
    "fifo": fifo,
    "device": device,
    "link": link,
    "dangling": dangling,
    "folder": folder,
    "large": large,
    "empty": holding(b""),
    "truncated": truncated,
    "binary": raw,
    "not-utf8": holding(b'{"a": "\xff\xfe"}\n{"a": "\xff"}\n'),
    "deep": holding(b"[" * 100_000 + b"]" * 100_000 + b"\n"),
    "deep-object": holding(b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"\n"),
    "below-the-limit": holding(b'{"settings":' * 900 + b"{}" + b"}" * 900 + b"\n"),
    "list": holding(b"[]\n"),
    "null": holding(b"null\n"),
    "long-line": holding(b'{"a": "' + b"x" * 3_000_000 + b'"}\n'),
    "nan": holding(b'{"settings": NaN, "format": Infinity}\n'),
    "surrogate": holding(b'{"status": "\\ud800", "settings": {}}\n'),
}
"""What stands in a file's place, whatever the file."""
VALUES: Sequence[Any] = (
    None, True, -1, 10**400, 1e308, "", "x\ud800", "../../../outside/run/x", [], [1], {},
    {"a": [1]},
)  # fmt: skip
"""What stands in a key's place."""


def lines_of(path: Path) -> list[Any]:
    """The JSON values of a file: the whole one, or one a line."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    return [json.loads(content)] if path.suffix == ".json" else [
        json.loads(line) for line in content.splitlines()
    ]  # fmt: skip


def write_lines(path: Path, values: Sequence[Any]) -> None:
    """The other way round; a segment of traces becomes one member for each episode."""
    if path.name.endswith(".traces.jsonl.gz"):
        traces: list[list[Any]] = []
        for one in values:
            if isinstance(one, dict) and one.get("kind") == "started":
                traces.append([])
            traces[-1:] = [[*(traces or [[]])[-1], one]]
        parts = ["".join(json.dumps(one) + "\n" for one in trace).encode() for trace in traces]
        path.write_bytes(b"".join(map(gzip.compress, parts)))
        return
    content = "".join(json.dumps(one) + "\n" for one in values).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def keys_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of everything in a value, the first of each list."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, part in value.items():
            yield from keys_of(part, (*path, name))
    elif isinstance(value, list) and value:
        yield from keys_of(value[0], (*path, 0))


def places_in(values: Sequence[Any]) -> list[tuple[int, tuple[Any, ...]]]:
    """Places in some values by their number, each kind of place once."""
    found: dict[Any, tuple[int, tuple[Any, ...]]] = {}
    for at, value in enumerate(values):
        for place in keys_of(value):
            kind = value.get("kind") if isinstance(value, dict) else None
            found.setdefault((kind, place), (at, place))
    return [*found.values()]


def put(value: Any, path: Sequence[Any], new: Any) -> Any:
    """The value with another in a place of it."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], new)
    return copy
