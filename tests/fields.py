"""What each command prints with --json: the fields of its lines, of the types that the engine
sends, and those that a command adds. The manual (``resources/manual/json.md``) is made of it, and
the tests compare it with what is printed. No command loads it.
"""

from __future__ import annotations

import collections.abc
import json
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

from torchkeeper.artifacts.shapes import Amount, EntryRow, Fault, Private, Secret, Sized
from torchkeeper.cli.contract import schema_of
from torchkeeper.cli.telling import Uncached
from torchkeeper.cli.vllm import RankTold, TreeTold
from torchkeeper.client.kept.history import Past, Running
from torchkeeper.client.kept.runs import Run
from torchkeeper.client.overviewing import Totals
from torchkeeper.client.signers import Signer
from torchkeeper.engine.messages import (
    bundles,
    compiling,
    dead,
    doctor,
    entries,
    fleet,
    places,
    verdicts,
)
from torchkeeper.engine.messages.bundles import Counts, SignatureResult
from torchkeeper.engine.messages.findings import LeftFinding, VariantFinding
from torchkeeper.engine.protocol import misfit
from torchkeeper.fleet.standing import Standing
from torchkeeper.settings.known import Setting
from torchkeeper.settings.shapes import FindingTold, LookedTold, OriginTold, ProcessTold
from torchkeeper.stores.shapes import Last, Orphans, Owned, ReceiptRow, Space, Users, Writer
from torchkeeper.verdict.probed import AotTold, CauseTold, Env, GraphTold, KeyFactorTold
from torchkeeper.warm.shapes import Found, LookedUp, VerdictOfVariant, Verification, WarmVariant

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
        for name, kind in self.more.items():
            inner = typing.get_args(kind)
            found[name] = inner[0] if typing.get_origin(kind) is typing.NotRequired else kind
        return {name: kind for name, kind in found.items() if name not in self.without}

    def always(self) -> frozenset[str]:
        """The fields that each such line has."""
        may = {name for one in self.of for name in getattr(one, "__optional_keys__", ())}
        may -= self.more.keys()
        may |= {name for name, kind in self.more.items()
                if typing.get_origin(kind) is typing.NotRequired}  # fmt: skip
        return frozenset(self.fields()) - may - {*self.optional}


def _result(*of: Any, what: str = "last", without: tuple[str, ...] = (), **more: Any) -> Line:
    return Line(what, of, more, without, "result")


#: What makes a type of fields that are not known before; mypy knows no such.
_TypedDict: Any = typing.TypedDict


def _object(name: str, /, *of: Any, without: tuple[str, ...] = (), **more: Any) -> Any:
    """The type of an object in a field, as ``Line`` has it: with the fields of these and more."""
    line = Line("", of, more, without)
    always = line.always()
    return _TypedDict(name, {one: kind if one in always else typing.NotRequired[kind]
                             for one, kind in line.fields().items()})  # fmt: skip


def _list(kind: Any) -> Any:
    return types.GenericAlias(list, kind)


_LEFT = list[LeftFinding]


def _node(what: str) -> Line:
    return Line(what, (fleet.NodeFinding,), inside="node")


def _cell(what: str) -> Line:
    return Line(what, (fleet.CellFinding,), inside="cell")


def _fleet(what: str) -> Line:
    return _result(fleet.FleetResult, what=what, signed=str | None, copied=list[str],
                   pruned=dict[str, int] | None, report=str | None)  # fmt: skip


_WORDS: Mapping[str, Any] = {"what": str, "why": str, "remedy": str}
#: Who else can change what lies somewhere, with the words for it.
_OWNERS = _list(_object("Owners", Owned, code=str, command=str, short=str, grave=bool, filter=str,
                        server=bool, **_WORDS))  # fmt: skip
_FINDINGS = _list(_object("Finding", FindingTold, **_WORDS))
_ENVIRONMENT = _object("Environment", interpreter=str, torch=str | None)
#: Secrets; nothing but these where nobody has looked for more.
_LEAKS = _object("LeaksTold", found=list[Secret], secrets=typing.NotRequired[int],
                 entries=typing.NotRequired[int], redacted=typing.NotRequired[int],
                 fixed=typing.NotRequired[int],
                 private=typing.NotRequired[list[Private]])  # fmt: skip
_SECRETS = Line("where secrets keep it from being written", (), {"leaks": _LEAKS})
#: Of a bundle: who of its entries is of use here, and who says so; None where nobody was asked.
_JUDGED: Mapping[str, Any] = {"verdicts": dict[str, int] | None, "made_by": dict[str, int] | None,
           "judged_by": dict[str, str] | None}  # fmt: skip

_COMPARED: Mapping[str, Any] = {
    "exists": int, "doubles": int, "entries": int, "bytes": int, "files": int, "new": Counts,
    "there": Counts, "twice": Counts, "differs": Counts, "into": str, "compared": _list(_object(
        "ComparedFile", entries.ComparedFile, verdicts=dict[str, int] | None,
        made_by=dict[str, int] | None, runnable=entries.RunnableResult,
    )), "left": _LEFT, **_JUDGED,
}  # fmt: skip
_LEFT_OUT = _list(_object("LeftOut", name=str, why=str))
_HOSTS = _list(_object("Host", machine=str, group=str))
_SIGNERS = _list(_object("Signer", Signer))
_FAULTS = _list(_object("RecipeFault", line=int, column=int, where=str, text=str))
_OF_PLACE: Mapping[str, Any] = {"place": typing.NotRequired[str]}
_SIZED = _object("Sized", Sized, without=("disk_bytes",))
_GRAPH = Line(
    "each graph", (GraphTold,),
    {"why": str, "cause": _object("Cause", CauseTold, without=("reason",)) | None}, ("variant",),
)  # fmt: skip
_VERIFIED = _object("VerifiedGraph", LookedUp, why=typing.NotRequired[str],
                    variant=typing.NotRequired[int])  # fmt: skip
_AUTOGRAD = _list(_object("ExplainedAot", AotTold, why=str))
#: What became of the place of a warm-up, and where that failed.
_BUNDLED = _object("Bundled", bundles.ExportResult, without=("held",), leaks=_LEAKS, left=_LEFT)
_FORETOLD = ("kinds", "needed", "there")
_PUBLISHED = _object("Published", bundles.CopyResult, without=_FORETOLD, leaks=_LEAKS, left=_LEFT)
#: What is not all found is a problem instead.
_PROOF: Mapping[str, Any] = {"proof": typing.NotRequired[Found | None]}
_FAILED = _object("Failed", problem=Fault)
#: Of a recipe that was asked for; only the file, which is null, where none is written.
_RECORDED = _object("Recorded", file=str | None, source=typing.NotRequired[str],
                    items=typing.NotRequired[int], why=typing.NotRequired[list[str]],
                    hidden=typing.NotRequired[bool],
                    proof=typing.NotRequired[_object(
                        "RecipeProof", proved=bool | None, good=int, of=int, why=list[str],
                        unproved=str | None) | None])  # fmt: skip
_SETTLED: Mapping[str, Any] = {
    "of": str, "torch": str | None, "triton": str | None, "findings": _FINDINGS
}  # fmt: skip
_COULD_GO = {"place": str, "reason": str, "why": Fault | None, "command": str}
_VARIANT: Any = (
    (VariantFinding,),
    {"uncached": typing.NotRequired[list[Uncached]], "seconds": typing.NotRequired[float],
     **_PROOF}, ("rebuilt", "ratios", "good", "why"), "variant",
)  # fmt: skip
_WARMED = _list(_object("WarmedVariant", WarmVariant, without=("log",), **_PROOF))
_JOB = "each job that has ended; with ID that one, with its log"

#: By the command, as it is typed; an error is printed by all.
#: Where SGLang looks with the interpreter, and which of its folders are there.
_SGLANG = _object("SglangFolders", looks_for=str, there=list[str])
#: What differs between two keys of vLLM's.
_VLLM = {"verdict": str, "factors": list[KeyFactorTold], "unknown": list[str]}
PRINTED: dict[str, tuple[Line, ...]] = {
    "places": (
        Line("each place", (places.PlacesRow,), {"read_only": bool, "owners": _OWNERS},
             optional=("owners",)),
        _result(what="with --protect and --unprotect", path=str, read_only=bool, changed=bool,
                protected=list[str]),
    ),
    "ls": (Line("each entry", (EntryRow,), _OF_PLACE),),
    "du": (
        Line("each kind, and the trash", (places.DuKind,), _OF_PLACE),
        Line("orphans, if any", (Orphans,), {"kind": str, **_OF_PLACE}),
        Line("the total", (places.DuKind,),
             {"others": typing.NotRequired[int], "kernels_maybe": typing.NotRequired[int],
              "place_disk_bytes": typing.NotRequired[int], **_OF_PLACE}),
        Line("with --filter: each kind, and the total", (places.SumKind,), _OF_PLACE,
             ("disk_bytes",)),
    ),
    "overview": (
        Line("how much of a place is alike", (_SIZED,),
             {"place": str, "kind": str, "torch": str | None, "age": str | None,
              "verdict": str | None, "compiler": str | None, "compile_s": float, "timed": int}),
        Line("how much of a place could go, and why", (Sized,), _COULD_GO),
        Line("each place", (_SIZED,),
             {"place": str, "apart_bytes": int, "trash_bytes": int, "free_bytes": int | None,
              "total_bytes": int | None, "left_out": bool, "problem": Fault | None}),
        _result(Totals, content_bytes=int, reclaimable=Sized, environment=_ENVIRONMENT | None,
                environments=_list(_ENVIRONMENT)),
    ),
    "show": (Line("each entry of the key", (EntryRow, entries.Shown),
                  {"file_list": list[entries.EntryFile], "files": int}, without=("entry",)),
             Line("without a key: each key of vLLM", (TreeTold,),
                  {"hashes": dict[str, str], "variables": list[str], "rows": list[RankTold]})),
    "check": (
        Line("each entry", (verdicts.CheckRow,), _OF_PLACE),
        Line("with --against: each key of vLLM", (TreeTold,),
             {**_VLLM, "looks_for": str, "set": dict[str, str | None]}),
        _result(what="with --against: the last", hits=int, misses=int, open=int, against=str,
                open_variables=dict[str, str], unknown_variables=dict[str, str], left=_LEFT),
        _result(verdicts.CheckResult, owners=_OWNERS | None, python=str, torch=str | None,
                failed_on=dict[str, int], sglang=typing.NotRequired[_SGLANG], **_OF_PLACE),
    ),
    "explain": (
        Line("one key: each of its entries", (verdicts.CheckRow,),
             {"python": str, "environment": str | None}),
        Line("two: how they differ", (verdicts.Explained,), {"sentence": str | None}),
        Line("two folders of vLLM", (),
             {"a": TreeTold, "b": TreeTold, "sentence": str, "sources": str,
              **_VLLM}),
        _GRAPH._replace(what="with --trace: each graph"),
        _result(verdicts.ExplainTraceResult, what="with --trace: the last",
                aotautograd=_AUTOGRAD),
    ),
    "env": (
        Line("each interpreter that was asked", (Env,), {"interpreter": str}),
        Line("each that was only found", (),
             {"interpreter": str, "started": bool, "found": str, "writers": list[Writer]}),
        _result(what="with --remove", removed=str),
    ),
    "run": (
        _GRAPH,
        _result(verdicts.ExplainTraceResult, aotautograd=_AUTOGRAD, run=typing.NotRequired[str],
                recipe=typing.NotRequired[_RECORDED]),
    ),
    "warm": (
        Line("each variant", *_VARIANT),
        _result(compiling.WarmResult, left=_LEFT, variants=_WARMED,
                bundle=_BUNDLED | _FAILED | None,
                published=_PUBLISHED | _FAILED | None),
        _SECRETS,
        Line("with --dry-run: each variant", (compiling.VariantsRow,)),
        _result(compiling.VariantsResult, what="with --dry-run: the last", machines=list[str]),
        _node("with --on: each node"),
        _cell("with --on: each cell"),
        _fleet("with --on: the last"),
        Line("with --on kubernetes: each manifest", (), {"manifest": dict[str, object]}),
        _result(what="with --on kubernetes: the last", manifests=int),
    ),
    "fleet run": (_node("each node"), _cell("each cell"), _fleet("last")),
    "fleet status": (
        Line("each node", (Standing,)), _result(nodes=int, hits=int, into=str),
    ),
    "fleet nodes": (_node("each node"), _result(fleet.NodesResult)),
    "fleet new": (_result(written=str),),
    "recipe show": (
        Line("each variant", (compiling.VariantsRow,)),
        _result(compiling.VariantsResult, machines=list[str]),
    ),
    "recipe check": (
        Line("each recipe", (), {"file": str, "problem": str | None, "faults": _FAULTS}),
        _result(recipes=int, wrong=int),
    ),
    **dict.fromkeys(
        ("recipe list", "recipe add", "recipe remove"),
        (Line("each recipe", (), {"path": str, "exists": bool}),),
    ),
    "recipe new": (_result(written=list[str], there=list[str]),),
    "verify": (
        Line("each graph", (_VERIFIED,)),
        _result(Verification, rows=_list(_VERIFIED), place=str, python=str, left=_LEFT,
                variants=_list(_object("VerifiedVariant", VerdictOfVariant, why=str | None))),
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
        Line("with --follow: each variant of a warm-up", *_VARIANT),
        _result(compiling.WarmResult, what="with --follow, of a warm-up", left=_LEFT,
                variants=_WARMED),
        _result(what="with --end", job=str, ended=bool),
    ),
    "copy": (
        _result(bundles.CopyResult, left=_LEFT, leaks=_LEAKS | None, without=_FORETOLD),
        _result(bundles.CopyResult, what="with --dry-run", left=_LEFT, leaks=_LEAKS | None,
                kinds=list[bundles.KindOutcomes], needed=int, there=bundles.TargetResult | None),
        _SECRETS,
    ),
    "export": (
        Line("the last", (bundles.ExportResult,),
             {"leaks": _LEAKS, "left": _LEFT, "signature": SignatureResult}, ("held",),
             "result", ("signature",)),
        Line("with --dry-run", (bundles.PlanExportResult,),
             {"leaks": _LEAKS, "left": _LEFT, "output": str, "what": str, "space": Space},
             inside="result"),
        _SECRETS,
    ),
    "import": (
        _result(bundles.ImportResult, left=_LEFT, env=str | None),
        Line("with --dry-run: each entry", (EntryRow,),
             {"outcome": str | None, "into_path": str | None}),
        _result(entries.CompareResult, what="with --dry-run: the last", **_COMPARED),
        Line("of what was not signed: what would be done, before it is", (entries.CompareResult,),
             _COMPARED, inside="compared"),
        Line("with --into-each: each cache", (bundles.CacheRow,), {"new": int, "exists": int}),
    ),
    "inspect": (
        Line("each entry", (EntryRow,)),
        _result(places.ListResult, left=_LEFT, leaks=_LEAKS, runnable=entries.RunnableResult,
                trash=None, without=("same", "mark", "owners", "others", "kernels_maybe"),
                **_JUDGED),
        Line("of what a program keeps of torch.compile, instead", (entries.FormResult,),
             {"judged_by": dict[str, str] | None}, inside="form"),
    ),
    "sign": (_result(file=str, signature=SignatureResult),),
    "hosts list": (Line("each machine", (), {"machine": str, "group": str}),),
    "hosts add": (_result(added=_HOSTS),),
    "hosts remove": (_result(removed=_HOSTS),),
    "signers list": (_result(signers=_SIGNERS, required=bool, file=str),),
    "signers add": (_result(Signer),),
    "signers remove": (_result(removed=_SIGNERS, still=_SIGNERS),),
    "signers require": (_result(required=bool),),
    "purge": (
        Line("with --dry-run: each entry that goes", (dead.PlanPurgeRow,)),
        _result(dead.PurgeResult, left=_LEFT, in_use=Users),
        _result(dead.PlanPurgeResult, what="with --dry-run: the last", without=("plan",),
                left=_LEFT, in_use=Users),
        Line("with --suggest: how much of a place could go, and why", (Sized,), _COULD_GO),
        _result(Sized, what="with --suggest: the last", environments=_list(_ENVIRONMENT),
                unasked=Fault | None),
    ),
    "undo": (_result(dead.UndoResult, left=_LEFT, without=("content_bytes", "failed")),),
    "trash": (
        Line("each purge, and each import", (ReceiptRow,),
             {"placed": _object("Amount", Amount, without=("content_bytes",)) | None},
             without=("content_bytes",)),
        _result(dead.TrashResult, without=("content_bytes",),
                last=_object("Last", Last, without=("content_bytes",)) | None),
        _result(dead.EmptyTrashResult, what="with --empty", without=("content_bytes",), left=_LEFT),
    ),
    "recover": (_result(dead.RecoverResult),),
    "server": (Line("the server", (places.ServerResult,), {"owners": _OWNERS | None}),),
    "ttl": (_result(places.TtlResult, left=_LEFT),),
    "doctor": (
        Line("each finding; of several machines also with the machine", (FindingTold,),
             {"check": str, "machine": str, **_WORDS}, optional=("machine",)),
        Line("with --fix: each fix; of several machines also with the machine", (),
             {"fix": str, "code": str, "done": bool, "place": str | None, "will": str,
              "gone": bool | None, "machine": str}, optional=("machine",)),
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
        Line("with --env or --pid: each setting", (OriginTold,), {"from": str}),
        Line("with --env: the last", (), _SETTLED, inside="result"),
        Line("with --pid: the last", (),
             {**_SETTLED, "process": ProcessTold, "lost": bool, "looked": LookedTold},
             inside="result"),
    ),
    "config check": (
        Line("each finding", (FindingTold,), _WORDS),
        _result(profile=str, settings=int, findings=int, left=_LEFT_OUT, worst=str | None),
    ),
    "config export": (
        _result(profile=str, format=str, file=str | None, notes=list[str],
                findings=_FINDINGS, left=_LEFT_OUT, text=str | None),
    ),
    "config set": (
        _result(profile=str, settings=dict[str, str], new=bool, findings=_FINDINGS),
    ),
    "config import": (
        _result(profile=str, file=str, settings=dict[str, str], left=_LEFT_OUT,
                findings=_FINDINGS),
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
#: Commands by what their lines say that they are, and how each such line begins.
_COMMANDS = {schema_of(command): command for command in PRINTED}
_BEGINS = '{"schema": "torchkeeper/'
#: What ends a command early, on its last line.
ERROR = Line("what ended it", (), dict.fromkeys(("code", "what", "why", "remedy"), str),
             inside="error")  # fmt: skip


def told(out: str) -> Iterator[tuple[str, Line, Mapping[str, Any]]]:
    """Each line of JSON that a command has printed: the command, the documented line that it is,
    and what of it has the fields. Raises ValueError for what is none. A program that “run” starts
    prints what it likes.
    """
    for text in out.splitlines():
        if text.startswith(_BEGINS):
            row = json.loads(text)
            yield _fitting(_COMMANDS.get(row.pop("schema"), ""), row)


def _fitting(command: str, row: Mapping[str, Any]) -> tuple[str, Line, Mapping[str, Any]]:
    wrong = []
    for line in (*PRINTED.get(command, ()), ERROR):
        body = row.get(line.inside) if line.inside else row
        if isinstance(body, Mapping) and not (line.inside and len(row) > 1):
            if not (why := unfit(line, body)):
                return command, line, body
            wrong.append(f"{line.what}: {', '.join(why)}")
    raise ValueError(f"{command}: {wrong or sorted(row)}")


def unfit(line: Line, body: Mapping[str, Any]) -> list[str]:
    """What of a line of JSON is not as it is documented."""
    kinds = line.fields()
    wrong = [f"{name} is missing" for name in line.always() - body.keys()]
    wrong += [said for name, kind in kinds.items()
              if name in body and (said := misfit(kind, body[name], name))]  # fmt: skip
    return wrong or [f"{name} is not documented" for name, known in _held(kinds, body, "")
                     if not known]  # fmt: skip


def _held(kinds: Mapping[str, Any], body: Mapping[str, Any], of: str) -> Iterator[tuple[str, bool]]:
    """Each field of an object and of those in it, and whether it is documented."""
    for name, value in body.items():
        yield f"{of}.{name}", name in kinds
        if name in kinds:
            yield from _within(kinds[name], value)


def _within(kind: Any, value: Any) -> Iterator[tuple[str, bool]]:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if typing.is_typeddict(kind):
        yield from _held(typing.get_type_hints(kind), value, kind.__name__)
    elif origin in (typing.Union, types.UnionType):
        yield from _within(next(one for one in inner if not misfit(one, value, "")), value)
    elif origin in (dict, collections.abc.Mapping):
        for one in value.values():
            yield from _within(inner[1], one)
    elif origin in (list, collections.abc.Sequence):
        for one in value:
            yield from _within(inner[0], one)
    elif origin is tuple:
        every = inner[:1] * len(value) if Ellipsis in inner else inner
        for of, one in zip(every, value, strict=True):
            yield from _within(of, one)


def printed(out: str) -> set[str]:
    """The fields that a command has printed, as ``documented`` names them."""
    found = set()
    for command, line, body in told(out):
        for name, _ in _held(line.fields(), body, ""):
            found.add(f"{command}, {line.what}{name}" if name[0] == "." else name)
    return found


def documented(command: str) -> set[str]:
    """The fields that the lines of a command have, and those of the types in them."""
    kinds: _Types = {}
    found = {f"{command}, {line.what}.{name}" for line in PRINTED[command]
             for name in line.fields()}  # fmt: skip
    for line in PRINTED[command]:
        _row(line.fields(), frozenset(), kinds)
    return found | {f"{name}.{field}" for name, kind in _with_inner(kinds).items()
                    for field in typing.get_type_hints(kind)}  # fmt: skip


def _with_inner(kinds: Mapping[str, Any]) -> _Types:
    """Types by their names, with those in them."""
    found: _Types = {}
    every: _Types = dict(kinds)
    while left := [name for name in sorted(every) if name not in found]:
        for name in left:
            found[name] = every[name]
            _row(typing.get_type_hints(every[name]), frozenset(), every)
    return found


_SCALARS = {str: "text", bool: "true or false", int: "whole number", float: "number",
            type(None): "null", object: "anything"}  # fmt: skip


def _said(kind: Any, kinds: _Types) -> str:
    """A type in words; those with fields are put into ``kinds``, by their names."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return " or ".join(f"“{one}”" for one in inner)
    if type(None) in inner:
        rest = [_said(one, kinds) for one in inner if one is not type(None)]
        return " or ".join([*rest, "null"])
    if origin in (list, collections.abc.Sequence):
        return f"list of {_said(inner[0], kinds)}"
    if origin is tuple:
        return "list"
    if typing.is_typeddict(kind):
        kinds[kind.__name__] = kind
        return str(kind.__name__)
    return "object"


def _row(fields: Mapping[str, Any], always: frozenset[str], kinds: _Types) -> str:
    return ", ".join(f"`{name}`{'' if name in always else '?'} {_said(kind, kinds)}"
                     for name, kind in fields.items())  # fmt: skip


def _item(text: str) -> str:
    """An item of a list, in Markdown."""
    return textwrap.fill(f"- {text}", 100, subsequent_indent="  ", break_on_hyphens=False)


def page() -> str:
    """The lines of each command in Markdown, and behind them the types of their fields."""
    kinds: _Types = {}
    said: list[str] = []
    for command, lines in (*PRINTED.items(), ("any command", (ERROR,))):
        said += [f"## {command}", ""]
        for line in lines:
            inside = f", in `{line.inside}`" if line.inside else ""
            what = line.what[0].upper() + line.what[1:]
            said += [_item(f"{what}{inside}: {_row(line.fields(), line.always(), kinds)}")]
        said += [""]
    said += ["## Types of fields", ""]
    for name, kind in sorted(_with_inner(kinds).items()):
        always = frozenset(kind.__required_keys__)
        said += [_item(f"{name}: {_row(typing.get_type_hints(kind), always, kinds)}")]
    return "\n".join(said)
