"""What each command prints with --json: the fields of its lines, of the types that the engine
sends, and those that a command adds. The manual (``resources/manual/json.md``) is made of it, and
the tests compare it with what is printed. No command loads it.
"""

from __future__ import annotations

import collections.abc
import textwrap
import typing
from collections.abc import Mapping, MutableMapping
from typing import Any, NamedTuple

from torchkeeper.artifacts.shapes import EntryRow, Fault, Sized
from torchkeeper.client.kept.history import Past, Running
from torchkeeper.client.kept.runs import Run
from torchkeeper.client.overviewing import Totals
from torchkeeper.client.signers import Signer
from torchkeeper.engine.messages import bundles, compiling, dead, doctor, entries, places, verdicts
from torchkeeper.engine.messages.bundles import Counts, SignatureResult, Space
from torchkeeper.engine.messages.findings import CellFinding, LeftFinding
from torchkeeper.settings.known import Setting
from torchkeeper.settings.shapes import FindingTold, ProcessTold
from torchkeeper.stores.shapes import Orphans, ReceiptRow, Users
from torchkeeper.verdict.probed import Env, GraphTold
from torchkeeper.warm.shapes import VerifiedGraph

#: Types by the names of fields, or by their own.
_Types = MutableMapping[str, Any]


class Line(NamedTuple):
    """A kind of line. what: when it is printed. of: the types whose fields it has. more: other
    fields, or of another type, each with its type. without: fields of the types that it has not.
    inside: the field that holds all of this; "" where the line itself does. optional: fields that
    may be missing, besides those that may in the types.
    """

    what: str
    of: tuple[Any, ...] = ()
    more: Mapping[str, Any] = {}
    without: tuple[str, ...] = ()
    inside: str = ""
    optional: tuple[str, ...] = ()

    def fields(self) -> Mapping[str, Any]:
        """The type of each field."""
        found: _Types = {}
        for one in self.of:
            found.update(typing.get_type_hints(one))
        return {name: kind for name, kind in {**found, **self.more}.items()
                if name not in self.without}  # fmt: skip

    def always(self) -> frozenset[str]:
        """The fields that each such line has."""
        may = {name for one in self.of for name in getattr(one, "__optional_keys__", ())}
        return frozenset(self.fields()) - (may - self.more.keys()) - {*self.optional}


def _result(*of: Any, what: str = "last", without: tuple[str, ...] = (), **more: Any) -> Line:
    return Line(what, of, more, without, "result")


_LEFT = list[LeftFinding]
_OWNERS = list[dict[str, object]]
_WORDS = {"what": str, "why": str, "remedy": str}
_LEFT_OUT = list[dict[str, str]]
#: Of a bundle: who of its entries is of use here, and who says so; None where nobody was asked.
_JUDGED: Mapping[str, Any] = {"verdicts": dict[str, int] | None, "made_by": dict[str, int] | None,
           "judged_by": dict[str, str] | None}  # fmt: skip

_OBJECT = dict[str, object]
_COMPARED: Mapping[str, Any] = {
    "exists": int, "entries": int, "bytes": int, "files": int, "new": Counts, "there": Counts,
    "differs": Counts, "into": str, "compared": list[_OBJECT], "left": _LEFT, **_JUDGED,
}  # fmt: skip
_COULD_GO = {"place": str, "reason": str, "why": Fault | None, "command": str}
_JOB = "each job that has ended; with ID that one, with its log"

#: By the command, as it is typed; an error is printed by all.
PRINTED: dict[str, tuple[Line, ...]] = {
    "places": (
        Line("each place", (places.PlacesRow,), {"read_only": bool, "owners": _OWNERS},
             optional=("owners",)),
        _result(what="with --protect and --unprotect", path=str, read_only=bool, changed=bool,
                protected=list[str]),
    ),
    "ls": (Line("each entry", (EntryRow,)),),
    "du": (
        Line("each kind, and the trash", (places.DuKind,)),
        Line("orphans, if any", (Orphans,), {"kind": str}),
        Line("the total", (places.DuKind,),
             {"others": int, "kernels_maybe": int, "place_disk_bytes": int},
             optional=("others", "kernels_maybe", "place_disk_bytes")),
        Line("with --filter: each kind, and the total", (places.SumKind,)),
    ),
    "overview": (
        Line("how much of a place is alike", (Sized,),
             {"place": str, "kind": str, "torch": str | None, "age": str | None,
              "verdict": str | None, "compile_s": float, "timed": int}),
        Line("how much of a place could go, and why", (Sized,), _COULD_GO),
        Line("each place", (Sized,),
             {"place": str, "apart_bytes": int, "trash_bytes": int, "free_bytes": int | None,
              "total_bytes": int | None, "left_out": bool, "problem": Fault | None}),
        _result(Totals, content_bytes=int, reclaimable=_OBJECT, environment=_OBJECT | None,
                environments=list[_OBJECT]),
    ),
    "show": (Line("each entry of the key", (EntryRow, entries.Shown),
                  {"file_list": list[entries.EntryFile], "files": int}, without=("entry",)),),
    "check": (
        Line("each entry", (verdicts.CheckRow,)),
        _result(verdicts.CheckResult, owners=_OWNERS | None, python=str, torch=str | None,
                failed_on=dict[str, int]),
    ),
    "explain": (
        Line("one key: each of its entries", (verdicts.CheckRow,),
             {"python": str, "environment": str | None}),
        Line("two: how they differ", (verdicts.Explained,), {"sentence": str | None}),
        Line("with --trace: each graph", (GraphTold,), {"why": str | None}),
        _result(verdicts.ExplainTraceResult, what="with --trace: the last",
                aotautograd=list[_OBJECT]),
    ),
    "env": (
        Line("each interpreter that was asked", (Env,), {"interpreter": str}),
        Line("each that was only found", (),
             {"interpreter": str, "started": bool, "found": str, "writers": list[_OBJECT]}),
        _result(what="with --remove", removed=str),
    ),
    "warm": (
        Line("each cell", (CellFinding,), {"uncached": list[_OBJECT]}, inside="cell",
             optional=("uncached",)),
        _result(compiling.WarmResult, left=_LEFT, bundle=_OBJECT | None,
                published=_OBJECT | None),
        Line("with --dry-run: each cell", (compiling.CellsRow,)),
        _result(compiling.CellsResult, what="with --dry-run: the last"),
    ),
    "recipe check": (
        Line("each recipe", (), {"file": str, "problem": str | None, "faults": list[_OBJECT]}),
        _result(recipes=int, wrong=int),
    ),
    **dict.fromkeys(
        ("recipe list", "recipe add", "recipe remove"),
        (Line("each recipe", (), {"path": str, "exists": bool}),),
    ),
    "recipe new": (_result(written=list[str], there=list[str]),),
    "verify": (
        Line("each graph", (VerifiedGraph,)),
        _result(compiling.VerifyResult, place=str, python=str, left=_LEFT),
    ),
    "prepare": (_result(compiling.PrepareResult, left=_LEFT),),
    "runs": (
        Line("each run", (Run,), optional=("graphs",)),
        _result(runs=int, damaged=int, totals=dict[str, float]),
        _result(what="with --forget", forgotten=int),
    ),
    "jobs": (
        Line("each job that is under way", (Running,)),
        Line(_JOB, (Past,), {"error": dict[str, str] | None}, optional=("log",)),
        _result(jobs=int, running=int, damaged=int),
        _result(what="with --forget", forgotten=int),
    ),
    "copy": (_result(bundles.CopyResult, left=_LEFT, leaks=_OBJECT | None),),
    "export": (
        Line("the last", (bundles.ExportResult,),
             {"leaks": _OBJECT, "left": _LEFT, "signature": SignatureResult}, ("held",),
             "result", ("signature",)),
        Line("with --dry-run", (bundles.PlanExportResult,),
             {"leaks": _OBJECT, "left": _LEFT, "output": str, "what": str, "space": Space},
             inside="result"),
        Line("where secrets keep it from being written", (), {"leaks": _OBJECT}),
    ),
    "import": (
        _result(bundles.ImportResult, left=_LEFT, env=str | None),
        Line("with --dry-run: each entry", (EntryRow,),
             {"outcome": str | None, "into_path": str | None}),
        _result(entries.CompareResult, what="with --dry-run: the last", **_COMPARED),
        Line("of what was not signed: what would be done, before it is", (entries.CompareResult,),
             _COMPARED, inside="compared"),
    ),
    "inspect": (
        Line("each entry", (EntryRow,)),
        _result(places.ListResult, left=_LEFT, leaks=_OBJECT, runnable=_OBJECT, **_JUDGED),
    ),
    "sign": (_result(file=str, signature=SignatureResult),),
    "signers list": (_result(signers=list[_OBJECT], required=bool, file=str),),
    "signers add": (_result(Signer),),
    "signers remove": (_result(removed=list[_OBJECT], still=list[_OBJECT]),),
    "signers require": (_result(required=bool),),
    "purge": (
        Line("with --dry-run: each entry that goes", (dead.PlanPurgeRow,)),
        _result(dead.PurgeResult, left=_LEFT, in_use=Users),
        _result(dead.PlanPurgeResult, what="with --dry-run: the last", without=("plan",),
                left=_LEFT, in_use=Users),
        Line("with --suggest: how much of a place could go, and why", (Sized,), _COULD_GO),
        _result(Sized, what="with --suggest: the last", environments=list[_OBJECT],
                unasked=Fault | None),
    ),
    "undo": (_result(dead.UndoResult, left=_LEFT),),
    "trash": (
        Line("each purge", (ReceiptRow,)),
        _result(dead.TrashResult),
        _result(dead.EmptyTrashResult, what="with --empty"),
    ),
    "recover": (_result(dead.RecoverResult),),
    "server": (Line("the server", (places.ServerResult,), {"owners": _OWNERS | None}),),
    "ttl": (_result(places.TtlResult, left=_LEFT),),
    "doctor": (
        Line("each finding", (FindingTold,), {"check": str, **_WORDS}),
        Line("with --fix: each fix", (),
             {"fix": str, "code": str, "done": bool, "place": str | None, "will": str,
              "gone": bool | None}),
        _result(doctor.DiagnoseResult, worst=str | None),
    ),
    "config list": (
        Line("each profile", (),
             {"profile": str, "file": str, "settings": int | None, "about": str,
              "worst": str | None, "problem": str | None}),
        _result(profiles=int, damaged=int, folder=str),
    ),
    "config settings": (
        Line("each setting", (Setting,), {"default": str | None, "is_set": bool}),
        _result(settings=int),
    ),
    "config show": (
        Line("each setting", (), {"name": str, "value": str, "masked": bool}),
        _result(profile=str, about=str, settings=int, left=_LEFT_OUT),
    ),
    "config check": (
        Line("each finding", (FindingTold,), _WORDS),
        _result(profile=str, settings=int, findings=int, left=_LEFT_OUT, worst=str | None),
    ),
    "config export": (
        _result(profile=str, format=str, file=str | None, notes=list[str],
                findings=list[_OBJECT], left=_LEFT_OUT, text=str | None),
    ),
    "config set": (
        _result(profile=str, settings=dict[str, str], new=bool, findings=list[_OBJECT]),
    ),
    "config import": (
        _result(profile=str, file=str, settings=dict[str, str], left=_LEFT_OUT,
                findings=list[_OBJECT]),
    ),
    "config processes": (
        Line("each process", (ProcessTold,)),
        _result(count=int, not_loaded=int, hidden=int, sees=str),
    ),
    "config copy": (_result(profile=str, of=str, file=str),),
    "config rename": (_result(profile=str, was=str),),
    "config remove": (_result(removed=list[str]),),
    "install-desktop": (
        _result(root=str, dry_run=bool, command=list[str], written=list[str],
                unchanged=list[str], removed=list[str], left=dict[str, str], pictures=bool,
                ran=list[str], missing=list[str], failed=dict[str, str]),
    ),
}  # fmt: skip
#: What ends a command early, on its last line.
ERROR = Line("what ended it", (), dict.fromkeys(("code", "what", "why", "remedy"), str),
             inside="error")  # fmt: skip


_SCALARS = {str: "text", bool: "true or false", int: "whole number", float: "number",
            type(None): "null", object: "anything"}  # fmt: skip


def _said(kind: Any, types: _Types) -> str:
    """A type in words; those with fields are put into ``types``, by their names."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return " or ".join(f"“{one}”" for one in inner)
    if type(None) in inner:
        rest = [_said(one, types) for one in inner if one is not type(None)]
        return " or ".join([*rest, "null"])
    if origin in (list, collections.abc.Sequence):
        return f"list of {_said(inner[0], types)}"
    if origin is tuple:
        return "list"
    if typing.is_typeddict(kind):
        types[kind.__name__] = kind
        return str(kind.__name__)
    return "object"


def _row(fields: Mapping[str, Any], always: frozenset[str], types: _Types) -> str:
    return ", ".join(f"`{name}`{'' if name in always else '?'} {_said(kind, types)}"
                     for name, kind in fields.items())  # fmt: skip


def _item(text: str) -> str:
    """An item of a list, in Markdown."""
    return textwrap.fill(f"- {text}", 100, subsequent_indent="  ", break_on_hyphens=False)


def page() -> str:
    """The lines of each command in Markdown, and behind them the types of their fields."""
    types: _Types = {}
    said: list[str] = []
    for command, lines in (*PRINTED.items(), ("any command", (ERROR,))):
        said += [f"## {command}", ""]
        for line in lines:
            inside = f", in `{line.inside}`" if line.inside else ""
            what = line.what[0].upper() + line.what[1:]
            said += [_item(f"{what}{inside}: {_row(line.fields(), line.always(), types)}")]
        said += [""]
    said += ["## Types of fields", ""]
    told: _Types = {}
    while left := [name for name in sorted(types) if name not in told]:
        for name in left:
            told[name] = types[name]
            _row(typing.get_type_hints(types[name]), frozenset(), types)
    for name, kind in sorted(told.items()):
        always = frozenset(kind.__required_keys__)
        said += [_item(f"{name}: {_row(typing.get_type_hints(kind), always, types)}")]
    return "\n".join(said)
