"""Describe runs, certificates and made items in sentences for a paper's methods section.

All facts come from the files themselves: manifests, certificates, settings and books.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

from toolhop_agents.compare.conditions import DEFAULTS, FORKED_FROM, NO_RESULT, OF_MODELS, PAIRED
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.settings import TOLD_SETTINGS
from toolhop_env.attempt import counting
from toolhop_env.benchmarks import named
from toolhop_env.official import Manifest, settings_of, text_of
from toolhop_env.runs.store import RunStore
from toolhop_sandbox.outcome import JSON
from toolhop_tools.blind.file import Readings, path_beside
from toolhop_tools.certify.file import read
from toolhop_tools.construct.stages import Taken
from toolhop_tools.errors import counted

TOLD = frozenset(
    {
        "agent", "model", "base_url", "feedback", "call_format", "turn_limit", "seed", "policy",
        "tool_timeout_s", "tool_memory_mib", "perturbation", "forked_from", "temperature",
        "max_tokens", "reasoning_effort",
    }
)  # fmt: skip
"""Settings that have a sentence of their own, whatever their values."""
COMPARED = (
    "Runs are compared in pairs of episodes of one item. Shares with one pair an item are tested "
    "by the exact McNemar test, with Tango's score interval; other figures by permutation of whole "
    "items, with a bootstrap over items. P-values are two-sided and corrected by Holm's procedure."
)
"""Description of `toolhop compare` and `toolhop ablate` (docs/comparing.md)."""
FORKED = (
    "Episodes were forked where the levels begin to differ (feedback: at the first failed call): a "
    "branch keeps the turns up to there, reads what its own level shows of them, and is "
    "played to its end."
)
"""Description of an arm with a name such as ``detailed-then-minimal`` (docs/ablation.md)."""

Value: TypeAlias = Callable[[Manifest], JSON]


def methods(runs: Sequence[tuple[str, RunStore]]) -> str:
    """Return one paragraph about a run, or about the named arms of an ablation."""
    return " ".join(_sentences(runs))


def _sentences(runs: Sequence[tuple[str, RunStore]]) -> Iterator[str]:
    stores = [store for _, store in runs]
    manifests: list[Manifest] = [store.manifest for store in stores]

    def of(value: Value) -> str:
        """Put a value into words, or the values of all arms if they differ."""
        return " or ".join(dict.fromkeys(text_of(value(manifest)) for manifest in manifests))

    def setting(name: str) -> str:
        return of(lambda manifest: {**DEFAULTS, **settings_of(manifest)}.get(name))

    def part(group: str, name: str) -> str:
        return of(lambda manifest: (manifest.get(group) or {}).get(name))

    first = {**DEFAULTS, **settings_of(manifests[0])}
    data = manifests[0].get("data", {})
    kinds = dict.fromkeys(str(manifest.get("benchmark")) for manifest in manifests)
    benchmark = " and ".join(named(kind).title for kind in kinds)
    epochs = f", {setting('epochs')} times each" if setting("epochs") != "1" else ""
    played = of(lambda manifest: len(manifest.get("data", {}).get("played") or ()))
    made = f", made by generator {data['generator']}" if "generator" in data else ""
    yield (
        f"{played} of the {data.get('items')} items of {data.get('name')} ({benchmark}{made}; "
        f"SHA-256 of the data {str(data.get('digest'))[:16]}) were played with toolhop-env "
        f"{part('versions', 'toolhop-env')}{epochs}."
    )
    modes = of(lambda manifest: " and ".join(settings_of(manifest).get("modes") or ()))
    yield (
        f"{_player(first, setting)} in mode {modes}, with {part('data', 'tool_order')} tool order, "
        f"{setting('call_format')} calls and at most {setting('turn_limit')} turns, seed "
        f"{setting('seed')}."
    )
    if first.get("model"):
        clients = " and ".join(f"{name} {part('versions', name)}" for name in ("openai", "litellm"))
        yield (
            f"Temperature: {_left(setting('temperature'))}; tokens a reply: "
            f"{_left(setting('max_tokens'))}; reasoning effort: "
            f"{_left(setting('reasoning_effort'))}; prompts: {of(lambda one: one.get('prompt'))}; "
            f"clients {clients}."
        )
    yield f"Failed calls were answered with {setting('feedback')} feedback."
    if any(settings_of(one).get(FORKED_FROM) for one in manifests):
        yield FORKED
    yield (
        f"Tools ran in a sandbox ({part('sandbox', 'kind')}, Python {part('sandbox', 'python')}, "
        f"policy {setting('policy')}) with at most {setting('tool_timeout_s')} s and "
        f"{setting('tool_memory_mib')} MiB a call."
    )
    others = [
        f"{name} {setting(name)}"
        for name in first
        if name
        not in TOLD | NO_RESULT | PAIRED | (frozenset() if first.get("model") else OF_MODELS)
        and setting(name) != text_of(DEFAULTS.get(name))
    ]
    if others:
        yield f"Other settings that are not the defaults: {'; '.join(others)}."
    finished, errored = 0, 0
    for store in stores:
        for attempt in counting(store.attempts()):
            finished += attempt.score is not None
            errored += attempt.score is None
    yield (
        f"{counted(finished, 'episode')} were finished; {errored} ended in a fault of the harness "
        "and are in no figure."
    )
    if len(stores) > 1:
        yield f"The arms are {', '.join(arm for arm, _ in runs)}. {COMPARED}"


def methods_of_certificates(path: Path) -> str:
    """Return one paragraph about a file of certificates and the readings beside it.

    Raises:
        CertificateError: the file cannot be read, or is empty.
        ReadingsError: the readings cannot be read.
    """
    known = {one.item: one for one in read(path)}
    bases = [asdict(one.basis) for one in known.values()]
    basis = {name: " or ".join(dict.fromkeys(text_of(one[name]) for one in bases))
             for name in bases[0]}  # fmt: skip
    text = (
        f"`toolhop certify` (version {basis['version']} of its search, seed {basis['seed']}) "
        f"searched for the calls that give the gold answers of {counted(len(known), 'item')}, with "
        f"at most {basis['executions']} calls a hop of {basis['wall_s']} s and "
        f"{basis['memory_mib']} MiB each, policy {basis['policy']}, and {basis['audit']} calls "
        f"with other values: {_counts(one.verdict for one in known.values())}."
    )
    if made := Counter(one.generator for one in known.values() if one.generator):
        versions = " or ".join(map(str, made))
        text += (
            f" {counted(made.total(), 'item')} come from generator {versions} of worlds, whose "
            "chains are right by construction and were executed; there the search has no say."
        )
    readings = [one for name, one in Readings(path_beside(path)).by_item.items() if name in known]
    if readings:
        asked = " or ".join(dict.fromkeys(_list(one.readers.items()) for one in readings))
        text += (
            f" Blind readers ({asked}) planned the calls of {counted(len(readings), 'item')}: "
            f"{_counts(one.status for one in readings)}."
        )
    return text


def methods_of_made(folder: Path) -> str:
    """Return one paragraph about items made by `toolhop construct`, and their certificates.

    Raises:
        FolderError: the settings or books cannot be read.
        CertificateError: the certificates cannot be read.
    """
    settings, books = folders.read_settings(folder), folders.read_books(folder)
    took = Taken.of(books)
    own = [(name, settings.get(name)) for name in TOLD_SETTINGS]
    given = [(name, value) for name, value in own if value not in (None, "", [])]
    text = (
        f"`toolhop construct` tried {counted(len(books), 'seed')} and accepted "
        f"{sum(book['accepted'] for book in books)}: a model wrote each part, and every part was "
        f"checked and run. The settings were {_list(given)}; all replies "
        f"({took.replies:,}) took {took.tokens:,} tokens."
    )
    certificates = folder / folders.CERTIFICATES
    if certificates.is_file() and certificates.stat().st_size:
        text += f" {methods_of_certificates(certificates)}"
    return text


def _counts(values: Iterable[str]) -> str:
    return ", ".join(f"{count} {value}" for value, count in Counter(values).most_common())


def _list(values: Iterable[tuple[str, object]]) -> str:
    return "; ".join(f"{name} {text_of(value)}" for name, value in values)


def _player(settings: Mapping[str, JSON], setting: Callable[[str], str]) -> str:
    if settings.get("model"):
        place = f" at {setting('base_url')}" if settings.get("base_url") else ""
        return f"The model {setting('model')}{place} played"
    return f"The scripted agent {setting('agent')}, which asks no model, played"


def _left(value: str) -> str:
    return "left to the provider" if value == "none" else value
