"""What is said of an entry's facts, in the same words by the window and the command line.

Only of facts that are of one kind of entry alone; what they come from is a stranger's, so every
value is checked, and made printable by whoever shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torchkeeper.client.words import say
from torchkeeper.client.words.tongue import Nouns, Text, tr

#: The facts that ``told`` puts into words, by kind; nobody else needs to show them.
WORDED = {
    "aoti_eager": frozenset({"op", "inputs", "library"}),
    "precompile": frozenset(
        {"variants", "graphs", "python", "gpu", "backend", "format", "modules"}
    ),
    "autotune": frozenset({"gpu", "versions", "choices"}),
    "ondisk": frozenset({"prefix", "version"}),
    "code": frozenset({"hashes"}),
}
#: The same, of any kind.
WORDED_OF_ALL = frozenset({"strange"})
#: Triton's is a hash of its sources.
_VERSIONS: dict[str, Text] = {"triton": "Triton key", "cuda": "CUDA", "hip": "ROCm"}
_GUARDS: Nouns = ("set of guards", "sets of guards")
_TIMINGS: Nouns = ("timing", "timings")


class Fact(NamedTuple):
    """A label, its values, and whether they are code or paths rather than words."""

    label: str
    values: list[str]
    fixed: bool = False


def told(kind: str, facts: Mapping[str, object]) -> list[Fact]:
    """The facts of an entry of one kind, in order; none where nothing is known."""
    make = {
        "aoti_eager": _eager,
        "precompile": _precompiled,
        "autotune": _autotuned,
        "ondisk": _stored,
        "code": _vllm,
    }.get(kind)
    # What its pickles name and PyTorch never does (artifacts.named).
    strange = Fact(tr("Strange names"), _texts(facts.get("strange")), fixed=True)
    return [fact for fact in (*(make(facts) if make else ()), strange) if fact.values]


def _eager(facts: Mapping[str, object]) -> list[Fact]:
    library = _text(facts.get("library"))
    there = tr("no") if facts.get("problem") == "library-missing" else tr("yes")
    return [
        Fact(tr("Operator"), _text(facts.get("op")), fixed=True),
        Fact(tr("Inputs"), _texts(facts.get("inputs")), fixed=True),
        Fact(tr("Library"), library, fixed=True),
        Fact(tr("Library exists"), [there] if library else []),
    ]


def _precompiled(facts: Mapping[str, object]) -> list[Fact]:
    return [
        Fact(tr("Variants"), _count(facts.get("variants"), _GUARDS)),
        Fact(tr("Compiled graphs"), _count(facts.get("graphs"))),
        Fact(tr("Backend"), _text(facts.get("backend"))),
        Fact(tr("Format"), _text(facts.get("format")), fixed=True),
        Fact(tr("Needs Python"), _text(facts.get("python"))),
        Fact(tr("Needs GPU"), _text(facts.get("gpu"))),
        Fact(tr("Traced modules"), _texts(facts.get("modules")), fixed=True),
    ]


def _autotuned(facts: Mapping[str, object]) -> list[Fact]:
    versions = facts.get("versions")
    said = versions.items() if isinstance(versions, dict) else ()
    choices = _count(facts.get("choices"), _TIMINGS)
    return [
        Fact(tr("Choices"), choices),
        Fact(tr("System"), _text(facts.get("gpu")) or ([tr("no GPU")] if choices else [])),
        *(
            Fact(tr(_VERSIONS[name]), _text(version), name == "triton")
            for name, version in said
            if name in _VERSIONS
        ),
    ]


def _stored(facts: Mapping[str, object]) -> list[Fact]:
    version, prefix = facts.get("version"), _text(facts.get("prefix"))
    known = isinstance(version, int) and not isinstance(version, bool)
    return [
        Fact(tr("Cache version"), [f"{version:,}"] if known else [tr("unknown")] if prefix else []),
        Fact(tr("Version prefix"), prefix, fixed=True),
    ]


def _vllm(facts: Mapping[str, object]) -> list[Fact]:
    hashes = facts.get("hashes")
    said = hashes if isinstance(hashes, dict) else {}
    labels = (
        ("code", tr("Code hash")),
        ("compiler", tr("Compiler hash")),
        ("config", tr("Config hash")),
    )
    return [Fact(label, _text(said.get(name)), fixed=True) for name, label in labels]


def _text(value: object) -> list[str]:
    return [value] if isinstance(value, str) and value else []


def _texts(value: object) -> list[str]:
    return [x for x in value if isinstance(x, str)] if isinstance(value, list) else []


def _count(value: object, nouns: Nouns | None = None) -> list[str]:
    if not isinstance(value, int) or isinstance(value, bool):
        return []
    return [say.count(value, *nouns) if nouns else f"{value:,}"]
