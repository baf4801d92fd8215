"""The operations of the doctor: what is looked at is looked at once, and all checks share it."""

from __future__ import annotations

import os
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.doctor.check import Check, FolderLook, MachineLook, ServerLook
from torchkeeper.doctor.checks import CHECKS
from torchkeeper.engine import protocol
from torchkeeper.engine.session import Session, place_of, tell_cut_off
from torchkeeper.settings.masks import taken
from torchkeeper.settings.servers import places_of, servers
from torchkeeper.stores import places
from torchkeeper.stores.dead import Dead
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders import receipts
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.mounts import mount_of
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.redis.address import from_environment

if TYPE_CHECKING:
    from torchkeeper.engine.messages import doctor as msg


def diagnose(session: Session, params: msg.DiagnoseParams, report: Report) -> msg.DiagnoseResult:
    """Findings ``found``, a settings.finding.Finding as JSON, with the ``check`` that found it.

    values: the variables that a program would have, None for those of this engine, and with
    ``machine`` also for what these lead to; variables: the names of others that are set.
    facts, toolchain: as a probe and ``toolchain`` tell, or empty. machine: whether to look at the
    other caches of this user. reads: folders that other environments use. only: names of checks,
    for these alone. The result has ``checks``, the names of those that were made, and ``left``,
    those that could not be.
    """
    doctor = _Doctor(session, params, report)
    doctor.run(bool(params.get("machine")))
    return {"checks": list(dict.fromkeys(doctor.made)), "left": doctor.left}


def toolchain(_: Session, params: msg.ToolchainParams, report: Report) -> msg.ToolchainResult:
    """What this interpreter can do: as ``doctor.toolchain.examine``."""
    from torchkeeper.doctor.toolchain import examine

    return examine(params.get("limit_s"), report)


class _Doctor:
    """One diagnosis. made: checks; left: those that could not be."""

    def __init__(self, session: Session, params: msg.DiagnoseParams, report: Report) -> None:
        self._session, self._report = session, report
        self._facts = params.get("facts", {})
        self._places, reads = params["places"], list(params.get("reads", ()))
        values, names = params.get("values", {}), params.get("variables")
        if values is None:
            values, names = taken(os.environ), list(os.environ)
            own = places_of(self._facts, values)
            reads += filter(os.path.isabs, own)
            if params.get("machine"):
                self._places = list(dict.fromkeys([*self._places, *own]))
        self._values = values
        self._toolchain = params.get("toolchain", {})
        self._variables = None if names is None else frozenset(names)
        self._reads = frozenset(map(os.path.realpath, reads))
        only = params.get("only")
        self._checks = [one for one in CHECKS if only is None or one.name in only]
        self.made: list[str] = []
        self.left: list[msg.LeftCheck] = []
        self._done, self._total = 0, 0

    def run(self, machine: bool) -> None:
        wanted = [place_of(place) for place in self._places]
        counts = Counter(check.about for check in self._checks)
        servers = [place for place in wanted if scheme_of(place).checks == "server"]
        folders = [place for place in wanted if scheme_of(place).checks == "folder"]
        self._total = len(folders) * counts["folder"] + len(servers) * counts["server"]
        self._total += counts["machine"]
        looks = []
        # Who only asks what a disk is like has nothing read, and nothing brought to its end.
        brief = not any(one.reads for one in self._checks)
        for place in folders:
            looks.append(look := self._folder(place, brief))
            self._make("folder", look, place)
        for place in servers:
            if counts["server"]:
                self._make("server", self._server(place), place)
        if counts["machine"]:
            others = self._others(looks) if machine else None
            about = MachineLook(
                self._facts, self._values, self._toolchain, self._reads, looks, self._report,
                others, os.environ.get(protocol.INDEX), self._variables,
            )  # fmt: skip
            self._make("machine", about, "")

    def _make(self, about: str, look: Any, place: str) -> None:
        for check in self._checks:
            if check.about == about:
                self._report.check()
                self._report.progress(self._done, self._total, "checks")
                self._check(check, look, place)
                self._done += 1
        self._report.progress(self._done, self._total, "checks")

    def _check(self, check: Check, look: Any, place: str) -> None:
        try:
            for finding in check.find(look):
                self._report.finding(found=finding.to_json(), check=check.name)
            self.made.append(check.name)
            return
        except Problem as e:
            problem = e
        except OSError as e:
            path = str(e.filename or place)
            problem = Problem("check-failed", why=e.strerror or str(e), path=path)
        except Cancelled:
            raise
        except Exception as e:  # noqa: BLE001 - a bug is of one check, and shall not hide the others
            traceback.print_exc()
            problem = Problem("engine-bug", why=f"{type(e).__name__}: {e}"[:400])
        self.left.append(
            {"check": check.name, "place": place, "code": problem.code, "params": problem.params}
        )

    def _folder(self, place: str, brief: bool = False) -> FolderLook:
        """One walk, one reading of what the index does not have, one judgement."""
        look = FolderLook(place, os.path.realpath(place), self._report)
        look.mount = mount_of(look.root)
        look.exists = os.path.isdir(look.root)
        if not look.exists and not os.path.lexists(look.root):
            return look  # nothing is wrong with that: PyTorch makes it
        try:
            if not brief:
                tell_cut_off(place, self._report)
            store = Folder(place)
        except Problem as problem:
            look.problem = problem
            return look
        look.store, look.items = store, store.survey(self._report)
        look.trash = sum(one["bytes"] for one in receipts.in_trash(look.root))
        if brief:
            return look
        from torchkeeper.engine.verdicts import judged

        batches, found = store.entries(self._session, self._report, look.items), list[Described]()
        envs = [self._facts] if self._facts.get("torch") else []
        for some, said in judged(self._session.reader, store, batches, envs, self._report):
            look.verdicts += said if envs else ()
            for one in some:
                if one.entry.kind == "triton":
                    one.facts = {}  # nobody asks for them, and there may be very many
            found += some
        look.dead = Dead(found, [None] * len(found), store.whole, allocated=True, now=time.time())
        return look

    def _others(self, looks: Iterable[FolderLook]) -> list[FolderLook]:
        """The other caches of this user, only listed."""
        known = {look.root for look in looks}
        found = []
        for one in places.find():
            root = os.path.realpath(one.path)
            if not scheme_of(one.path).local or not one.exists or root in known:
                continue
            known.add(root)
            if os.stat(root).st_uid == os.geteuid():
                found.append(self._folder(one.path, brief=True))
        return [one for one in found if one.store is not None]

    def _server(self, place: str) -> ServerLook:
        from torchkeeper.stores.redis.server import look
        from torchkeeper.stores.redis.store import Redis

        named = {str(one.address): one for one in from_environment(self._values)}
        mine = named.get(place)
        used = place in servers(self._values, self._facts.get("torch"))
        role = "triton" if mine and mine.reason.startswith("TRITON") else "torch" if used else ""
        # What PyTorch would give, and nothing that only we know.
        password = mine.password if mine else self._session.secrets.get(place)
        about = ServerLook(place, role)
        for given in (password, None):
            try:
                with Redis(place, self._report, given) as store:
                    about.page = look(store)
                break
            except Problem as problem:
                about.problem = about.problem or problem
                # A server that wants none can be looked at all the same.
                if problem.code != "password-unneeded":
                    break
        return about
