"""The protocol of engines: every operation once, with its handler and its traits; the wire between
the app and an engine; and the check of what comes over it. Quick to import, of the standard library
only: every start of an engine and of the window pays for it.

The wire has one JSON object a line, UTF-8, at most 1 MiB. The engine speaks first (``hello``). A
request is ``{"id", "op", "params"}``; the answers carry its id: any number of ``progress``,
``rows`` (at most 500) and ``finding``, then one ``result`` or ``error``. ``{"cancel": id}`` asks
for an early end, which is an ``error`` with code ``cancelled``; ``{"read": job}`` says that the end
of a job was heard of, which need not be kept then; ``{"answer": asker, "text"}`` answers what an
operation asks on its way (``question``). Fields that are not known are ignored. What arrives is
checked as if an enemy had sent it, against the types of messages, too: what does not fit is
refused, with where and why (``misfit``).
"""

from __future__ import annotations

import importlib
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, cast

from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding


class Ends(Enum):
    """What an operation does when it is cancelled. LOOKS: it changes nothing, and nothing is lost
    when it is killed. BACK: it takes back what it has done, and says how far it is. STAYS: what it
    has done by then stays, and each thing of that is whole. APART: it works in a folder of its own,
    or only adds what is whole, and what is left of it is removed by whoever asked for it.
    """

    LOOKS = "looks"
    BACK = "back"
    STAYS = "stays"
    APART = "apart"

    @property
    def changes(self) -> bool:
        """Whether something may be half done where it is killed."""
        return self in (Ends.BACK, Ends.STAYS)


class Owned(NamedTuple):
    """An operation first tells who else can change the place that its ``parameter`` names. runs:
    programs run with what lies there, or in PyTorch's default folder where none is named.
    only_servers: folders are not looked at.
    """

    parameter: str
    runs: bool = False
    only_servers: bool = False


class Operation(NamedTuple):
    """An operation and its traits.

    handler: a module of its package and a function in it, which takes the Session, the parameters
        and a Report, and returns the result. The module is loaded at the first request.
    changes: the parameter that names what it changes; "" where it changes nothing, or where its
        parameters do not name that (``prepare``).
    removes: it may take away what lies in folders below that place.
    brings_code: it brings what is in a bundle, which is code, to a place.
    fills: it adds entries to a place.
    compiles: it runs compile jobs. Two at once would measure each other.
    proves: its result says whether what it was asked about is ``good``.
    repeats: with the same parameters it does the same once more.
    bundles: what it leaves is a bundle, wherever that is.
    undoable: its result has the receipt that undoes what it did to its place, if there is one.
    untrashes: it takes out of the trash, so that a purge before it is none to undo any more.
    entry_rows: its rows are entries (``artifacts.entry``).
    placed_rows: its rows are the kind and path of each entry that it puts there.
    messages: the module of engine.messages that has its types.
    package: the one that its handler is in. What is in no package that travels is done by the app's
        own engines alone.
    """

    name: str
    handler: str
    ends: Ends = Ends.LOOKS
    changes: str = ""
    removes: bool = False
    brings_code: bool = False
    fills: bool = False
    compiles: bool = False
    proves: bool = False
    repeats: bool = False
    bundles: bool = False
    undoable: bool = False
    untrashes: bool = False
    entry_rows: bool = False
    placed_rows: bool = False
    owned: tuple[Owned, ...] = ()
    messages: str = ""
    package: str = "engine"

    @property
    def params(self) -> Any:
        """The TypedDict of its parameters. Loaded when it is asked for, as ``result``."""
        return self._type("Params")

    @property
    def result(self) -> Any:
        return self._type("Result")

    def _type(self, what: str) -> Any:
        module = importlib.import_module(f"torchkeeper.engine.messages.{self.messages}")
        name = "".join(part.capitalize() for part in self.name.split("_")) + what
        return getattr(module, name)

    @property
    def at_home(self) -> bool:
        """Whether only an engine of the app does it, with the app's own packages, on this machine
        wherever its places are.
        """
        return self.package == "fleet"

    @property
    def warms(self) -> bool:
        """Whether it compiles the variants of recipes into a place."""
        return self.compiles and self.fills


#: The names of operations, as requests have them; those of the last lines become jobs.
PLACES, LIST, DU, SUM, OVERVIEW, HOLD = "places", "list", "du", "sum", "overview", "hold"
SHOW, DETAIL, NEEDS, TEXT, FACTORS = "show", "detail", "needs", "text", "factors"
RUNNABLE, COMPARE, ORIGIN, NAMED, NAMES = "runnable", "compare", "origin", "named", "names"
PLAN_EXPORT, TARGET, LEAKS, SIGNATURE = "plan_export", "target", "leaks", "signature"
CACHES = "caches"
COPY_MANIFEST, ATTACH_SIGNATURE, RESUME = "copy_manifest", "attach_signature", "resume"
FACTS, SERVER, SECRET, HAND_OVER = "facts", "server", "secret", "hand_over"
FORM = "form"
PLAN_PURGE, SUGGEST, TRASH = "plan_purge", "suggest", "trash"
PROBE, INSTALLED, KNOW = "probe", "installed", "know"
SETTINGS, PROCESSES = "settings", "processes"
PROCESS_SETTINGS, HELD = "process_settings", "held"
CHECK, JUDGE, EXPLAIN, EXPLAIN_TRACE = "check", "judge", "explain", "explain_trace"
VLLM, VLLM_VARIABLES = "vllm", "vllm_variables"
DIAGNOSE, TOOLCHAIN = "diagnose", "toolchain"
VARIANTS = "variants"
EXPORT, IMPORT, COPY, SIGN = "export", "import", "copy", "sign"
PURGE, UNDO, EMPTY_TRASH, RECOVER, MEND = "purge", "undo", "empty_trash", "recover", "mend"
TTL, WARM, VERIFY, PREPARE, RUN = "ttl", "warm", "verify", "prepare", "run"
FILL, PROVE = "fill", "prove"
NODES, FLEET = "nodes", "fleet"
DETACH, FOLLOW, JOBS = "detach", "follow", "jobs"

#: The operations, by the module of engine.messages that has their types.
_OPERATIONS: dict[str, tuple[Operation, ...]] = {
    "places": (
        Operation(PLACES, "operations.places_"),
        Operation(LIST, "operations.list_", entry_rows=True),
        Operation(DU, "operations.du"),
        Operation(SUM, "summing.add_up"),
        Operation(OVERVIEW, "overviewing.overview"),
        Operation(HOLD, "operations.hold"),
        Operation(FACTS, "servers.facts_", entry_rows=True),
        Operation(SERVER, "servers.server"),
        Operation(SECRET, "operations.secret"),
        Operation(TTL, "servers.ttl", Ends.STAYS, "place"),
    ),
    "entries": (
        Operation(SHOW, "operations.show"),
        Operation(DETAIL, "operations.detail_"),
        Operation(NEEDS, "operations.needs"),
        Operation(TEXT, "operations.text"),
        Operation(FACTORS, "operations.factors"),
        Operation(RUNNABLE, "runnable.runnable"),
        Operation(FORM, "forms.form"),
        Operation(COMPARE, "bundles.compare_"),
        Operation(ORIGIN, "renaming.origin"),
        Operation(NAMED, "renaming.named"),
        Operation(NAMES, "renaming.names"),
    ),
    "bundles": (
        Operation(PLAN_EXPORT, "bundles.plan_export"),
        Operation(EXPORT, "bundles.export_", Ends.BACK, "output", repeats=True, bundles=True,
                  owned=(Owned("place", only_servers=True),)),
        Operation(IMPORT, "bundles.import_", Ends.BACK, "into", brings_code=True, fills=True,
                  repeats=True, undoable=True, placed_rows=True, owned=(Owned("into"),)),
        Operation(COPY, "copying.copy_", Ends.BACK, "into", brings_code=True, fills=True,
                  repeats=True, undoable=True, placed_rows=True,
                  owned=(Owned("place", only_servers=True), Owned("into"))),
        Operation(TARGET, "bundles.target"),
        Operation(CACHES, "bundles.caches"),
        Operation(LEAKS, "screening.leaks"),
        Operation(RESUME, "resuming.resume"),
        Operation(HAND_OVER, "resuming.hand_over"),
        Operation(SIGNATURE, "bundles.signature"),
        Operation(COPY_MANIFEST, "bundles.copy_manifest"),
        Operation(ATTACH_SIGNATURE, "bundles.attach_signature", Ends.BACK, "file"),
    ),
    "dead": (
        Operation(PLAN_PURGE, "purging.plan_purge", entry_rows=True),
        Operation(SUGGEST, "overviewing.suggest"),
        Operation(PURGE, "purging.purge", Ends.STAYS, "place", removes=True, undoable=True),
        Operation(UNDO, "purging.undo", Ends.STAYS, "place", removes=True, untrashes=True,
                  placed_rows=True),
        Operation(TRASH, "operations.trash"),
        Operation(EMPTY_TRASH, "purging.empty_trash", Ends.STAYS, "place", removes=True,
                  untrashes=True),
        Operation(RECOVER, "purging.recover", Ends.STAYS, "place", removes=True),
    ),
    "verdicts": (
        Operation(PROBE, "operations.probe_"),
        Operation(INSTALLED, "operations.installed_"),
        Operation(KNOW, "operations.know"),
        Operation(SETTINGS, "operations.settings"),
        Operation(PROCESSES, "operations.processes"),
        Operation(PROCESS_SETTINGS, "operations.process_settings"),
        Operation(HELD, "running.held"),
        Operation(CHECK, "checking.check"),
        Operation(JUDGE, "checking.judge"),
        Operation(EXPLAIN, "explaining.explain"),
        Operation(EXPLAIN_TRACE, "running.explain_trace"),
        Operation(VLLM, "vllm.keys"),
        Operation(VLLM_VARIABLES, "vllm.variables_of"),
        Operation(RUN, "programs.run", Ends.APART, repeats=True),
    ),
    "doctor": (
        Operation(DIAGNOSE, "diagnosing.diagnose"),
        Operation(TOOLCHAIN, "diagnosing.toolchain"),
        Operation(MEND, "mending.mend", Ends.STAYS, "place", removes=True, entry_rows=True),
    ),
    "compiling": (
        Operation(VARIANTS, "variants.variants"),
        Operation(WARM, "operations.warm_", Ends.APART, "into", fills=True, compiles=True,
                  repeats=True, owned=(Owned("into", runs=True),)),
        Operation(VERIFY, "operations.verify_", Ends.APART, compiles=True, proves=True,
                  repeats=True, owned=(Owned("place", runs=True),)),
        Operation(PREPARE, "operations.prepare_", Ends.APART, compiles=True, repeats=True,
                  owned=(Owned("into", runs=True),)),
        Operation(FILL, "filling.fill", Ends.APART, compiles=True),
        Operation(PROVE, "filling.prove", Ends.APART, compiles=True, proves=True),
        Operation(DETACH, "detached.detach", Ends.APART),
        Operation(FOLLOW, "detached.follow", Ends.APART),
        Operation(JOBS, "detached.jobs"),
    ),
    "fleet": (
        Operation(NODES, "warming.nodes", package="fleet"),
        Operation(FLEET, "warming.fleet", Ends.STAYS, "into", fills=True, compiles=True,
                  repeats=True, package="fleet"),
    ),
}  # fmt: skip
TABLE: dict[str, Operation] = {
    one.name: one._replace(messages=module)
    for module, several in _OPERATIONS.items()
    for one in several
}

#: What is done as an operation, of several requests or none: ssh-keygen signs what an engine reads.
_MADE_UP = {SIGN: Operation(SIGN, "", ends=Ends.BACK, changes="file", bundles=True)}


def traits(name: str) -> Operation:
    """An operation by its name; one without traits where there is none of that name."""
    return TABLE.get(name) or _MADE_UP.get(name, Operation("", ""))


def ends(name: str, params: Mapping[str, object]) -> Ends:
    """What a request does when it is cancelled; LOOKS where there is no such operation."""
    if params.get("dry"):
        return Ends.LOOKS
    if name == COPY and scheme_of(str(params.get("into") or "")).keeps_part:
        return Ends.STAYS
    return traits(name).ends


# The wire.

PROTOCOL = 1
MAX_LINE = 1 << 20
MAX_ROWS = 500
#: The environment variable by which the app tells its own engines where the index file is.
INDEX = "TORCHKEEPER_INDEX"
#: The same of the file with the folders that were filled from another machine (engine.filled).
FILLED = "TORCHKEEPER_FILLED"

TYPES = ("hello", "progress", "rows", "finding", "result", "error")


class WireError(ValueError):
    """A line that does not follow the protocol."""


class Message(NamedTuple):
    """One line from an engine. ``id`` is None only in ``hello`` and in errors about no request."""

    type: str
    id: int | None
    body: Mapping[str, Any]

    @property
    def rows(self) -> list[Any]:
        """The rows of a ``rows`` message; none in any other."""
        return list(self.body["rows"]) if self.type == "rows" else []

    @property
    def finding(self) -> Finding:
        """What a ``finding`` message says; it was checked when it came."""
        said = {name: one for name, one in self.body.items() if name not in ("type", "id")}
        return cast("Finding", said)


def encode(obj: Mapping[str, object]) -> bytes:
    """One line. Raises WireError if it would be longer than MAX_LINE."""
    line = json.dumps(obj, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_LINE:
        raise WireError(f"a line of {len(line)} bytes is over the limit of {MAX_LINE}")
    return line


def decode(line: bytes) -> dict[str, object]:
    """The object of one line. Raises WireError for anything else."""
    if len(line) > MAX_LINE:
        raise WireError("a line is too long")
    try:
        obj = json.loads(line)
    except (ValueError, RecursionError) as e:
        raise WireError("a line is not JSON") from e
    if not isinstance(obj, dict):
        raise WireError("a line is not an object")
    return obj


def message_from(obj: Mapping[str, object]) -> Message:
    """The Message in one decoded line from an engine. Raises WireError."""
    kind = obj.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise WireError("a message of an unknown type")
    ident = obj.get("id")
    if ident is not None and (not isinstance(ident, int) or isinstance(ident, bool)):
        raise WireError("an id is not a number")
    if kind == "rows":
        rows = obj.get("rows")
        if not isinstance(rows, list) or len(rows) > MAX_ROWS:
            raise WireError("rows is not a list of at most 500")
    if kind == "error":
        error = obj.get("error")
        if not isinstance(error, dict) or not isinstance(error.get("code"), str):
            raise WireError("an error without a code")
        if not isinstance(error.get("params", {}), dict):
            raise WireError("the params of an error are not an object")
    if kind == "result" and not isinstance(obj.get("result"), dict):
        raise WireError("a result is not an object")
    return Message(kind, ident, obj)


class Lines:
    """Cuts a byte stream into lines, bounded by MAX_LINE."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The complete lines, now that ``data`` has arrived. Raises WireError on an endless one."""
        self._rest += data
        if b"\n" not in data:
            if len(self._rest) > MAX_LINE:
                raise WireError("a line is too long")
            return []
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        return [bytes(line) for line in lines if line]


# JSON against the types of messages.

#: What a refusal calls a value.
_JSON_NAMES: dict[type, str] = {
    type(None): "null", bool: "a truth value", int: "a number", float: "a number", str: "a text",
    list: "a list", dict: "an object",
}  # fmt: skip


class _Wrong(NamedTuple):
    """What does not fit: where that is in what was checked, and what it is."""

    where: str
    what: str


#: Checks a value against one type, in microseconds; None where it fits. Made once for each type.
_Check = Callable[[object], _Wrong | None]


def misfit(kind: Any, value: object, where: str) -> str:
    """Why a JSON value is not of a type, beginning with where that is; "" if it is. Types are
    TypedDict, NamedTuple, dict, Mapping, list, Sequence, tuple, Literal, unions, None and the
    scalars. ``object`` and Any take anything, a float takes a whole number, but no infinity, and a
    field that a TypedDict does not have is ignored: a newer engine may say more.
    """
    wrong = _check_of(kind)(value)
    return "" if wrong is None else f"{where}{wrong.where} {wrong.what}"


def unfit(message: Message, op: str) -> str:
    """Where and why a message does not fit what this operation tells; "" where it does."""
    if message.type == "result" and (asked := TABLE.get(op)):
        return misfit(asked.result, message.body.get("result"), "result")
    if message.type == "finding":
        # Loaded late: not every engine finds something, and a start is to be quick.
        from torchkeeper.engine.messages.findings import Finding

        return misfit(Finding, message.body, "finding")
    return ""


@cache
def _check_of(kind: Any) -> _Check:
    if kind in (Any, object):
        return lambda _: None
    if typing.is_typeddict(kind):
        return _fields(kind)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _either([_check_of(one) for one in inner])
    if origin is Literal:
        return lambda x: None if x in inner and type(x) is not bool else _wrong(x)
    origin = origin or kind
    if origin in (dict, Mapping):
        return _values(_check_of(inner[1] if inner else object))
    if isinstance(origin, type) and issubclass(origin, tuple):
        return _parts(origin, inner)
    if origin in (list, Sequence):
        return _each(_check_of(inner[0] if inner else object))
    if kind in (None, types.NoneType):
        return lambda x: None if x is None else _wrong(x)
    if kind is float:
        return _number
    return lambda x: None if type(x) is kind else _wrong(x)


def _number(value: object) -> _Wrong | None:
    # A bool is an int to Python, and a whole number a float to whoever writes JSON.
    fits = isinstance(value, (float, int)) and type(value) is not bool
    return None if fits and abs(cast("float", value)) < 1e300 else _wrong(value)


def _fields(kind: Any) -> _Check:
    # Looked at when a field comes: of many findings a message has one.
    hints, checks = typing.get_type_hints(kind), dict[str, _Check]()
    required = kind.__required_keys__

    def check(value: object) -> _Wrong | None:
        if not isinstance(value, dict):
            return _wrong(value)
        if not required <= value.keys():
            return _Wrong(f".{min(required - value.keys())}", "is missing")
        for name, one in value.items():
            if name not in hints:
                continue
            if (of := checks.get(name)) is None:
                of = checks[name] = _check_of(hints[name])
            if (wrong := of(one)) is not None:
                return _Wrong(f".{name}{wrong.where}", wrong.what)
        return None

    return check


def _either(checks: list[_Check]) -> _Check:
    def check(value: object) -> _Wrong | None:
        every = []
        for of in checks:
            if (wrong := of(value)) is None:
                return None
            every.append(wrong)
        # Where a type fits but for something within it, that is what is wrong.
        return next((one for one in every if one.where), every[0])

    return check


def _values(of: _Check) -> _Check:
    def check(value: object) -> _Wrong | None:
        if not isinstance(value, dict):
            return _wrong(value)
        for name, one in value.items():
            if (wrong := of(one)) is not None:
                return _Wrong(f".{name}{wrong.where}", wrong.what)
        return None

    return check


def _parts(kind: type, inner: tuple[Any, ...]) -> _Check:
    """A tuple: of as many of a type as there are, or of one of each of its types."""
    if not inner and hasattr(kind, "_fields"):
        inner = tuple(typing.get_type_hints(kind).values())
    if len(inner) == 2 and inner[1] is Ellipsis:
        return _each(_check_of(inner[0]))
    checks = [_check_of(one) for one in inner]

    def check(value: object) -> _Wrong | None:
        if not isinstance(value, (list, tuple)) or len(value) != len(checks):
            return _wrong(value)
        for at, of in enumerate(checks):
            if (wrong := of(value[at])) is not None:
                return _Wrong(f"[{at}]{wrong.where}", wrong.what)
        return None

    return check


def _each(of: _Check) -> _Check:
    def check(value: object) -> _Wrong | None:
        if not isinstance(value, (list, tuple)):
            return _wrong(value)
        for at, one in enumerate(value):
            if (wrong := of(one)) is not None:
                return _Wrong(f"[{at}]{wrong.where}", wrong.what)
        return None

    return check


def _wrong(value: object) -> _Wrong:
    # Not what it is: it may be a password.
    return _Wrong("", f"is {_JSON_NAMES.get(type(value), 'something else')}")
