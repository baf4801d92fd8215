"""What an engine can be asked to do: every operation once, with its handler and its traits.

Whoever has to know what an operation is like reads it here: the engine that calls its handler, the
guard of places that are read-only, what is required of signatures, and whoever waits for the end of
a request that was cancelled, in the window and on the command line. Standard library only, and
quick to import: every start of an engine and of the window pays for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from torchkeeper.stores.names import is_server


class Ends(Enum):
    """What an operation does when it is cancelled.

    LOOKS: it changes nothing, and nothing is lost when it is killed. BACK: it takes back what it
    has done, and says how far it is. STAYS: what it has done by then stays, and each thing of that
    is whole. APART: it works in a folder of its own, or only adds what is whole, and what is left
    of it is removed by whoever asked for it.
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
    """Of which place an operation first tells who else can change it (``engine.owning``).

    parameter: the name of the parameter that has the place.
    runs: programs run with what lies there, or in PyTorch's default folder where none is named.
    only_servers: folders are not looked at.
    """

    parameter: str
    runs: bool = False
    only_servers: bool = False


class Operation(NamedTuple):
    """An operation and its traits.

    name: as requests have it.
    handler: a module of this package and a function in it, which takes the Session, the parameters
        and a Report, and returns the result. The module is loaded at the first request.
    ends: what it does when it is cancelled.
    changes: the parameter that names what it changes; "" where it changes nothing, or where its
        parameters do not name that (``prepare``).
    removes: it may take away what lies in folders below that place.
    brings_code: it brings what is in a bundle, which is code, to a place.
    fills: it adds entries to a place.
    compiles: it runs compile jobs. Two at once would measure each other.
    repeats: with the same parameters it does the same once more.
    entry_rows: its rows are entries (``artifacts.entry``).
    owned: the places of which it tells first who else can change them.
    """

    name: str
    handler: str
    ends: Ends = Ends.LOOKS
    changes: str = ""
    removes: bool = False
    brings_code: bool = False
    fills: bool = False
    compiles: bool = False
    repeats: bool = False
    entry_rows: bool = False
    owned: tuple[Owned, ...] = ()


_OPERATIONS = (
    # What a place holds.
    Operation("places", "operations.places_"),
    Operation("list", "operations.list_", entry_rows=True),
    Operation("du", "operations.du"),
    Operation("sum", "adding.add_up"),
    Operation("overview", "overviewing.overview"),
    Operation("hold", "operations.hold"),
    # One entry.
    Operation("show", "operations.show"),
    Operation("detail", "operations.detail_"),
    Operation("needs", "operations.needs"),
    Operation("text", "operations.text"),
    Operation("factors", "operations.factors"),
    Operation("runnable", "runnable.runnable"),
    Operation("compare", "bundles.compare_"),
    Operation("origin", "renaming.origin"),
    Operation("named", "renaming.named"),
    Operation("names", "naming.names"),
    # Bundles.
    Operation("plan_export", "bundles.plan_export"),
    Operation(
        "export",
        "bundles.export_",
        ends=Ends.BACK,
        changes="output",
        repeats=True,
        owned=(Owned("place", only_servers=True),),
    ),
    Operation(
        "import",
        "bundles.import_",
        ends=Ends.BACK,
        changes="into",
        brings_code=True,
        fills=True,
        repeats=True,
        owned=(Owned("into"),),
    ),
    Operation(
        "copy",
        "copying.copy_",
        ends=Ends.BACK,
        changes="into",
        brings_code=True,
        fills=True,
        repeats=True,
        owned=(Owned("place", only_servers=True), Owned("into")),
    ),
    Operation("target", "bundles.target"),
    Operation("leaks", "screening.leaks"),
    Operation("signature", "signing.signature"),
    Operation("copy_manifest", "signing.copy_manifest"),
    Operation("attach_signature", "signing.attach_signature", ends=Ends.BACK, changes="file"),
    # Servers.
    Operation("facts", "servers.facts_", entry_rows=True),
    Operation("server", "servers.server"),
    Operation("secret", "operations.secret"),
    Operation("ttl", "servers.ttl", ends=Ends.STAYS, changes="place"),
    # What is dead, and the trash.
    Operation("plan_purge", "purging.plan_purge", entry_rows=True),
    Operation("suggest", "suggesting.suggest"),
    Operation("purge", "purging.purge", ends=Ends.STAYS, changes="place", removes=True),
    Operation("undo", "purging.undo", ends=Ends.STAYS, changes="place", removes=True),
    Operation("trash", "operations.trash"),
    Operation("empty_trash", "purging.empty_trash", ends=Ends.STAYS, changes="place", removes=True),
    Operation("recover", "purging.recover", ends=Ends.STAYS, changes="place", removes=True),
    # Environments and processes.
    Operation("probe", "operations.probe_"),
    Operation("know", "operations.know"),
    Operation("settings", "origins.settings"),
    Operation("processes", "origins.processes"),
    Operation("process_settings", "origins.process_settings"),
    Operation("held", "running.held"),
    # Verdicts, and why something was compiled.
    Operation("check", "checking.check"),
    Operation("judge", "checking.judge"),
    Operation("explain", "explaining.explain"),
    Operation("explain_trace", "running.explain_trace"),
    # The doctor.
    Operation("diagnose", "diagnosing.diagnose"),
    Operation("toolchain", "diagnosing.toolchain"),
    Operation(
        "mend", "diagnosing.mend", ends=Ends.STAYS, changes="place", removes=True, entry_rows=True
    ),
    # Compile jobs.
    Operation("cells", "cells.cells"),
    Operation(
        "warm",
        "operations.warm_",
        ends=Ends.APART,
        changes="into",
        fills=True,
        compiles=True,
        repeats=True,
        owned=(Owned("into", runs=True),),
    ),
    Operation(
        "verify",
        "operations.verify_",
        ends=Ends.APART,
        compiles=True,
        repeats=True,
        owned=(Owned("place", runs=True),),
    ),
    Operation(
        "prepare",
        "operations.prepare_",
        ends=Ends.APART,
        compiles=True,
        repeats=True,
        owned=(Owned("into", runs=True),),
    ),
)
TABLE: dict[str, Operation] = {one.name: one for one in _OPERATIONS}

#: What something is like that no engine is asked for, such as signing by ssh-keygen.
_NONE = Operation("", "")


def traits(name: str) -> Operation:
    """An operation by its name; one without traits where there is none of that name."""
    return TABLE.get(name, _NONE)


def ends(name: str, params: Mapping[str, object]) -> Ends:
    """What a request does when it is cancelled; LOOKS where there is no such operation."""
    if params.get("dry"):
        return Ends.LOOKS
    if name == "copy" and is_server(str(params.get("into") or "")):
        return Ends.STAYS
    return traits(name).ends
