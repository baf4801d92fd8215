"""What an engine can be asked to do: every operation once, with its handler and its traits. Quick
to import, of the standard library only: every start of an engine and of the window pays for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from torchkeeper.stores.names import scheme_of


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

    handler: a module of this package and a function in it, which takes the Session, the parameters
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
    trashes: it moves to the trash of its place; its result has the receipt that undoes that.
    untrashes: it takes out of the trash, so that a purge before it is none to undo any more.
    entry_rows: its rows are entries (``artifacts.entry``).
    placed_rows: its rows are the kind and path of each entry that it puts there.
    messages: the module of engine.messages that has its types.
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
    trashes: bool = False
    untrashes: bool = False
    entry_rows: bool = False
    placed_rows: bool = False
    owned: tuple[Owned, ...] = ()
    messages: str = ""

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
    def warms(self) -> bool:
        """Whether it compiles the cells of recipes into a place."""
        return self.compiles and self.fills


#: The names of operations, as requests have them; those of the last lines become jobs.
PLACES, LIST, DU, SUM, OVERVIEW, HOLD = "places", "list", "du", "sum", "overview", "hold"
SHOW, DETAIL, NEEDS, TEXT, FACTORS = "show", "detail", "needs", "text", "factors"
RUNNABLE, COMPARE, ORIGIN, NAMED, NAMES = "runnable", "compare", "origin", "named", "names"
PLAN_EXPORT, TARGET, LEAKS, SIGNATURE = "plan_export", "target", "leaks", "signature"
COPY_MANIFEST, ATTACH_SIGNATURE = "copy_manifest", "attach_signature"
FACTS, SERVER, SECRET = "facts", "server", "secret"
PLAN_PURGE, SUGGEST, TRASH = "plan_purge", "suggest", "trash"
PROBE, KNOW, SETTINGS, PROCESSES = "probe", "know", "settings", "processes"
PROCESS_SETTINGS, HELD = "process_settings", "held"
CHECK, JUDGE, EXPLAIN, EXPLAIN_TRACE = "check", "judge", "explain", "explain_trace"
DIAGNOSE, TOOLCHAIN = "diagnose", "toolchain"
CELLS = "cells"
EXPORT, IMPORT, COPY, SIGN = "export", "import", "copy", "sign"
PURGE, UNDO, EMPTY_TRASH, RECOVER, MEND = "purge", "undo", "empty_trash", "recover", "mend"
TTL, WARM, VERIFY, PREPARE = "ttl", "warm", "verify", "prepare"

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
                  repeats=True, placed_rows=True, owned=(Owned("into"),)),
        Operation(COPY, "copying.copy_", Ends.BACK, "into", brings_code=True, fills=True,
                  repeats=True, placed_rows=True,
                  owned=(Owned("place", only_servers=True), Owned("into"))),
        Operation(TARGET, "bundles.target"),
        Operation(LEAKS, "screening.leaks"),
        Operation(SIGNATURE, "bundles.signature"),
        Operation(COPY_MANIFEST, "bundles.copy_manifest"),
        Operation(ATTACH_SIGNATURE, "bundles.attach_signature", Ends.BACK, "file"),
    ),
    "dead": (
        Operation(PLAN_PURGE, "purging.plan_purge", entry_rows=True),
        Operation(SUGGEST, "purging.suggest"),
        Operation(PURGE, "purging.purge", Ends.STAYS, "place", removes=True, trashes=True),
        Operation(UNDO, "purging.undo", Ends.STAYS, "place", removes=True, untrashes=True,
                  placed_rows=True),
        Operation(TRASH, "operations.trash"),
        Operation(EMPTY_TRASH, "purging.empty_trash", Ends.STAYS, "place", removes=True,
                  untrashes=True),
        Operation(RECOVER, "purging.recover", Ends.STAYS, "place", removes=True),
    ),
    "verdicts": (
        Operation(PROBE, "operations.probe_"),
        Operation(KNOW, "operations.know"),
        Operation(SETTINGS, "operations.settings"),
        Operation(PROCESSES, "operations.processes"),
        Operation(PROCESS_SETTINGS, "operations.process_settings"),
        Operation(HELD, "running.held"),
        Operation(CHECK, "checking.check"),
        Operation(JUDGE, "checking.judge"),
        Operation(EXPLAIN, "explaining.explain"),
        Operation(EXPLAIN_TRACE, "running.explain_trace"),
    ),
    "doctor": (
        Operation(DIAGNOSE, "diagnosing.diagnose"),
        Operation(TOOLCHAIN, "diagnosing.toolchain"),
        Operation(MEND, "mending.mend", Ends.STAYS, "place", removes=True, entry_rows=True),
    ),
    "compiling": (
        Operation(CELLS, "cells.cells"),
        Operation(WARM, "operations.warm_", Ends.APART, "into", fills=True, compiles=True,
                  repeats=True, owned=(Owned("into", runs=True),)),
        Operation(VERIFY, "operations.verify_", Ends.APART, compiles=True, proves=True,
                  repeats=True, owned=(Owned("place", runs=True),)),
        Operation(PREPARE, "operations.prepare_", Ends.APART, compiles=True, repeats=True,
                  owned=(Owned("into", runs=True),)),
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
