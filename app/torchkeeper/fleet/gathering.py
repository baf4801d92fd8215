"""The place of a fleet: what is in it, what of it a kind of node can use, and the bundles of nodes
that are merged into it, without doubles.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts import remote
from torchkeeper.client import carrying, crossing, temporary
from torchkeeper.client.engines import far
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import COPY, EXPORT, HOLD, KNOW, LIST, SECRET, TARGET
from torchkeeper.stores.names import SUFFIX, scheme_of

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import Env

#: Kind and key of an entry.
Name = tuple[str, str]
#: Entries that are named at a time.
_HELD = 1000
#: The problem of an export that would have been empty, or of a place that is not there yet.
_NOTHING = frozenset({"place-missing", "file-missing", "nothing-to-export"})
#: Findings that are told.
_TOLD = 5000


class Gathering:
    """The place ``into``. secrets: what is done about those in entries, as of an export, where
    others may read the place. passwords: of servers.
    """

    def __init__(
        self, into: str, secrets: str | None, passwords: Mapping[str, str],
        found: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> None:  # fmt: skip
        """found: hears of secrets, and of what the place did not take."""
        self.into, self._secrets, self._found = into, secrets, found
        self._scheme = scheme_of(into)
        #: A bundle is written once, at the end.
        self.at_the_end = self._scheme.becomes(into) == "bundle"
        #: Nodes wait while what they sent is read; what is merged is not to wait for all of them.
        self._engine, self._reader = _Asked(far.machine_of(into) or None), _Asked()
        self._tells = _TOLD
        for place, password in passwords.items():
            self._engine.ask(SECRET, {"place": place, "password": password})

    def close(self) -> None:
        self._engine.close_and_wait()
        self._reader.close_and_wait()

    def _tell(self, body: Mapping[str, Any]) -> None:
        """What is found where something goes into the place, up to a bound."""
        for name in ("secret", "left"):
            if name in body and self._tells > 0:
                self._tells -= 1
                self._found({name: body[name]})

    def there(self) -> bool:
        """Whether there is anything yet."""
        if not self._scheme.local:
            return True
        return os.path.isfile(self.into) or (
            os.path.isdir(self.into) and bool(os.listdir(self.into))
        )

    def held(self) -> frozenset[Name]:
        """The kind and key of each entry in the place. Raises UserError."""
        return _names(self._rows())

    def _rows(self) -> list[Any]:
        rows: list[Any] = []
        if self.there():
            try:
                self._engine.ask(LIST, {"place": self.into}, rows)
            except UserError as e:
                if failed(e):
                    raise
        return rows

    def names(self, file: str) -> frozenset[Name]:
        """The same of a bundle of here, whatever its maker says of it. Raises UserError."""
        rows: list[Any] = []
        self._reader.ask(LIST, {"place": file}, rows)
        return _names(rows)

    def keep(self, file: str, every: frozenset[Name], kinds: Collection[str]) -> frozenset[Name]:
        """Have a bundle of here, which holds these, hold only what is of some kinds; the kind and
        key of each entry that it has then: of none it is as it was. Raises UserError.
        """
        strange = frozenset(name for name in every if name[0] not in kinds)
        if rest := {kind for kind, _ in every - strange} if strange else ():
            asked = {"place": file, "output": file, "replace": True, "secrets": "allow",
                     "select": {"filter": f"kind:{','.join(sorted(rest))}"}}  # fmt: skip
            self._reader.ask(EXPORT, asked)
        return every - strange

    def takes(self, kind: str) -> bool:
        """Whether the place holds entries of a kind at all."""
        return not self._scheme.remote_cache or kind in remote.KINDS

    def usable(self, facts: Env | None, file: str) -> bool:
        """Write what an environment can use of the place to a bundle, or without one the kernels of
        Triton, which are looked up without their GPU; whether that is anything. Raises UserError.
        """
        if not self.there():
            return False
        select: dict[str, object] = {"filter": "kind:triton"}
        if facts:
            name = str(facts.get("executable") or facts["python"])
            self._engine.ask(KNOW, {"python": name, "env": facts})
            select = {"fits": True, "envs": [name]}
        return self._export(select, file, facts)

    def besides(self, known: Collection[Name], file: str) -> frozenset[Name]:
        """Write what the place has besides what is known to a bundle; what that is. Raises
        UserError.
        """
        new = [row for row in self._rows() if (row["kind"], row["key"]) not in known]
        for start in range(0, len(new), _HELD):
            items = [(row["kind"], row["path"]) for row in new[start : start + _HELD]]
            self._engine.ask(HOLD, {"items": items})
        return _names(new) if new and self._export({"held": True}, file) else frozenset()

    def _export(self, select: Mapping[str, object], file: str, facts: Env | None = None) -> bool:
        made, machine = file, far.machine_of(self.into)
        if machine:
            from torchkeeper.client.engines import ferry

            made = ferry.name(machine)
        asked = {
            "place": self.into, "output": made, "needs": True, "secrets": "allow",
            "select": select, "builders": carrying.builders(facts),
        }  # fmt: skip
        result = self._engine.ask(EXPORT, asked)
        if machine and result["entries"]:
            ferry.fetch(made, file, self._engine.ask(TARGET, {"path": made})["size"])
        return bool(result["entries"])

    def take(self, file: str) -> frozenset[Name]:
        """Put what a bundle holds into the place; what of a folder was new. Raises UserError."""
        # Of hundreds of receipts, for undo, the user's own would not be kept.
        return _names(self._copy(file, {"secrets": self._secrets, "noted": False}))

    def _copy(self, file: str, asked: Mapping[str, object]) -> list[Any]:
        """Copy a bundle of here to the place; the rows of what was put into a folder."""
        rows: list[Any] = []

        def there(op: str, params: Mapping[str, object]) -> Any:
            heard = self._tell if op == COPY else None
            return self._engine.ask(op, params, rows if op == COPY else None, heard)

        about: Any = {**asked, "place": file, "into": self.into}
        if not far.machine_of(self.into):
            there(COPY, about)
        else:
            with Engine() as here:
                crossing.copy(about, here.call, there, lambda _: None)
        return rows

    def merge(self, files: Sequence[str], output: str) -> None:
        """Write what some bundles of here hold to another. Raises UserError."""
        first, *also = files
        asked = {"place": first, "also": also, "output": output, "secrets": "allow"}
        self._reader.ask(EXPORT, asked)

    def write(self, files: Sequence[str]) -> None:
        """Have the bundle hold what these do, besides what it holds. Raises UserError."""
        if far.machine_of(self.into):
            self._write_there(files)
            return
        first, *also = [*([self.into] if os.path.isfile(self.into) else []), *files]
        asked = {"place": first, "also": also, "output": self.into, "replace": True,
                 "secrets": self._secrets}  # fmt: skip
        self._engine.ask(EXPORT, asked, heard=self._tell)

    def _write_there(self, files: Sequence[str]) -> None:
        with temporary.folder("fleet") as folder, Engine() as here:
            before, whole = (os.path.join(folder, f"{name}{SUFFIX}") for name in ("before", "all"))
            asked: Any = {"place": self.into, "into": before, "secrets": "allow"}
            if self._rows():
                crossing.copy(asked, self._engine.ask, here.call, lambda _: None)
                files = [before, *files]
            self.merge(files, whole)
            self._copy(whole, {"secrets": self._secrets, "replace": True})


class _Asked(Engine):
    """An engine that several threads ask, one after another."""

    def __init__(self, machine: str | None = None) -> None:
        super().__init__(machine)
        self._lock = threading.Lock()

    def ask(
        self, op: str, params: Mapping[str, object], rows: list[Any] | None = None,
        heard: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> Any:  # fmt: skip
        """The result of one operation. rows, heard: get its rows and findings. Raises UserError."""
        from torchkeeper.placing.machines import converse

        def hear(message: protocol.Message) -> None:
            if rows is not None:
                rows.extend(message.rows)
            if heard and message.type == "finding":
                heard(message.body)

        with self._lock:
            return converse(self, op, dict(params), hear, threading.Event())


def _names(rows: Sequence[Any]) -> frozenset[Name]:
    return frozenset((str(row["kind"]), str(row["key"])) for row in rows)


def failed(error: UserError) -> bool:
    """Whether it says more than that there is nothing."""
    return error.code not in _NOTHING
