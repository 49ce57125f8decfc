"""The sandbox's image, built without a registry from this machine's own interpreter.

It has an interpreter, its standard library, the shared libraries they need, RestrictedPython and
the worker: no shell, no package manager, nothing else to run. It takes about 45 MB and is built in
seconds. If the host is not Linux or its interpreter cannot be copied, the same worker is added to a
`python:3.x-slim` base instead.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import platform
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import toolhop_sandbox
from toolhop_sandbox.docker import folders
from toolhop_sandbox.errors import SandboxUnavailable

REPOSITORY = "toolhop-sandbox"
HOME = "/usr/local"
WORKER = "/opt/toolhop"
"""Path of the worker; outside the standard library, all of which calls may read."""
RECIPE = "6"
"""Raised when this module changes the image's layout, so that old images count as stale."""
ENVIRONMENT = f"ENV PYTHONPATH={WORKER}"
"""Environment of the image, as a line of a Dockerfile."""

_LEFT_OUT = {
    # Never needed by a tool, and large or able to reach out.
    "test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "site-packages",
    "dist-packages", "pydoc_data", "__pycache__", "venv", "distutils", "unittest",
    "multiprocessing", "curses", "dbm", "sqlite3", "wsgiref", "xmlrpc",
}  # fmt: skip
_NOT_LOADED = re.compile(r"^(_test|_xxtestfuzz|xxlimited|_tkinter|_curses|_sqlite3|_dbm|_gdbm)")


def worker_files() -> dict[str, bytes]:
    """Return the files of the worker and RestrictedPython, by path below `WORKER`."""
    root = Path(toolhop_sandbox.__file__).resolve().parent
    own = [root / "__init__.py", *(root / "worker").rglob("*.py")]
    own += [root / "attach" / f"{name}.py" for name in ("__init__", "mux", "relay")]
    found = {f"toolhop_sandbox/{path.relative_to(root)}": path.read_bytes() for path in sorted(own)}
    spec = importlib.util.find_spec("RestrictedPython")
    if spec is None or spec.origin is None:
        raise SandboxUnavailable(
            "RestrictedPython is not installed", fix="pip install RestrictedPython"
        )
    package = Path(spec.origin).parent
    for path in sorted(package.rglob("*.py")):
        if "tests" not in path.parts:
            found[f"RestrictedPython/{path.relative_to(package)}"] = path.read_bytes()
    return found


def tag(base: str | None = None) -> str:
    """Return the name of the image for this interpreter, worker and recipe.

    Any change to these changes the name, so a stale image is never used by mistake.
    """
    digest = hashlib.sha256()
    parts = [RECIPE, sys.version, platform.machine(), version("RestrictedPython"), base or ""]
    digest.update("\0".join(parts).encode())
    for name, content in worker_files().items():
        digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
    return f"{REPOSITORY}:{digest.hexdigest()[:16]}"


def entry_command(module: str = "worker.zygote") -> list[str]:
    """Return the container's command, for the zygote (plus a socket path) or `attach.relay`."""
    return [f"{HOME}/bin/python3", "-m", f"toolhop_sandbox.{module}"]


def build_from_host(output: Path) -> None:
    """Write the image's file system as a tar archive.

    Raises:
        SandboxUnavailable: this is not Linux, or the interpreter's libraries cannot be listed.
    """
    if not sys.platform.startswith("linux"):
        raise SandboxUnavailable(
            f"an image can be made from the host's interpreter on Linux only, not {sys.platform}",
            fix="toolhop sandbox build --sandbox-base python:3.12-slim",
        )
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    with tempfile.TemporaryDirectory(prefix=folders.prefix()) as folder:
        root = Path(folder)
        library = _lay_out_library(root)
        binary = root / HOME.strip("/") / "bin" / "python3"
        binary.parent.mkdir(parents=True)
        shutil.copy2(python, binary)
        extensions = sorted(library.rglob("*.so"))
        _copy_shared_libraries(root, [binary, *extensions])
        _lay_out_worker(root / WORKER.strip("/"))
        for name in ("tmp", "proc", "sys", "dev", "run/toolhop"):
            (root / name).mkdir(parents=True, exist_ok=True)
        _write_tar(root, output)


def _lay_out_library(root: Path) -> Path:
    """Compile the standard library into place, without its source files."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = root / HOME.strip("/") / "lib" / name
    for key in ("stdlib", "platstdlib"):
        _copy_library(Path(sysconfig.get_path(key)), library)
    if sys.platlibdir != "lib":
        platform_library = library.parent.parent / sys.platlibdir / name
        platform_library.mkdir(parents=True)
        shutil.move(library / "lib-dynload", platform_library / "lib-dynload")
    return library.parent.parent


def _lay_out_worker(folder: Path) -> None:
    for path, content in worker_files().items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        _compile(target, target.with_suffix(".pyc"))
        target.unlink()


def _copy_library(source: Path, target: Path) -> None:
    for path in _library_files(source):
        destination = target / path.relative_to(source)
        destination.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".py":
            _compile(path, destination.with_suffix(".pyc"))
        elif path.suffix == ".so":
            shutil.copy2(path, destination)


def _library_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name not in _LEFT_OUT and not path.name.startswith("config-"):
                yield from _library_files(path)
        elif path.suffix == ".py" or (path.suffix == ".so" and not _NOT_LOADED.match(path.name)):
            yield path


def _compile(source: Path, target: Path) -> None:
    py_compile.compile(
        str(source),
        cfile=str(target),
        dfile=source.name,
        doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def _copy_shared_libraries(root: Path, binaries: Iterable[Path]) -> None:
    """Copy the libraries listed by `ldd` to the same absolute paths, following links."""
    for path in sorted(_linked({str(binary) for binary in binaries})):
        destination = root / path.lstrip("/")
        destination.parent.mkdir(parents=True, exist_ok=True)
        if not destination.exists():
            shutil.copy2(path, destination)


def _linked(binaries: set[str]) -> set[str]:
    ldd = shutil.which("ldd")
    if ldd is None:
        raise SandboxUnavailable(
            "ldd is missing, so the interpreter's shared libraries cannot be found",
            fix="install the C library's tools, or: "
            "toolhop sandbox build --sandbox-base python:3.12-slim",
        )
    # A statically linked extension makes ldd exit with 1; its list is still complete.
    listing = subprocess.run(  # noqa: S603 -- the system's own ldd on the interpreter's files
        [ldd, *sorted(binaries)], capture_output=True, text=True, check=False
    ).stdout
    return set(re.findall(r"(?:=> |^\s+)(/\S+) \(0x", listing, flags=re.MULTILINE))


def _write_tar(root: Path, output: Path) -> None:
    """Pack `root` into an archive, owned by root, readable by all, with fixed times."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = 0
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    with tarfile.open(output, "w") as archive:
        for path in sorted(root.iterdir()):
            archive.add(path, arcname=path.name, filter=plain)


def build_context(base: str) -> bytes:
    """Return a build context that adds the worker to `base`, with python3 in /usr/local."""
    lines = [
        f"FROM {base}",
        # Copied, not run: the base may be of another platform, or have no shell.
        f"COPY worker {WORKER}",
        ENVIRONMENT,
    ]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        files = {f"worker/{name}": content for name, content in worker_files().items()}
        for name, content in {"Dockerfile": "\n".join(lines).encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
