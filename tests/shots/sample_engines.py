"""Engines that answer with what is made up, for the pictures."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QTimer

from tests.shots import (
    sample_compare,
    sample_doctor,
    sample_jobs,
    sample_keys,
    sample_leaks,
    sample_overview,
    sample_profiles,
    sample_recipes,
    sample_runs,
    sample_vllm,
    samples,
)
from torchkeeper.artifacts.entry import COUNTED_APART, KINDS, Entry, measured, tallied, tally
from torchkeeper.artifacts.shapes import Amount, Sized
from torchkeeper.client import manual, secrets
from torchkeeper.client.kept import history
from torchkeeper.client.kept.history import Past, Running
from torchkeeper.client.kept.runs import Kept
from torchkeeper.client.kept.targets import Gone
from torchkeeper.client.kept.targets import Kept as KeptTarget
from torchkeeper.client.kept.verified import Verified
from torchkeeper.client.profiles.profile import Profile
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine.messages.findings import Finding
from torchkeeper.engine.messages.verdicts import VllmRow
from torchkeeper.engine.protocol import TABLE, misfit
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener, P
from torchkeeper.gui.background.lookups import At, PastJobs, Revealed, Room
from torchkeeper.gui.pages.fleet import earlier
from torchkeeper.gui.pages.profiles import drafts as known_profiles
from torchkeeper.gui.pages.recipes import known as known_recipes
from torchkeeper.gui.pages.recipes.known import Listed
from torchkeeper.gui.places import targets as places_targets
from torchkeeper.stores.folders.in_use import InUse
from torchkeeper.stores.names import scheme_of

_BUNDLES = (".torchcache", ".bin")


class SampleEngines(Engines):
    """Answers from the samples; starts neither thread nor process.

    entries: what every place holds, None for the usual.
    places: whether caches are found on this machine.
    silent: operations that are never answered, after what ``found`` has to say.
    failing: the error that an operation ends with.
    progress: how far an operation says it is: done, total, unit.
    found: findings that an operation tells before it ends.
    cause: what makes two entries different (sample_compare.ROWS); empty where there is no other.
    kept_profiles: the profiles that there are.
    variants: what is known of the variants of recipes before they are warmed.
    no_recipes: there is none but the built-in one.
    no_keys, no_signers: there is nothing to sign with, nobody who is trusted.
    signers_required: only what signers have signed is imported.
    all_answer: there is no interpreter that hangs.
    verifications: what places were last verified to be, and whether they have changed since.
    in_use: what a plan to purge says of processes (folders/in_use.py); they keep two entries.
    """

    def __init__(
        self,
        entries: list[Entry] | None = None,
        *,
        places: bool = True,
        silent: Collection[str] = (),
        failing: Mapping[str, UserError] | None = None,
        progress: Mapping[str, tuple[float, float | None, str]] | None = None,
        found: Mapping[str, list[Any]] | None = None,
    ) -> None:
        super().__init__(idle=True)
        self.entries = samples.entries() if entries is None else entries
        self.silent = set(silent)
        self.failing = dict(failing or {})
        self.progress = dict(progress or {})
        self.found: dict[str, list[Any]] = dict(found or {})
        self.in_use: dict[str, Any] = {}
        #: Who else can change what lies in the places (folders.owners).
        self.owners: list[dict[str, Any]] = []
        #: Whether what is to leave holds secrets.
        self.leaky = False
        self.kept = Kept(sample_runs.runs(), 0)
        self.past = sample_jobs.kept()
        #: What other processes run.
        self.elsewhere: list[Running] = []
        self.verifications: dict[str, tuple[Verified, bool]] = {}
        self.cause = "settings"
        self.no_recipes = False
        #: The recipes that there are instead of the usual.
        self.listed_recipes: list[Listed] | None = None
        #: How many entries a plan to purge takes.
        self.goes = 12
        self.no_keys = self.no_signers = self.signers_required = False
        self.variants: list[Any] = []
        #: What the doctor's look comes to; what it finds is in ``found``.
        self.diagnosed: dict[str, Any] = {"checks": [], "left": []}
        self.kept_profiles = sample_profiles.kept()
        self.all_answer = False
        #: Whether other machines have no environment with a torch.
        self.bare_there = False
        #: The sums of all places, and whether a server does not answer.
        self.overviewed: list[dict[str, Any]] = []
        #: The keys of vLLM's in every place.
        self.vllm: list[VllmRow] = []
        self.server_gone = False
        #: The targets of fleets that are kept.
        self.targets: list[KeptTarget] = []
        self._places = places
        self._read_only: set[str] = set()

    def background(
        self,
        listener: Listener,
        function: Callable[P, object],
        /,
        *args: P.args,
        **more: P.kwargs,
    ) -> int:
        """Answer after a turn of the event loop; of what the samples do not have, never."""
        looks: dict[Callable[..., Any], Callable[..., int]] = {
            lookups.paths: self._paths,
            lookups.room: self._room,
            lookups.offered: self._offered,
            lookups.revealed: self._revealed,
            lookups.interpreters: self._interpreters,
            secrets.can_keep: self._keyring,
            lookups.runs: self._runs,
            lookups.past_jobs: self._past_jobs,
            places_targets.changed: self._targets,
            earlier.every: self._earlier,
            known_recipes.listed: self._recipes,
            known_recipes.made: self._recipe_variants,
            known_recipes.text: self._recipe_text,
            known_recipes.looked: self._recipe_looked,
            known_profiles.listed: self._profiles,
            known_profiles.offered: self._profile_offered,
            known_profiles.written: self._profile_written,
            lookups.keys: self._keys,
            lookups.signers: self._signers,
            lookups.last_verified: self._last_verified,
            lookups.mark: self._mark,
            manual.read: self._read_manual,
        }
        if (look := looks.get(function)) is None:
            return self._ticket(listener)
        return look(listener, *args, **more)

    def ask(self, op: str, params: Mapping[str, Any], listener: Listener, **how: Any) -> int:
        """Answer after a turn of the event loop, as an engine would."""
        ticket = self._ticket(listener)
        if op == "probe":
            params = {**params, "python": how.get("python")}
        QTimer.singleShot(0, self, lambda: self._answer(ticket, op, params))
        return ticket

    def _paths(self, listener: Listener, paths: Any) -> int:
        """Every path is a folder, or a file where its name ends so; what is called gone is."""
        return self._tell([At(path, _what(path)) for path in paths], listener)

    def _room(self, listener: Listener, path: str) -> int:
        """Every disk but a full one has room; what is there, nobody says again."""
        free = 712_000_000 if "full" in path else 412_300_000_000
        return self._tell(Room("", free, 1_920_000_000_000), listener)

    def _offered(self, listener: Listener, paths: Any) -> int:
        """As ``look``, but that a recipe is one."""
        there = [At(path, "recipes" if path.endswith(".toml") else _what(path)) for path in paths]
        return self._tell(there, listener)

    def _revealed(self, listener: Listener, path: str) -> int:
        """Every file is shown."""
        return self._tell(Revealed("file", bool(path)), listener)

    def _interpreters(
        self, listener: Listener, add: str = "", remove: str = "", machine: str = ""
    ) -> int:
        """Those of the samples, unless ``interpreters`` is silent or there is none."""
        if "interpreters" in self.silent:
            return self._ticket(listener)
        every = [] if "interpreters" in self.failing else samples.interpreters(machine)
        every = every[:1] if machine and self.bare_there else every
        less = {remove, samples.BROKEN_PYTHON} if self.all_answer else {remove}
        every = [one for one in every if one["python"] not in less]
        found = {"interpreters": every, "added": add, "problem": None}
        return self._tell(found, listener)

    def _keyring(self, listener: Listener) -> int:
        """There is a keyring."""
        return self._tell(True, listener)

    def give(self, server: str, password: str, listener: Listener, *, keep: bool = False) -> int:
        """Every password is taken."""
        return self._tell(keep and bool(server and password), listener)

    def protected(self, listener: Listener) -> int:
        """The places that were made read-only."""
        return self._tell(sorted(self._read_only), listener)

    def protect(self, place: str, on: bool, listener: Listener) -> int:
        """Every place can be made read-only."""
        self._read_only = self._read_only | {place} if on else self._read_only - {place}
        return self.protected(listener)

    def _read_manual(self, listener: Listener) -> int:
        """The manual as it is, unless it cannot be read."""
        if "manual" in self.failing:
            return self._fail(self.failing["manual"], listener)
        return self._tell(manual.read(), listener)

    def _runs(self, listener: Listener, forget: Sequence[str] = ()) -> int:
        """The runs of the samples, less those that were forgotten."""
        if "runs" in self.silent:
            return self._ticket(listener)
        if forget and "runs" in self.failing:
            return self._fail(self.failing["runs"], listener)
        self.kept = Kept([run for run in self.kept.runs if run.id not in forget], self.kept.damaged)
        return self._tell(self.kept, listener)

    def keep_jobs(self, some: Sequence[Past]) -> None:
        """Nothing is left behind."""

    def tell_running(self, some: Sequence[Running]) -> None:
        """Nobody else sees them."""

    def _past_jobs(self, listener: Listener, forget: Sequence[str] | None = ()) -> int:
        """The history of the samples, less what was forgotten."""
        if "past_jobs" in self.silent:
            return self._ticket(listener)
        jobs = self.past.jobs
        self.past = history.Kept(
            [one for one in jobs if forget is not None and one.id not in forget], self.past.damaged
        )
        told = PastJobs(self.past, self.elsewhere)
        return self._tell_or_fail("past_jobs", told, listener)

    def _targets(self, listener: Listener, *_: object, **__: object) -> int:
        """The targets of fleets that are kept."""
        now = places_targets.Changed(self.targets, Gone())
        return self._tell(now, listener)

    def _earlier(self, listener: Listener) -> int:
        """The last runs of fleets: none."""
        return self._tell([], listener)

    def _recipes(self, listener: Listener, *_: object, **__: object) -> int:
        """Those of the samples."""
        if "recipes" in self.failing:
            return self._fail(self.failing["recipes"], listener)
        listed = self.listed_recipes or sample_recipes.listed(empty=self.no_recipes)
        return self._tell(listed, listener)

    def _recipe_variants(self, listener: Listener, names: Sequence[str]) -> int:
        """What the recipes of the samples make."""
        return self._tell(sample_recipes.made(list(names)), listener)

    def _recipe_text(self, listener: Listener, path: str) -> int:
        """A text of the samples."""
        return self._tell(sample_recipes.PATHS.get(path, ""), listener)

    def _recipe_looked(self, listener: Listener, text: str, path: str) -> int:
        """What a text really comes to."""
        return self._tell(known_recipes.looked(text, path), listener)

    def _profiles(self, listener: Listener) -> int:
        """Those of the samples."""
        return self._tell_or_fail("profiles", self.kept_profiles, listener)

    def _profile_offered(self, listener: Listener, path: str, *how: str) -> int:
        """What a made-up manifest really comes to."""
        if "offered_profile" in self.failing and not any(how):
            return self._fail(self.failing["offered_profile"], listener)
        return self._tell(sample_profiles.offered(path), listener)

    def _profile_written(self, listener: Listener, profile: Profile, form: str, secret: str) -> int:
        """What a profile really comes to."""
        return self._tell(known_profiles.written(profile, form, secret), listener)

    def _keys(self, listener: Listener, file: str = "") -> int:
        """Those of the samples."""
        keys = [] if self.no_keys else sample_keys.KEYS
        why = "" if keys else "No ssh-agent is running."
        told: dict[str, Any] = {"keys": keys, "without_agent": why, "wrong": None}
        if file:
            about = {"file": file, "why": "There is no such file"}
            told["wrong"] = user_error("key-unusable", about)
        return self._tell_or_fail("keys", told, listener)

    def _signers(self, listener: Listener, change: Callable[[], object] | None = None) -> int:
        """Those of the samples, whatever is to be changed."""
        signers = [] if self.no_signers or change is not None else sample_keys.SIGNERS
        told = {"signers": signers, "required": self.signers_required,
                "file": "/home/ada/.config/torchkeeper/allowed_signers"}  # fmt: skip
        return self._tell_or_fail("signers", told, listener)

    def _last_verified(self, listener: Listener, places: Sequence[str]) -> int:
        """What the samples say of places."""
        found = {place: self.verifications[place] for place in places
                 if place in self.verifications}  # fmt: skip
        return self._tell(found, listener)

    def _mark(self, listener: Listener, place: str) -> int:
        """No place ever changes."""
        return self._tell(place, listener)

    def _tell_or_fail(self, name: str, result: object, listener: Listener) -> int:
        error = self.failing.get(name)
        if error is None:
            return self._tell(result, listener)
        return self._fail(error, listener)

    def _fail(self, error: UserError, listener: Listener) -> int:
        ticket = self._ticket(listener)
        QTimer.singleShot(0, self, lambda: self._on_failed(ticket, error, []))
        return ticket

    def _tell(self, result: object, listener: Listener) -> int:
        ticket = self._ticket(listener)
        QTimer.singleShot(0, self, lambda: self._on_result(ticket, result, []))
        return ticket

    def _answer(self, ticket: int, op: str, params: Mapping[str, Any]) -> None:
        listener = self._listeners.get(ticket)
        if listener is None:
            return
        if listener.progress and op in self.progress:
            listener.progress(*self.progress[op])
        if listener.findings:
            listener = listener._replace(findings=_checked(op, listener.findings))
        if listener.findings and op in self.found:
            listener.findings(self.found[op])
        if op in self.silent:
            return
        place = str(params.get("place") or "")
        error = self.failing.get(op)
        if op == "probe" and params.get("python") == samples.BROKEN_PYTHON:
            stuck = {"python": samples.BROKEN_PYTHON, "seconds": 180}
            error = user_error("probe-stuck", stuck)
        if error is None and op == "list" and place.endswith(".txt"):
            error = user_error("not-a-bundle", {"file": place, "path": place})
        if error is not None:
            self._on_failed(ticket, error, [])
            return
        rows, result = self._said(op, place, params, listener)
        # What no engine could have said shows nothing.
        why = misfit(TABLE[op].result, result, op)
        assert not why, why
        if listener.rows and rows:
            listener.rows(rows)
        self._on_result(ticket, result, [])

    def _said(
        self, op: str, place: str, params: Mapping[str, Any], listener: Listener
    ) -> tuple[list[Any], dict[str, Any]]:
        if op == "places":
            reasons = {samples.PLACE: "default", samples.KERNELS: "triton-default"}
            there = reasons.items() if self._places else ()
            keys = {row["folder"]: list[str]() for row in self.vllm}
            for row in self.vllm:
                keys[row["folder"]].append(row["rank"])
            found = [{"path": p, "reason": r, "exists": p == samples.PLACE} for p, r in there]
            found += [
                {"path": f"{sample_vllm.PLACE}/{key}", "reason": "vllm", "exists": True,
                 "ranks": ranks}
                for key, ranks in keys.items()
            ]  # fmt: skip
            return found, {}
        if op in ("list", "plan_purge"):
            all_rows, result = self._listed(op, place)
            rows = all_rows
            in_use: Any = {**InUse().told([]), "left": 0, "stays": tally(())}
            if op == "plan_purge" and self.in_use:
                kept = 0 if params.get("in_use") else len(rows) if self.in_use["all"] else 2
                rows = rows[kept:]
                stays = tally(one.kind for one in all_rows[:kept])
                in_use = {**self.in_use, "left": kept, "stays": stays}
            if op == "plan_purge":
                # What goes is told by the room that comes free.
                size = measured(sum(one.size for one in rows), on_disk=scheme_of(place).on_disk)
                files = sum(one.files for one in rows)
                result = {**tally(one.kind for one in rows), "plan": 1, "files": files,
                          "unknown": {"goes": 0, "stays": 0}, "in_use": in_use,
                          **size}  # fmt: skip
            if op == "plan_purge" and "look" in params["select"]:
                dying = self._dying(place, params["select"])
                result |= dying if params.get("rows") is False else {}
                result["unknown"] = {"goes": 0, "stays": 0}
                rows = rows if params.get("rows", True) else []
            return rows, result
        if op == "variants":
            problems = sum(one["problem"] is not None for one in self.variants)
            return self.variants, {"variants": len(self.variants), "problems": problems}
        if op == "overview":
            rows = self.overviewed
            return rows, sample_overview.result(rows, gone=self.server_gone)
        if op == "vllm":
            return self.vllm, {"count": len(self.vllm)}
        if op == "processes":
            return sample_profiles.PROCESSES, {"count": 2, "hidden": 3, "sees": "all"}
        if op in ("settings", "process_settings"):
            return [], sample_profiles.settled(params.get("pid"))
        if op == "diagnose":
            return [], self.diagnosed
        if op == "toolchain":
            return [], {}
        if op == "mend":
            return sample_doctor.plan(str(params["fix"]), self.entries)
        if op == "signature":
            return [], _signature(str(params["file"]))
        if op == "leaks":
            leaks: Any = sample_leaks.of_entry(self.leaky)
            if listener.findings:
                listener.findings(leaks)
            return [], dict(leaks[-1]["leaks"])
        if op == "runnable":
            return [], sample_leaks.runnable("strange" in place)
        if op == "suggest":
            return [], self._suggested(place)
        if op == "names":
            files = params["files"]
            rows = [{"file": file, "path": "c/x.main.so", "key": "cx"} for file in files]
            return rows, {"count": len(rows)}
        if op == "explain":
            return self._compared(place, params)
        if op == "server":
            return [], samples.server()
        if op == "du":
            # As the list of it adds up.
            held = [
                {"kind": kind, **_amount(ones)} for kind, ones in _by_kind(self.entries).items()
            ]
            if place != samples.PLACE:
                return [], {"kinds": samples.KINDS_ON_SERVER, "trash": None, "orphans": None,
                            "owners": None, "disk_bytes": None}  # fmt: skip
            orphans = [one for one in self.entries if one.orphan]
            return [], {
                "kinds": held,
                "trash": _trash(),
                "orphans": {**_amount(orphans), "whole": True},
                "owners": self.owners,
                "disk_bytes": sum(one.size for one in self.entries),
            }
        if op == "sum":
            return [], _summed(self.entries)
        if op == "factors":
            told = samples.factors()
            return told, {"count": len(told)}
        if op == "text":
            return [], samples.page(str(params.get("name")))
        if op == "probe":
            return [], samples.probed(str(params.get("python")))
        if op == "judge":
            rows = self._listed("list", place)[0]
            if "old" in place:
                rows = [e._replace(torch="2.6.0+cu124") for e in rows if e.torch]
            found, counts = samples.judged(rows, params["envs"][0])
            if listener.findings:
                listener.findings([{"judged": found}])
            return [], counts
        if op in ("detail", "needs"):
            for entry in self.entries:
                if [entry.kind, entry.path] == [params.get("kind"), params.get("path")]:
                    told = samples.detail(entry, self.entries)
                    if listener.findings and op == "detail":
                        listener.findings([{"detail": told}])
                    if op == "needs":
                        return [], samples.related(entry, self.entries)
            if op == "needs":
                return [], {"needs": [], "missing": [], "needed_by": []}
        if op == "facts":
            return [], {"entries": 0}
        if op == "caches":
            return [], {"caches": samples.caches("server" in str(params["files"]))}
        if op == "hold":
            return [], {"held": len(params["items"])}
        if op in ("plan_export", "compare", "target", "copy"):
            return [], _foretold(op, params, self.entries, listener, self.leaky)
        return [], {}

    def _suggested(self, place: str) -> dict[str, Any]:
        """What a look tells of a place; little where there are no entries."""
        disk = scheme_of(place).on_disk
        total = {**tallied(9_204), "locks": 310 * disk, "files": 12_871}
        total |= measured(18_420_000_000, on_disk=disk)
        if not self.entries:
            total = {**tallied(118), "files": 164, **measured(84_100_000, on_disk=disk)}
        rests, headers = ("day", 154_000_000) if disk else (None, 0)
        return {**total, "header_bytes": headers, "look": 1, "rests": rests, "covers": {}}

    def _dying(self, place: str, select: Mapping[str, Any]) -> dict[str, Any]:
        """What goes of a place, for each reason; nothing where there are no entries."""
        disk, share = scheme_of(place).on_disk, 1 if place == samples.PLACE else len(place)
        found = {"stale": (412, 1_284_000_000), "broken": (3, 204_800),
                 "orphan": (57, 96_500_000), "unused": (1_208, 3_910_000_000),
                 "budget": (931, 2_420_000_000), "needless": (1_620, 82_600_000)}  # fmt: skip
        fields = {"orphan": "orphans", "unused": "older", "budget": "keep", "needless": "look"}
        parts: dict[str, Any] = {
            name: {**tallied(count // share), "files": count // share,
                   **measured(size // share, on_disk=disk)}
            for name, (count, size) in found.items()
            if select.get(fields.get(name, name)) and count >= share and self.entries
        }  # fmt: skip
        count, size = (sum(one[x] for one in parts.values()) for x in ("entries", "bytes"))
        return {**tallied(count), "files": count, **measured(size, on_disk=disk),
                "because": parts, "rests": "day" if disk else None}  # fmt: skip

    def _compared(self, place: str, params: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        other = samples.KERNELS if "nearest" in params else place
        graphs = self.entries or samples.entries()
        found = sample_compare.answer(self.cause or "none", graphs, place, other)
        if not self.cause:
            found["b"] = None
        return [dict(row) for row in sample_compare.ROWS[self.cause or "none"]], found

    def _listed(self, op: str, place: str) -> tuple[list[Any], dict[str, Any]]:
        rows = self.entries if op == "list" else self.entries[: self.goes]
        more: dict[str, Any] = {"trash": _trash(), "owners": self.owners}
        if place.endswith(_BUNDLES):
            rows = [entry for entry in rows if entry.kind != "lock" and not entry.problem]
            more = {"made_in": samples.MADE_IN, "format": "torchcache", "trash": None,
                    **samples.CLAIMS}  # fmt: skip
            more["signature"] = _signature(place)
            if "64-cores" in place:
                more["made_in"] = {**samples.MADE_IN, "threads": 64}
            if place.endswith(".bin"):
                more |= {"made_in": None, "format": "mega-cache", "native": None,
                         "objects": 0, "built": 0, "headers": 0, "portable": 0}  # fmt: skip
        if not scheme_of(place).is_files:
            kinds = ("fxgraph", "aotautograd", "triton", "autotune", "pgo")
            rows = [e for e in rows if e.kind in kinds and not e.problem]
            rows = [samples.on_server(entry, number) for number, entry in enumerate(rows)]
            more = {"format": "redis", "trash": None}
        files = sum(entry.files for entry in rows)
        others = {"broken": 0, "unread": 0, "orphans": 0, "apart_files": 0, "apart_bytes": 0}
        return rows, {**_counts(rows), "files": files, **others, **more}


def _checked(op: str, tell: Callable[[list[Finding]], None]) -> Callable[[list[Finding]], None]:
    """Tells findings that an engine could have told."""

    def checked(found: list[Finding]) -> None:
        for one in found:
            why = misfit(Finding, one, op)
            assert not why, why
        tell(found)

    return checked


def _what(path: str) -> str:
    if "/gone." in path:
        return "missing"
    # Not what ends in a version.
    return "file" if os.path.splitext(path)[1][1:2].isalpha() else "folder"


def _signature(file: str) -> dict[str, Any]:
    if "stranger" in file:
        return sample_keys.UNKNOWN
    return samples.SIGNATURE if "signed" in file else sample_keys.NOBODY


def _foretold(
    op: str, params: Mapping[str, Any], every: list[Entry], listener: Listener, leaky: bool
) -> dict[str, Any]:
    """What an engine would say of an export, an import or a copy that is to come.

    A file whose name begins with "there" is there already; into a place that ends in "full"
    there is no room, and where it ends in "same" nothing is new.
    """
    where = str(params.get("into") or params.get("path") or "")
    free = 1_200_000 if "full" in where else 78_100_000_000
    space = {"free": free, "why": None, "exists": "missing" not in where}
    is_there = where.rpartition("/")[2].startswith("there")
    known = dict[str, Any].fromkeys(("size", "mtime"))
    if is_there:
        known = {"size": 12_400_000, "mtime": time.time() - 3 * 86_400}
    # Without an ending it is a folder that a program is to start in.
    what = "missing" if "." in where else "folder"
    there = {"what": "file" if is_there else what, **known, "space": space}
    if op == "target":
        return there
    portable = [entry for entry in every if entry.kind != "lock" and not entry.problem]
    if op == "compare":
        files = [_compared(str(path), portable, "same" in where) for path in params["files"]]
        renamed = 9 if params.get("env") and "same" not in where else 0
        if renamed and listener.findings:
            lefts: Any = [{"left": one} for one in samples.LEFT]
            listener.findings(lefts)
        return {"files": files, "needed": 4_300_000, "space": space, "renamed": renamed}
    some: Any = sample_leaks.leaks(portable) if leaky else []
    leaks = some[-1]["leaks"] if leaky else sample_leaks.NONE
    if listener.findings and some:
        listener.findings(some)
    stays = tally(entry.kind for entry in every if entry.kind == "lock")
    if listener.findings:
        for entry in every:
            if entry not in portable and entry.kind != "lock":
                code = "entry-broken" if entry.problem else "kind-not-portable"
                about = {"kind": entry.kind, "problem": entry.problem}
                listener.findings([{"left": {"code": code, "params": about, "path": None}}])
    if op == "copy":
        same = any(x in where for x in ("same", "missing", *_BUNDLES))
        if listener.findings and portable and not same:
            about = {"path": "mn/x.py"}
            listener.findings([{"left": {"code": "key-taken", "params": about, "path": None}}])
        server = not scheme_of(where).local
        more: dict[str, Any] = {
            "needed": 4_300_000, "there": None if server else there, "into": where,
            "place": str(params.get("place") or ""), "stays": stays, "renamed": 0,
            "leaks": leaks,
        }  # fmt: skip
        return {**_copied(where, portable), **more}
    held = sum(entry.size for entry in portable)
    objects = sum(entry.kind == "code" for entry in portable)
    return {
        "objects": objects,
        "described": objects if params.get("builders") else 0,
        "maker": _maker(params),
        "stays": stays,
        "entries": len(portable),
        "files": sum(entry.files for entry in portable),
        **measured(held, on_disk=False),
        "size": held + 21_400,
        "room": 2 * held,
        "kinds": [
            {"kind": kind, **_amount(ones)}
            for kind, ones in _by_kind(portable).items()
        ],
        "torches": Counter(entry.torch for entry in portable if entry.torch).most_common(),
        "devices": Counter(entry.device for entry in portable if entry.device).most_common(),
        "made_in": None,
        "leaks": leaks,
        "lacking": 0,
    }  # fmt: skip


def _maker(params: Mapping[str, Any]) -> dict[str, Any] | None:
    builders = params.get("builders")
    return {"what": "environment", "torch": builders["torch"]} if builders else None


def _copied(into: str, entries: list[Entry]) -> dict[str, Any]:
    if into.endswith(_BUNDLES) or "missing" in into:
        what = "bundle" if into.endswith(_BUNDLES) else "folder"
        none = _amount([])
        kinds = [
            {
                "kind": kind,
                "new": _amount(ones),
                "there": none,
                "twice": none,
                "differs": none,
                "left": none,
            }
            for kind, ones in _by_kind(entries).items()
        ]
        return {**_amount(entries), "what": what, "exists": 0, "kinds": kinds}
    found = _compared(into, entries, "same" in into)
    there = found["there"]["entries"]
    return {**found["new"], "what": "folder", "exists": there, "kinds": found["kinds"]}


def _by_kind(entries: list[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for kind in KINDS:
        ones = [entry for entry in entries if entry.kind == kind]
        if ones:
            found[kind] = ones
    return found


def _compared(path: str, entries: list[Entry], same: bool) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = []
    for kind, ones in _by_kind(entries).items():
        if kind == "code" and not same:
            # What stays out is of this kind.
            ones = ones[: -len(samples.LEFT)]
        new = [] if same else ones[: max(1, len(ones) // 2)]
        differs = ones[-1:] if kind == "code" and not same else []
        there = ones[len(new) : len(ones) - len(differs)]
        named = {"new": new, "there": there, "twice": [], "differs": differs, "left": []}
        counts = {name: _amount(some) for name, some in named.items()}
        kinds.append({"kind": kind, **counts})
    amounts = ("entries", "files", "bytes", "content_bytes")
    whole = {
        name: {what: sum(kind[name][what] for kind in kinds) for what in amounts}
        for name in ("new", "there", "twice", "differs", "left")
    }
    needed = 0 if same else 4_300_000
    return {"file": path, "kinds": kinds, **whole, "needed": needed}


def _amount(entries: list[Entry]) -> Amount:
    return {**_counts(entries), "files": sum(entry.files for entry in entries)}


def _summed(entries: list[Entry]) -> dict[str, Any]:
    """What an engine says of entries that are added up; a graph counts with what names it."""
    kinds: list[dict[str, Any]] = [
        {"kind": kind, **_amount(ones), "compile_s": sum(one.compile_s or 0.0 for one in timed),
         "timed": len(timed)}
        for kind, ones in _by_kind(entries).items()
        for timed in [ones if kind == "aotautograd" else []]
    ]  # fmt: skip
    whole = _amount([one for one in entries if one.kind not in COUNTED_APART])
    more = {name: sum(kind[name] for kind in kinds) for name in ("compile_s", "timed")}
    return {**whole, **tally(one.kind for one in entries), **more, "kinds": kinds}


def _trash() -> dict[str, Any]:
    room = {**tallied(5), **measured(1_204_000, on_disk=True)}
    last = {**room, "undid": "purge", "made": time.time() - 400}
    return {**room, "receipts": 1, "files": 6, "last": last}


def _counts(entries: list[Entry]) -> Sized:
    size = sum(entry.size for entry in entries)
    return {**tally(entry.kind for entry in entries), **measured(size, on_disk=False)}
