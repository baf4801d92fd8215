"""A place, as a script has it: what can be asked of it and done with it. Most methods have the name
of their command.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from torchkeeper.api.asking import Answer, Asker, OnProgress, misuse
from torchkeeper.api.told import (
    Entries,
    Error,
    Exported,
    Placed,
    Variant,
    Warmed,
    entries_of,
    variant_of,
)
from torchkeeper.artifacts.entry import COUNTED_APART
from torchkeeper.client.engines import far, interpreters, probes
from torchkeeper.client.kept import protected
from torchkeeper.client.secrets import named
from torchkeeper.client.words.problems import printable, unseen_users, user_of_place
from torchkeeper.engine import protocol
from torchkeeper.stores import query
from torchkeeper.stores.names import is_mega_cache, scheme_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Secrets as Sent
    from torchkeeper.engine.messages import Select, bundles, compiling, dead
    from torchkeeper.engine.messages.findings import VariantFinding
    from torchkeeper.verdict.probed import Env

#: A path, or of a place also the address of a server.
Name = str | os.PathLike[str]
#: What becomes of passwords and keys that are found in entries which leave: nothing is written
#: where there are some, they are replaced, their entries stay, or they go along.
Secrets = Literal["refuse", "redact", "without", "allow"]

_SECRETS: dict[Secrets, Sent | None] = {
    "refuse": None,
    "redact": "redact",
    "without": "leave",
    "allow": "allow",
}


def places(machine: str = "") -> list[str]:
    """The caches of this machine, as ``torchkeeper places`` lists them: paths and addresses for
    ``open``; with ``"ssh://host"`` those of another machine. Raises Error.

    machine: as ``"ssh://host"``; empty for this one.
    """
    machine = named(machine, alone=True) if machine else ""
    if machine and not far.is_far(machine):
        raise misuse(f"{machine} is no machine.", "", "Name one, as ssh://host.")
    with contextlib.closing(Asker(python=machine or None)) as asker:
        rows = far.placed(machine, asker.ask(protocol.PLACES).rows)
        return [row["path"] for row in rows if row["exists"]]


def open(place: Name, *, progress: OnProgress | None = None) -> Place:
    """A place: a cache folder, a bundle (``.torchcache``), a mega-cache, or a Redis server
    (``redis://host``); on another machine a folder or a bundle (``ssh://host/path``). This reads
    nothing yet. A folder need not exist: what fills it makes it. ``~`` stands for the home folder.

    progress: hears how far each operation is. If it raises, that ends the operation.
    Raises Error("address-wrong", "ssh-address-wrong", "wrong-usage").
    """
    text = os.fspath(place)
    if not text:
        # An empty variable must not become the current folder.
        raise misuse("The name of the place is empty.", "", "Give a path, or an address.")
    return Place(named(os.path.expanduser(text)), progress)


class Place:
    """A cache folder, a bundle or a server; ``open`` makes it. Its operations run in a process of
    their own, which starts at the first one and ends with ``close``, with ``with``, or with the
    program. Threads can share it: they take turns. Ctrl-C cancels an operation: its changes are
    complete, or taken back.

    Every method raises Error if it cannot do its work.

    Attributes:
        name: its absolute path, or its address without a password.
    """

    def __init__(self, name: str, progress: OnProgress | None = None) -> None:
        self.name = name
        self._progress = progress
        self._scheme = scheme_of(name)
        #: The machine whose engine is asked; "" is this one.
        self._machine = self._scheme.machine(name)
        self._asker = Asker(progress, self._machine or None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"torchkeeper.open({self.name!r})"

    def close(self) -> None:
        """End the process of the place. Its plans of purges end with it; for any other operation a
        new process starts.
        """
        self._asker.close()

    def entries(self, filter: str = "", *, verdicts_for: Name | None = None) -> Entries:
        """The entries that match a filter, as ``torchkeeper ls`` and ``check`` list them.

        filter: as for ``--filter``, such as ``"kind:fxgraph size>1M"``; empty for all entries.
        verdicts_for: an interpreter with torch, such as ``sys.executable``: the entries then have
        verdicts for it. Without it there are no verdicts, unless the filter asks for some: those
        are for TORCHKEEPER_TORCH_PYTHON, or else for the interpreter of the script.
        """
        if verdicts_for is None and not probes.asks_verdicts(filter):
            answer = self._ask(protocol.LIST, filter=filter)
        else:
            env = probes.environment(self._python(verdicts_for))
            answer = self._ask(protocol.CHECK, env=env, filter=filter)
        apart = query.parse(filter).apart
        rows = (row for row in answer.rows if apart or row["kind"] not in COUNTED_APART)
        return entries_of(rows, answer.left)

    def export(
        self, path: Name, filter: str = "", *, secrets: Secrets = "refuse",
        with_needed: bool = False, replace: bool = False, sign: Name | None = None,
        also: Iterable[Name | Place] = (), python: Name | None = None,
    ) -> Exported:  # fmt: skip
        """Write entries to a bundle, or to a mega-cache of PyTorch if the file is called ``*.bin``,
        as ``torchkeeper export``.

        secrets: what to do if the entries hold passwords or keys. ``"refuse"`` writes nothing and
        raises Error("secrets-found"); ``"redact"`` replaces them; ``"without"`` leaves out the
        entries that have some; ``"allow"`` exports them.
        with_needed: also export what the entries need.
        replace: replace a file that is there; else that is Error("output-exists").
        sign: a private SSH key, or the public half of one that ssh-agent holds.
        also: other places on the same machine, whose entries go into the same file. What two have
        is written once; where they differ, this place counts, then the others in their order.
        python: the interpreter whose torch filled the place; by default
        TORCHKEEPER_TORCH_PYTHON, or else the interpreter of the script, if it has torch.
        """
        from torchkeeper.client import carrying, signers
        from torchkeeper.client.engines import ferry

        key, output = None if sign is None else _file(sign), _file(path)
        if key and is_mega_cache(output):
            raise misuse("A mega-cache cannot be signed.", "", "Name a file *.torchcache.")
        every = [also] if isinstance(also, str | os.PathLike | Place) else also
        others = [one.name if isinstance(one, Place) else open(one).name for one in every]
        if key:
            signers.check_key(key)
        facts = self._maker(python)
        made = ferry.name(self._machine) if self._machine else output
        with self._asker.lock:  # a bundle that is to be signed waits for that in the process
            answer = self._ask(
                protocol.EXPORT, output=made, select=self._select(filter, python),
                needs=with_needed, replace=replace, secrets=told_secrets(secrets),
                builders=carrying.builders(facts), sign=bool(key) and not self._machine,
                also=others, mega=is_mega_cache(output),
            )  # fmt: skip
            done: bundles.ExportResult = answer.result
            size = done["size"]
            if key and done.get("held"):
                signers.sign(self._result, "", key, output, replace)
                size = os.path.getsize(output)
            if self._machine and done["entries"]:
                try:
                    size = self._fetched(made, output, size, replace, key)
                except Error as error:
                    raise answer.worded(error) from None
        redacted = done["leaks"]["redacted"]
        return Exported(output, done["entries"], done["files"], size, redacted, tuple(answer.left))

    def import_(
        self, *files: Name, trust: bool = False, python: Name | None = None,
        only_usable: bool = False,
    ) -> Placed:  # fmt: skip
        """Place the entries of bundles or mega-caches in this folder, as ``torchkeeper import``:
        all of them, or none. What is there already stays.

        trust: say that you trust whoever made them: PyTorch runs what they hold. Without it, one
        of your signers must have signed them (``torchkeeper signers``); else Error("untrusted").
        python: the interpreter with torch that will use them; by default
        TORCHKEEPER_TORCH_PYTHON, or else the interpreter of the script, if it has torch.
        only_usable: only what that interpreter can use here, and what that needs, as ``--only
        usable``; the rest is ``left``.
        """
        paths = [_file(file) for file in files]
        if not paths:
            raise misuse("There is no file to import.", "", "Name a bundle or a mega-cache.")
        return self._import(paths, trust, python, only_usable)

    def _import(
        self, paths: list[str], trust: bool, python: Name | None, only_usable: bool = False,
        cache: str = "",
    ) -> Placed:  # fmt: skip
        from torchkeeper.client import signers
        from torchkeeper.client.engines import ferry

        self._check_folder()
        protected.check(self.name)
        signed = {path: self._signature(path) for path in paths}
        for path, one in signed.items():
            signers.check_policy(path, one)
        if not trust and any(one["status"] != "trusted" for one in signed.values()):
            raise _untrusted("imported")
        # The names that are told are those of the latest files.
        with ferry.sent(self._machine, paths) as sent, self._asker.lock:
            env = self._tell_names(list(sent.values()), python, only_usable)
            answer = self._asker.ask(
                protocol.IMPORT, files=list(sent.values()), into=self.name, env=env, cache=cache,
                fits=only_usable,
                manifests={sent[path]: one["manifest"] for path, one in signed.items()},
            )  # fmt: skip
        return _placed(self.name, answer.result, answer.left)

    def copy(
        self, to: Name | Place, filter: str = "", *, with_needed: bool = True,
        secrets: Secrets = "refuse", trust: bool = False, replace: bool = False,
        python: Name | None = None, direct: bool = False, only_usable: bool = False,
    ) -> Placed:  # fmt: skip
        """Copy entries to another place, of any kind, as ``torchkeeper copy``. What is there stays.

        to: a place, or the name of one; ``*.torchcache`` makes a bundle.
        with_needed: also copy what the entries need.
        secrets, python: as for ``export``.
        trust: as for ``import_``, if this place is a file.
        replace: replace a bundle that is there.
        direct: from one machine to another by the ssh of the first, not by way of this one.
        only_usable: only what ``python`` can use, and what that needs, as ``--only usable``.
        """
        from torchkeeper.client import carrying

        target = to if isinstance(to, Place) else open(to)
        if direct and len({self._machine, target._machine} - {""}) < 2:
            why = "direct is for places on two other machines."
            raise misuse("Nothing was copied.", why, "Leave it out.")
        into, from_file = target._scheme.becomes(target.name), carrying.is_bundle(self.name)
        brings = from_file and into != "bundle" and not trust
        if brings and (self._machine or self._signature(self.name)["status"] != "trusted"):
            raise _untrusted("copied")
        facts, crosses = None, self._machine != target._machine
        if (into == "bundle" or crosses) and not from_file:
            facts = self._maker(python)
        asked: bundles.CopyParams = {
            "place": self.name, "into": target.name,
            "select": self._select(filter, python, only_usable), "alone": not with_needed,
            "replace": replace, "secrets": told_secrets(secrets),
            "builders": carrying.builders(facts),
        }  # fmt: skip
        if crosses:
            from torchkeeper.client import crossing

            left: list[Error] = []

            def ask(asker: Asker, signed: bool, op: str, asked: Mapping[str, Any]) -> Any:
                answer = asker.ask(op, only_signed=signed, **asked)
                left.extend(answer.left)
                return answer.result

            # The environment that is named is of the place that has built them.
            given = python if from_file else None
            # In one order, also where another thread copies back.
            first, second = sorted((self._asker, target._asker), key=id)
            with first.lock, second.lock:
                asks = partial(ask, self._asker, False), partial(ask, target._asker, brings)
                done = crossing.copy(
                    asked, *asks, lambda file: target._tell_names([file], given), direct=direct
                )
            return _placed(target.name, done, left)
        with self._asker.lock:
            names = from_file and into == "folder"
            env = self._tell_names([self.name], python) if names else None
            answer = self._asker.ask(protocol.COPY, only_signed=brings, env=env, **asked)
        return _placed(target.name, answer.result, answer.left)

    def purge(
        self, filter: str = "", *, stale: bool = False, broken: bool = False,
        orphans: bool = False, older: timedelta | None = None, keep: int | None = None,
        verdicts_for: Name | Iterable[Name] = (), in_use: bool = False, unknown_too: bool = False,
    ) -> Plan:  # fmt: skip
        """A plan of a purge, as ``torchkeeper purge --dry-run`` shows it; only its ``apply``
        removes something. A filter selects what matches; each other argument selects what it says.
        Together they select what matches, and what at least one argument says. The filter
        ``"size>=0"`` matches all.

        stale: what no environment can use, neither those known on this machine nor those of
        ``verdicts_for``.
        broken: what cannot be read, or lacks what it needs.
        orphans: what nothing needs.
        older: what was not used for this time.
        keep: bytes that may stay; what was used longest ago goes first.
        verdicts_for: an interpreter with torch, or several, for ``stale`` and for a filter that
        asks for verdicts.
        in_use: also what processes use.
        unknown_too: with the filter ``kind:unknown``, also files that no known writer wrote.
        """
        select: Select = {"filter": filter, "stale": stale, "broken": broken, "orphans": orphans,
                          "older": _seconds(older), "keep": keep,
                          "unknown": unknown_too}  # fmt: skip
        if not (filter.strip() or stale or broken or orphans or (older, keep) != (None, None)):
            raise misuse(
                "Nothing says what to purge.",
                "An empty filter matches everything; an empty variable hardly means that.",
                'Pass a filter; purge("size>=0") purges everything.',
            )
        pythons = [self._python(one) for one in several_of(verdicts_for)]
        if stale:
            every = probes.everywhere(pythons, self._machine)
            if (refusal := every.refusal()) is not None:
                raise refusal
            pythons = [python for python, _ in every.envs]
        elif not pythons and probes.asks_verdicts(filter):
            pythons = [self._python(None)]
        elif not pythons and broken and self._scheme.has_trash:
            with contextlib.suppress(Error):  # only verdicts tell what lacks what it needs
                probes.environment(self._python(None))
                pythons = [self._python(None)]
        with self._asker.lock:
            select["envs"] = self._know(pythons)
            answer = self._ask(protocol.PLAN_PURGE, select=select, in_use=in_use)
        told: dead.PlanPurgeResult = answer.result
        users = [user_of_place(one) for one in told["in_use"]["processes"]]
        unseen = unseen_users(told["in_use"])
        return Plan(
            entries_of(answer.rows, answer.left),
            told["files"],
            told["bytes"],
            (*users, *([unseen] if unseen else [])),
            told.get("shared", ""),
            told["plan"],
            self,
        )

    def undo(self, receipt: Receipt | None = None) -> Placed:
        """Put back what a purge moved to the trash, as ``torchkeeper undo``; by default undo the
        latest purge or import: what an import has placed moves to the trash. A server has no trash.
        """
        if not self._scheme.has_trash or (receipt is not None and receipt.id is None):
            why = "The purge used no trash: on a server, or with now=True, it removes for good."
            raise misuse("There is nothing to undo.", why, "Copy the entries again, or warm them.")
        answer = self._ask(protocol.UNDO, receipt=receipt and receipt.id, rows=False)
        return _placed(self.name, answer.result, answer.left)

    def warm(
        self, recipes: Name | Iterable[Name], *, python: Name | None = None, jobs: int = 1,
        device: str | None = None, threads: int | None = None, portable: bool = False,
        limit: timedelta | None = None, trust: bool = False,
    ) -> Warmed:  # fmt: skip
        """Compile recipes into this folder, as ``torchkeeper warm``. If a variant does not compile,
        this raises no error: the variant has failed (``Warmed.ok``).

        recipes: files, or folders of them.
        python: the interpreter whose torch compiles; by default TORCHKEEPER_TORCH_PYTHON, or else
        the interpreter of the script.
        jobs: how many processes compile at a time.
        device: "cpu", "cuda" and so on, if a recipe names none; by default the best one.
        threads: the number of threads of the programs; it is part of the keys.
        portable: without precompiled headers: programs that use the cache build nothing.
        limit: how long a variant may take.
        trust: say that you trust the machine that a recipe was recorded on (``run --recipe``). It
        names what is run, so elsewhere this is Error("untrusted") without it.
        """
        from torchkeeper.client.recipes import files, sending, strange

        self._check_folder()
        names = [os.path.expanduser(os.fspath(one)) for one in several_of(recipes)]
        if not names:
            raise misuse("There is no recipe.", "", "Name a recipe, or a folder of them.")
        wired = files.wire(names)
        if not trust:
            strange.check(wired, self._machine)
        params: compiling.WarmParams = {
            "into": self.name, "recipes": wired, "jobs": jobs,
            "device": device, "threads": threads, "portable": portable, "each": True,
            "limit_s": _seconds(limit),
        }  # fmt: skip
        if self._machine:
            params = {**params, **sending.send(self._machine, wired)}
        with contextlib.closing(Asker(self._progress, self._python(python))) as asker:
            answer = asker.ask(protocol.WARM, **params)
        return Warmed(tuple(_variants_of(answer)), answer.result["added"])

    def _ask(self, op: str, *, only_signed: bool = False, **params: object) -> Answer:
        return self._asker.ask(op, only_signed=only_signed, place=self.name, **params)

    def _fetched(self, made: str, output: str, size: int, replace: bool, key: str | None) -> int:
        """Have a bundle come here from the machine, signed by a key of here; its size then."""
        from torchkeeper.client import crossing
        from torchkeeper.client.engines import ferry

        if not key:
            ferry.fetch(made, output, size, replace)
            return size
        with contextlib.closing(Asker(self._progress)) as here:
            crossing.fetch_signed(
                lambda op, **asked: here.ask(op, **asked).result, made, output, size, key, replace
            )
        return os.path.getsize(output)

    def _check_folder(self) -> None:
        if not self._scheme.is_files:
            why = f"{self.name} is a server."
            raise misuse("A folder is needed.", why, "Fill a folder, and copy it to the server.")

    def _result(self, op: str, **params: Any) -> Any:
        return self._asker.ask(op, **params).result

    def _know(self, pythons: list[str]) -> list[str]:
        with self._asker.turn() as engine:
            return probes.know(engine, pythons)

    def _select(self, filter: str, python: Name | None, only_usable: bool = False) -> Select:
        """A selection by a filter, with the environment for the verdicts that it asks for; or only
        what that can use.
        """
        asks = only_usable or probes.asks_verdicts(filter)
        chosen: Select = {
            "filter": filter, "envs": self._know([self._python(python)] if asks else [])
        }  # fmt: skip
        return {**chosen, "fits": True} if only_usable else chosen

    def _tell_names(
        self, files: list[str], python: Name | None, wanted: bool = False
    ) -> str | None:  # fmt: skip
        """As ``carrying.tell_names``; the environment that the entries are for."""
        from torchkeeper.client import carrying

        given = self._named(python)
        find = partial(carrying.here_of, given, files, self._machine)
        with self._asker.turn() as engine:
            here, _ = carrying.tell_names(engine, files, find, bool(given) or wanted)
        return here and here.python

    def _signature(self, file: str) -> bundles.SignatureResult:
        """Of a file on this machine: who is trusted is known here."""
        from torchkeeper.client.signers import signers_file

        asker = Asker(self._progress) if self._machine else self._asker
        answer = asker.ask(protocol.SIGNATURE, file=file, signers=signers_file())
        found: bundles.SignatureResult = answer.result
        if self._machine:
            asker.close()
        return found

    def _maker(self, python: Name | None) -> Env | None:
        """The facts of the interpreter that may have built objects of the place."""
        from torchkeeper.client import carrying

        if not carrying.may_have_objects(self.name):
            return None
        return carrying.maker_of(self._named(python), self.name)

    def _named(self, python: Name | None) -> str | None:
        """What an interpreter is called; “~” is of its machine."""
        return os.fspath(python) if python is not None and self._machine else _given(python)

    def _python(self, python: Name | None) -> str:
        """The interpreter that is meant, of the place's machine. Raises Error."""
        return interpreters.chosen(self._named(python), self._machine)


@dataclass(frozen=True)
class Plan:
    """Exactly what a purge removes; nothing is gone yet.

    Attributes:
        entries: what goes.
        files: how many files go.
        size: bytes that become free on the disk; on a server, bytes of the contents.
        in_use: sentences that say which processes use the place, or may use it. What they use is
            not in the plan, unless it was made with ``in_use``.
        shared: if other machines may use the place, the type of its file system; else "".
    """

    entries: Entries
    files: int
    size: int
    in_use: tuple[str, ...]
    shared: str
    _number: int = field(repr=False)
    _place: Place = field(repr=False)

    def apply(self, *, now: bool = False, shared: bool = False) -> Receipt:
        """Carry it out: move its entries to the trash of the folder; with ``now``, and on a server,
        remove them for good. What has changed since stays. Raises Error, also if the place was
        closed, or has made several other plans since ("plan-unknown"), and, without ``shared``, if
        other machines may use the place (``Plan.shared``).
        """
        if not self.files:
            return Receipt(0, 0, 0, (), None, self._place)
        if self.shared and not shared:
            raise misuse(
                "Other machines may use the place, too.",
                f"{printable(self._place.name)} is on {printable(self.shared, 40)}.",
                "Pass shared=True if nobody there needs what goes.",
            )
        answer = self._place._ask(protocol.PURGE, plan=self._number, now=now)
        done: dead.PurgeResult = answer.result
        return Receipt(done["entries"], done["files"], done["bytes"], tuple(answer.left),
                       done["receipt"], self._place)  # fmt: skip


@dataclass(frozen=True)
class Receipt:
    """What a purge has removed.

    Attributes:
        entries: how many entries are gone.
        files: how many files are gone.
        size: bytes of these, as the plan said.
        left: what of the plan stays, and why.
        id: the name of the purge in the trash; None if you cannot undo it.
    """

    entries: int
    files: int
    size: int
    left: tuple[Error, ...]
    id: str | None
    _place: Place = field(repr=False)

    def undo(self) -> Placed:
        """Put everything back. Raises Error, also if the purge removed for good."""
        return self._place.undo(self)


def import_each(
    *files: Name,
    trust: bool = False,
    python: Name | None = None,
    progress: OnProgress | None = None,
) -> tuple[Placed, ...]:
    """Place the entries of bundles, each in the cache that it is of, where this machine has that:
    by its variables and defaults, as ``torchkeeper import --into-each``. One Placed for each cache;
    what has no place here stays.

    trust, python: as for ``Place.import_``.
    progress: as for ``open``.
    """
    paths = [_file(file) for file in files]
    if not paths:
        raise misuse("There is no file to import.", "", "Name a bundle or a mega-cache.")
    with contextlib.closing(Asker(progress)) as asker:
        found: bundles.CachesResult = asker.ask(protocol.CACHES, files=paths).result
    done = []
    for row in found["caches"]:
        if row["into"]:
            place = open(row["into"], progress=progress)
            with contextlib.closing(place):
                done.append(place._import(paths, trust, python, cache=row["cache"]))
    return tuple(done)


def _variants_of(answer: Answer) -> list[Variant]:
    """The variants of a warm-up in their order, each as it was told last."""
    variants: dict[int, dict[str, object]] = defaultdict(dict)
    told: list[Any] = [one["variant"] for one in answer.findings if "variant" in one]
    begun: list[Any] = [variant for one in answer.findings for variant in one.get("variants", ())]
    for one in [*begun, *told, *answer.result["variants"]]:
        if isinstance(one, dict):  # else only its number
            variants[one["index"]] |= one
    return [variant_of(cast("VariantFinding", variants[index])) for index in sorted(variants)]


def _placed(into: str, done: Mapping[str, Any], left: Iterable[Error]) -> Placed:
    counts = done["entries"], done["files"], done["bytes"], done.get("exists", 0)
    return Placed(into, *counts, tuple(left))


def _given(python: Name | None) -> str | None:
    return None if python is None else os.path.expanduser(os.fspath(python))


def several_of(names: Name | Iterable[Name]) -> list[Name]:
    """One, or several."""
    return [names] if isinstance(names, (str, os.PathLike)) else list(names)


def _seconds(time: timedelta | None) -> float | None:
    return None if time is None else time.total_seconds()


def _file(path: Name) -> str:
    """The absolute path of a file or folder on this machine. Raises Error("wrong-usage")."""
    text = os.path.expanduser(os.fspath(path))
    if not text or not scheme_of(text).local:
        raise misuse(
            "A path is needed.", "It is empty, or the address of a server.", "Name a file."
        )
    return os.path.abspath(text)


def told_secrets(secrets: Secrets) -> Sent | None:
    """The same as an engine is told. Raises Error("wrong-usage")."""
    if secrets not in _SECRETS:
        choices = ", ".join(f'"{one}"' for one in _SECRETS)
        raise misuse(f"secrets cannot be {secrets!r}.", "", f"It is one of {choices}.")
    return _SECRETS[secrets]


def _untrusted(done: str) -> Error:
    return Error(
        f"Nothing was {done}: no signer that you trust has signed the file.",
        "It holds code: PyTorch runs it the next time a program compiles with the cache.",
        "Pass trust=True if you trust whoever made it, or let one of your signers sign it.",
        code="untrusted",
    )
