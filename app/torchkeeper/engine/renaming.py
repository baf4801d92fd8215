"""What an environment makes of the built objects in bundles: under which names, and which not.

``origin`` says whether there is anything to ask an environment for. Its own engine, under its own
interpreter, then tells the names (``names``): each is a hash of the source and of how its PyTorch
would build it there, and it is PyTorch itself that computes both. Sources are read as texts:
nothing of a bundle is run, imported or unpickled. ``named`` gives the names to this engine,
which knows the environment by ``know``. So ``import`` and ``compare`` with ``env`` place objects
where that environment looks, and leave out those that it must not load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Quiet, Report
from torchkeeper.engine.session import Rows, Session, environments, path_of
from torchkeeper.stores.bundles.bundle import Bundle, claims
from torchkeeper.stores.bundles.parts import MAX_SOURCE, has_object
from torchkeeper.stores.items import File, Item, Offered
from torchkeeper.stores.offering import Named
from torchkeeper.verdict import commands, constants, machine
from torchkeeper.verdict.native import why_not, why_not_library

if TYPE_CHECKING:
    from torchkeeper.engine.messages import entries as msg
    from torchkeeper.engine.messages.bundles import CopyParams, ImportParams
    from torchkeeper.verdict.probed import Env


def origin(session: Session, params: msg.OriginParams, report: Report) -> msg.OriginResult:
    """What bundles say of where they were made, unproven."""
    found: list[msg.Origin] = []
    files = list(map(path_of, params["files"]))
    session.bundles = {path: one for path, one in session.bundles.items() if path in files}
    for path in files:
        with session.look_into(path, report) as bundle:
            found.append({"file": path, "made_in": bundle.made_in, **claims(bundle)})
    return {"files": found}


def named(session: Session, params: msg.NamedParams, _: Report) -> msg.NamedResult:
    """Remember the names of a file's objects in the environment that is to be asked for next."""
    file = path_of(params["file"])
    if params.get("first"):
        session.names.pop(file, None)
    known = session.names.setdefault(file, {})
    known.update(params["rows"])
    return {"names": len(known)}


def for_environment(
    session: Session,
    params: ImportParams | msg.CompareParams | CopyParams,
    bundle: Bundle,
    report: Report,
    offered: Offered | None = None,
) -> Named:
    """The entries of a bundle, or those ``offered`` of it, for the environment ``env``; without,
    for this machine, under the names that they have. Raises Problem("environment-forgotten").
    """
    python = params.get("env")
    here: Env
    if python is None:
        here = {"cpu_flags": machine.cpu_flags(), "libc": machine.libc()}
    else:
        [here] = environments(session, [python], True)
    offered = bundle if offered is None else offered
    names = session.names.get(bundle.path, {}) if python is not None else {}
    return under(session, bundle, here, names, report, offered)


def under(
    session: Session, bundle: Bundle, here: Env, names: dict[str, str], report: Report,
    offered: Offered,
) -> Named:  # fmt: skip
    """The entries of a bundle for an environment, under its names."""
    made = [item for item in offered.items() if has_object(item)]
    return Named(offered, names, _left_out(session, bundle, made, here, report))


def for_this(session: Session, bundle: Bundle, report: Report) -> Named:
    """The entries of a bundle for this very interpreter, whose torch is imported where it has to
    name objects.
    """
    heard = Heard(report)
    names(session, {"files": [bundle.path]}, heard)
    here: Env = {"cpu_flags": machine.cpu_flags(), "libc": machine.libc()}
    return under(session, bundle, here, heard.found, report, bundle)


class Heard(Quiet):
    """The names that ``names`` tells."""

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self.found: dict[str, str] = {}

    def rows(self, rows: Sequence[Mapping[str, object]]) -> None:
        self.found.update((str(row["path"]), str(row["key"])) for row in rows)


def _left_out(
    session: Session, bundle: Bundle, made: Iterable[Item], here: Env, report: Report
) -> dict[str, Problem]:
    """Why objects must not be loaded here, by the paths of their items."""
    found = {}
    for batch in bundle.read(made, session.reader, report):
        for one in batch:
            built = bundle.built_with(one.item)
            said = one.facts.get("requires")
            own = frozenset(said) if isinstance(said, (list, tuple)) else None
            # What is said of all objects is said only of those whose making is told.
            claim = bundle.claim(one.item)
            if one.item.kind == "aoti_eager":
                problem = why_not_library(claim, own, here)
            else:
                problem = why_not(claim, built[1] if built else None, own, here)
            if problem is not None:
                found[one.item.path] = problem
    return found


def names(_: Session, params: msg.NamesParams, report: Report) -> msg.NamesResult:
    """A NamesRow for each object in bundles that was built by a command as this environment has.
    Imports torch where one tells how an object was built. Raises Problem as Bundle.
    """
    rows, count = Rows(report), 0
    here: dict[str, str] | None = None
    for path in params["files"]:
        with Bundle(path_of(path), report) as bundle, constants.private_folder():
            for item in bundle.items():
                report.check()
                if (built := bundle.built_with(item)) is None:
                    continue
                source, portable = built
                if here is None:
                    here = {one["portable"]: one["extra"] for one in commands.commands() or ()}
                extra, text = here.get(portable), _text(bundle, source)
                if extra is None or text is None:
                    continue
                key = commands.key(text, extra)
                row: msg.NamesRow = {"file": path, "path": item.path, "key": key}
                rows.add(row)
                count += 1
    rows.send()
    return {"count": count}


def _text(bundle: Bundle, source: File) -> str | None:
    """A source as PyTorch has it; what cannot be read is told by whoever places it."""
    if source.size > MAX_SOURCE:
        return None
    try:
        with bundle.open(source) as stream:
            return stream.read(MAX_SOURCE).decode()
    except (OSError, UnicodeDecodeError):
        return None
