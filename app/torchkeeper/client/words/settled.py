"""What settings are in an environment or a running process, and what made them so, in words. The
window asks an engine itself and gives what comes to ``environment_from``, ``process_from`` or
``processes_from``, which leaves out what is no row; the command line asks with ``of_environment``,
``of_process``, ``processes``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Nouns, Text, several, tr
from torchkeeper.engine import protocol
from torchkeeper.settings.assigned import CHIEF
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import BY_NAME
from torchkeeper.settings.origins import BYS, Origin, Override
from torchkeeper.settings.processes import Folder, Process

if TYPE_CHECKING:
    from torchkeeper.engine.messages import verdicts
    from torchkeeper.settings.shapes import FindingTold, OriginTold, ProcessTold

_Kind = TypeVar("_Kind", Folder, Origin, Override, Process)

#: What is told of a process's sources that were looked at.
_LOOKED = ("kind", "main", "files", "unread", "changed", "stopped")
#: Settings that are shown though they are PyTorch's: whether there are caches, and where.
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
_CHANGED: Text = "{file} was changed since the process was started, which runs what it was."
_STOPPED: dict[str, Text] = {
    "files": "there are more of them than are looked at",
    "time": "there was no time for the others",
    "stuck": "reading them took too long",
    "crashed": "reading them failed",
}


@dataclass(frozen=True)
class Settled:
    """The settings of an environment or a process (else None). origins: one of each setting, in the
    order of a form. kind to stopped, lost: as ``looked`` and ``process_settings`` have it.
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
        """Those worth a line: MAIN, and all not as torch has them; of alike variables one."""

        def worth(one: Origin) -> bool:
            made = one.by not in ("default", "absent") or bool(one.overrides)
            return CHIEF[one.name] == one.name and (made or one.name in MAIN)

        return [one for one in self.origins if everything or worth(one)]


@dataclass(frozen=True)
class Running:
    """The processes with torch; hidden and sees as of ``processes``."""

    processes: list[Process]
    hidden: int = 0
    sees: str = "all"


def of_environment(python: str) -> Settled:
    """The settings of an interpreter in this shell. Raises UserError."""
    with Engine(python) as engine:
        return environment_from(engine.call(protocol.SETTINGS))


def of_process(pid: int) -> Settled:
    """The settings of a running process. Raises UserError."""
    with Engine() as engine:
        return process_from(engine.call(protocol.PROCESS_SETTINGS, {"pid": pid}))


def processes() -> Running:
    """The running processes of this user that have torch. Raises UserError."""
    rows: list[Any] = []
    with Engine() as engine:
        result = engine.call(protocol.PROCESSES, {}, lambda message: rows.extend(message.rows))
    return processes_from(rows, result)


def environment_from(told: verdicts.SettingsResult) -> Settled:
    origins, findings = _settings(told["settings"], told["findings"])
    return Settled(origins, findings, told["torch"], told["triton"])


def process_from(told: verdicts.ProcessSettingsResult) -> Settled:
    origins, findings = _settings(told["settings"], told["findings"])
    process = _process(told["process"])
    looked: Any = {name: one for name, one in told["looked"].items() if name in _LOOKED}
    of = process.torch, process.triton, process
    return Settled(origins, findings, *of, lost=told["lost"], **looked)


def processes_from(rows: Iterable[object], told: verdicts.ProcessesResult) -> Running:
    from torchkeeper.engine.messages.verdicts import ProcessesRow

    fitting: list[Any] = [row for row in rows if not protocol.misfit(ProcessesRow, row, "row")]
    return Running(list(map(_process, fitting)), told["hidden"], told["sees"])


def _settings(
    settings: list[OriginTold], findings: list[FindingTold]
) -> tuple[list[Origin], list[Finding]]:
    origins = []
    for row in settings:
        if row["name"] in BY_NAME:  # another version may know more of them
            overrides = tuple(_made(Override, one) for one in row["overrides"])
            by = row["by"] if row["by"] in BYS else "unknown"
            origins.append(_made(Origin, {**row, "by": by, "overrides": overrides}))
    return origins, list(map(Finding.from_json, findings))


def _process(row: ProcessTold) -> Process:
    return _made(Process, {**row, "folders": [_made(Folder, one) for one in row["folders"]]})


def _made(kind: type[_Kind], row: Mapping[str, object]) -> _Kind:
    """A row as the dataclass of its fields; another version may tell more."""
    told: Any = {one.name: row[one.name] for one in fields(kind)}
    return kind(**told)


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
        own = one.variable in ("", one.name)
        return tr("variable" if own else "variable {name}", name=one.variable)
    if one.by == "default":
        # Under torch.compile the folder of Triton's kernels is torch's to choose.
        own = BY_NAME[one.name].source.startswith("triton/") and one.name != "TRITON_CACHE_DIR"
        of, version = ("Triton", settled.triton) if own else ("torch", settled.torch)
        return tr("default of {of}", of=f"{of} {printable(version, 60)}" if version else of)
    if one.by == "absent":
        return tr("not in this version")
    if one.by == "code":
        used = tr("it uses {folder}", folder=printable(one.seen)) if one.seen else ""
        if not (where := printable(one.where) or used):
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


_HIDDEN: Nouns = (
    "Torchkeeper cannot look into {n} process of another user.",
    "Torchkeeper cannot look into {n} processes of other users.",
)


def unseen(settled: Settled) -> list[str]:
    """Sentences on what of a process was not looked at, so that it may set more."""
    if settled.process is None:
        return []
    told = []
    if settled.lost:
        told.append(tr("It has overwritten its variables: Torchkeeper sees none of them."))
    if settled.kind == "none":
        told.append(tr("Torchkeeper cannot see which program it runs, nor look at its code."))
    elif not settled.files and not settled.unread and not settled.stopped:
        told.append(tr("Its program is not a source file, so Torchkeeper looked at no code."))
    for file, why in settled.unread[:5]:
        because = tr(_UNREAD[why]) if why in _UNREAD else why
        told.append(tr("{file} was not looked at: {why}.", file=printable(file), why=because))
    for file in settled.changed[:5]:
        told.append(tr(_CHANGED, file=printable(file)))
    if (more := len(settled.unread) - 5) > 0:
        told.append(tr("{n} more files were not looked at.", n=more))
    if settled.stopped in _STOPPED:
        files, why = say.count(settled.files, "file", "files"), tr(_STOPPED[settled.stopped])
        told.append(tr("Only {files} of its own code were looked at: {why}.", files=files, why=why))
    if not settled.process.loaded:
        told.append(tr("It has not loaded torch yet; this is what it would find."))
    elif settled.torch is None:
        told.append(
            tr("Torchkeeper does not see which torch it has loaded: its files may have changed.")
        )
    return told


def hidden_words(running: Running) -> str:
    """What cannot be known of other processes, or nothing."""
    if running.sees == "own":
        return tr("Processes of other users are not to be seen.")
    return several(running.hidden, *_HIDDEN) if running.hidden else ""
