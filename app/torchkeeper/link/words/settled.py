"""What settings are in an environment or a running process, and what made them so, in words.

The window asks an engine itself and gives what comes to ``environment_from``, ``process_from`` or
``processes_from``; the command line asks with ``of_environment``, ``of_process``, ``processes``.

- ``settings`` of an interpreter's engine: {settings: [Origin], torch, triton, findings: [Finding]}
  (settings/origins.py, held.py).
- ``process_settings {pid}`` of the app's own: the same settings and findings, with {process:
  Process, lost, looked: {kind, main, files, unread: [[file, why]], changed, stopped}} (settings/
  process_origins.py).
- ``processes`` of the app's own: rows of Process (settings/processes.py), and {count, hidden,
  sees}.

What comes over the wire is checked; what makes no sense of it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.engine.wire import Message
from torchkeeper.link.engines.process import Engine
from torchkeeper.link.words import say
from torchkeeper.link.words.problems import printable
from torchkeeper.link.words.tongue import Text, several, tr
from torchkeeper.settings.assigned import CHIEF
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import BY_NAME
from torchkeeper.settings.origins import BYS, Origin, Override
from torchkeeper.settings.processes import Folder, Process

#: Settings that are shown although they are as PyTorch has them: whether there are caches, and
#: where.
MAIN = (
    "TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE",
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE",
)  # fmt: skip

_UNREAD: dict[str, Text] = {
    "missing": "it is not there",
    "unreadable": "it cannot be read",
    "too-large": "it is too large",
    "not-python": "it is no Python that this version knows",
    "too-deep": "it is nested too deeply",
}
_STOPPED: dict[str, Text] = {
    "files": "there are more of them than are looked at",
    "time": "there was no time for the others",
    "stuck": "reading them took too long",
    "crashed": "reading them failed",
}


@dataclass(frozen=True)
class Settled:
    """The settings of an environment or a process.

    origins: one of each setting, in the order of a form. process: None for an environment. kind,
    main, files, unread, changed, stopped: as ``looked`` of ``process_settings``; lost as there.
    """

    origins: list[Origin]
    findings: list[Finding]
    torch: str | None = None
    triton: str | None = None
    process: Process | None = None
    kind: str = "none"
    main: str = ""
    files: int = 0
    unread: list[tuple[str, str]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    stopped: str = ""
    lost: bool = False

    def shown(self, everything: bool = False) -> list[Origin]:
        """Those that are worth a line: MAIN, and all that are not as this torch has them; of
        variables that mean the same the first, and others where they decide.
        """
        return [
            one
            for one in self.origins
            if everything or (CHIEF[one.name] == one.name and (_made(one) or one.name in MAIN))
        ]


@dataclass(frozen=True)
class Running:
    """The processes with torch; hidden and sees as of ``processes``."""

    processes: list[Process]
    hidden: int = 0
    sees: str = "all"


def _made(one: Origin) -> bool:
    return one.by not in ("default", "absent") or bool(one.overrides)


# Asking.


def of_environment(python: str) -> Settled:
    """The settings of an interpreter in this shell. Raises UserError."""
    with Engine(python) as engine:
        return environment_from(engine.call("settings"))


def of_process(pid: int) -> Settled:
    """The settings of a running process. Raises UserError."""
    with Engine() as engine:
        return process_from(engine.call("process_settings", {"pid": pid}))


def processes() -> Running:
    """The running processes of this user that have torch. Raises UserError."""
    rows: list[Any] = []

    def heard(message: Message) -> None:
        rows.extend(message.rows)

    with Engine() as engine:
        result = engine.call("processes", {}, heard)
    return processes_from(rows, result)


# Reading what comes.


def environment_from(told: Mapping[str, Any]) -> Settled:
    """Of the result of ``settings``."""
    origins, findings = _settings(told)
    return Settled(origins, findings, _text(told.get("torch")), _text(told.get("triton")))


def process_from(told: Mapping[str, Any]) -> Settled:
    """Of the result of ``process_settings``."""
    origins, findings = _settings(told)
    process = _process(told.get("process"))
    looked = told.get("looked")
    looked = looked if isinstance(looked, dict) else {}
    unread = [
        (str(one[0]), str(one[1]))
        for one in _list(looked.get("unread"))
        if isinstance(one, (list, tuple)) and len(one) == 2
    ]
    return Settled(
        origins,
        findings,
        process.torch if process else None,
        process.triton if process else None,
        process,
        str(looked.get("kind") or "none"),
        str(looked.get("main") or ""),
        _number(looked.get("files")),
        unread,
        [one for one in _list(looked.get("changed")) if isinstance(one, str)],
        str(looked.get("stopped") or ""),
        told.get("lost") is True,
    )


def processes_from(rows: Iterable[Any], told: Mapping[str, Any]) -> Running:
    """Of the rows and the result of ``processes``."""
    found = [one for row in rows if (one := _process(row))]
    sees = "own" if told.get("sees") == "own" else "all"
    return Running(found, _number(told.get("hidden")), sees)


def _settings(told: Mapping[str, Any]) -> tuple[list[Origin], list[Finding]]:
    rows = [row for row in _list(told.get("settings")) if isinstance(row, dict)]
    found = [row for row in _list(told.get("findings")) if isinstance(row, dict)]
    origins = [origin_from(row) for row in rows if row.get("name") in BY_NAME]
    return origins, [Finding.from_json(row) for row in found]


def origin_from(row: Mapping[str, Any]) -> Origin:
    """An Origin as it came; its name is a setting's."""
    overrides = [one for one in _list(row.get("overrides")) if isinstance(one, dict)]
    by = row.get("by")
    return Origin(
        str(row["name"]),
        _text(row.get("value")),
        by if by in BYS else "unknown",
        str(row.get("variable") or ""),
        str(row.get("where") or ""),
        row.get("computed") is True,
        row.get("sure") is True,
        str(row.get("seen") or ""),
        tuple(map(_override, overrides)),
        _text(row.get("otherwise")),
        row.get("cut") is True,
    )


def _override(row: Mapping[str, Any]) -> Override:
    wins = row.get("wins")
    return Override(
        str(row.get("where") or ""),
        str(row.get("how") or ""),
        _text(row.get("value")),
        row.get("computed") is True,
        wins if isinstance(wins, bool) else None,
    )


def _process(row: Any) -> Process | None:
    if not isinstance(row, dict) or not isinstance(row.get("pid"), int):
        return None
    started = row.get("started")
    return Process(
        row["pid"],
        str(row.get("name") or "?"),
        list(map(str, _list(row.get("command")))),
        float(started) if isinstance(started, (int, float)) else None,
        str(row.get("python") or ""),
        str(row.get("cwd") or ""),
        row.get("loaded") is True,
        _text(row.get("torch")),
        _text(row.get("triton")),
        [_folder(one) for one in _list(row.get("folders")) if isinstance(one, dict)],
        _number(row.get("workers")),
        row.get("elsewhere") is True,
    )


def _folder(row: Mapping[str, Any]) -> Folder:
    path, kind, why, seen = (str(row.get(name) or "") for name in ("path", "kind", "why", "seen"))
    return Folder(path, kind, why, _number(row.get("files")), seen)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


# Words.


def value_words(one: Origin) -> str:
    """A value as a person reads it: "1"; "0, else 1" where nobody can tell which."""
    if one.by == "absent":
        return "-"
    value = tr("computed") if one.computed else printable(one.value or tr("not set"))
    if one.sure or (one.otherwise == one.value and not one.computed):
        return value
    otherwise = printable(one.otherwise or tr("not set"))
    return tr("{value}, else {otherwise}", value=value, otherwise=otherwise)


def by_words(one: Origin, settled: Settled) -> str:
    """What made a value so: "variable", "default of torch 2.13.0", "code: serve.py:12"."""
    if one.by == "variable":
        if one.variable in ("", one.name):
            return tr("variable")
        return tr("variable {name}", name=one.variable)
    if one.by == "default":
        # Under torch.compile the folder of Triton's kernels is torch's to choose.
        own = BY_NAME[one.name].source.startswith("triton/") and one.name != "TRITON_CACHE_DIR"
        of = "Triton" if own else "torch"
        version = settled.triton if of == "Triton" else settled.torch
        of = f"{of} {printable(version, 60)}" if version else of
        return tr("default of {of}", of=of)
    if one.by == "absent":
        return tr("not in this version")
    if one.by == "code":
        where = printable(one.where)
        if not where and one.seen:
            where = tr("it uses {folder}", folder=printable(one.seen))
        if not where:
            return tr("code") if one.sure else tr("perhaps code")
        return tr("code: {where}" if one.sure else "perhaps code: {where}", where=where)
    return tr("unknown")


#: What code does to a setting, by how it does it.
_HOW: dict[str, Text] = {
    "unset": "{where} unsets the variable",
    "fresh": "{where} uses a new folder for a while",
    "options": "{where} sets it for one compile, to {value}",
    "patched": "{where} sets it for a while, to {value}",
    "variable-default": "{where} sets the variable where there is none, to {value}",
    "": "{where} sets it, to {value}",
}


def override_words(one: Override) -> str:
    """Of something in code that sets a setting: what, and whether it counts."""
    value = tr("something computed") if one.computed else printable(one.value or tr("none"))
    what = tr(_HOW.get(one.how, _HOW[""]), where=printable(one.where), value=value)
    if one.wins is None:
        return tr("{what}; perhaps", what=what)
    return what if one.wins else tr("{what}; without effect", what=what)


def unseen(settled: Settled) -> list[str]:
    """Sentences on what of a process was not looked at, so that it may set more."""
    if settled.process is None:
        return []
    told = []
    if settled.lost:
        told.append(tr("It has written over its environment: no variable of it is to be seen."))
    if settled.kind == "none":
        told.append(tr("Which program it runs is not to be seen, so its code was not looked at."))
    elif not settled.files and not settled.unread and not settled.stopped:
        told.append(tr("Its program is no source of its own, so no code was looked at."))
    for file, why in settled.unread[:5]:
        because = tr(_UNREAD[why]) if why in _UNREAD else why
        told.append(tr("{file} was not looked at: {why}.", file=printable(file), why=because))
    for file in settled.changed[:5]:
        told.append(
            tr(
                "{file} was changed since the process was started, which runs what it was.",
                file=printable(file),
            )
        )
    if len(settled.unread) > 5:
        more = len(settled.unread) - 5
        told.append(tr("{n} more files were not looked at.", n=more))
    if settled.stopped in _STOPPED:
        told.append(
            tr(
                "Only {files} of its own code were looked at: {why}.",
                files=say.count(settled.files, "file", "files"),
                why=tr(_STOPPED[settled.stopped]),
            )
        )
    if settled.process.loaded and settled.torch is None:
        told.append(
            tr("Which version of torch it has loaded is not to be seen, or was replaced since.")
        )
    if not settled.process.loaded:
        told.append(tr("It has not loaded torch yet; this is what it would find."))
    return told


def hidden_words(running: Running) -> str:
    """What cannot be known of other processes, or nothing."""
    if running.sees == "own":
        return tr("Processes of other users are not to be seen.")
    if not running.hidden:
        return ""
    return several(
        running.hidden,
        "{n} process was not looked into, being another user's.",
        "{n} processes were not looked into, being another user's.",
    )
