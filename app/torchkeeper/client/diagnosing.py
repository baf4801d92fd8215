"""The doctor for the command line and the window: what to ask engines, and how what they told is
said. Nothing here waits.

1. ``probe``, and ``toolchain`` of an engine under the environment's interpreter; 2. ``diagnose`` of
our own with ``request``; findings are ``told``; 3. for one that ``mends``: ``mend`` with
``mending``, first ``dry``; 4. ``diagnose`` again with ``again``, which says whether it is gone.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import tally
from torchkeeper.client import secrets
from torchkeeper.client.engines import far
from torchkeeper.client.words import dead, say
from torchkeeper.client.words.doctorwords import FIXES
from torchkeeper.client.words.findingwords import counted
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.engine.protocol import misfit
from torchkeeper.settings.finding import SEVERITIES, Finding
from torchkeeper.settings.servers import places_of, servers
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.shapes import Owned

if TYPE_CHECKING:
    from torchkeeper.doctor.shapes import Toolchain
    from torchkeeper.engine.messages import doctor
    from torchkeeper.engine.messages.findings import Finding as EngineFinding
    from torchkeeper.verdict.probed import Env

#: What each check is called, by the names of ``doctor.checks``.
CHECKS_CALLED: dict[str, Text] = {
    "file-system": "file system",
    "room": "room on the disk",
    "owner": "owner and rights",
    "names": "names and paths",
    "clock": "clock",
    "leftovers": "what programs left that were ended while they wrote",
    "broken": "broken entries",
    "orphaned": "orphaned entries",
    "stale": "stale entries",
    "unsafe": "entries for another machine",
    "threads": "number of threads",
    "trash": "trash",
    "reachable": "server answers",
    "exposed": "who can write to the server",
    "writes": "server takes entries",
    "memory": "memory of the server",
    "expiry": "expiry of keys",
    "torch": "torch",
    "compiler": "C++ compiler",
    "header": "precompiled header",
    "triton": "Triton",
    "gpu": "GPU",
    "settings": "settings",
    "headers-owner": "owner of the headers",
    "unread": "caches that nothing reads",
    "duplicates": "caches that are alike",
    "vllm-variables": "variables in the keys of vLLM",
    "vllm-elsewhere": "keys of vLLM in places that were not named",
    "vllm-alike": "keys of vLLM that are alike",
}


def check_name(check: str) -> str:
    """What a check is called; its own name where this version does not know it."""
    return tr(CHECKS_CALLED[check]) if check in CHECKS_CALLED else check


def check_names(checks: Iterable[str]) -> str:
    return say.together(list(dict.fromkeys(map(check_name, checks))))


def steps(places: Sequence[str]) -> list[tuple[str, str]]:
    """Each check that ``diagnose`` makes, by name, with its place or "", as it counts them."""
    from torchkeeper.doctor.checks import CHECKS  # all that they look at comes with it

    about: dict[str, list[str]] = {"folder": [], "server": [], "machine": [""]}
    for place in places:
        about[scheme_of(place).checks].append(place)
    return [
        (check.name, place)
        for what, some in about.items()
        for place in some
        for check in CHECKS
        if check.about == what
    ]


#: What the interpreter's own engine does; all others are for the op ``mend`` of ours.
PREPARE = "prepare"
#: What a look came to, by whether something was found, and whether checks could not be made.
_SUMMARIES: dict[tuple[bool, bool], Text] = {
    (False, False): "Nothing is wrong: {checks} made.",
    (False, True): "Nothing is wrong: {checks} made; {undone} could not be made.",
    (True, False): "{found}; {checks} made.",
    (True, True): "{found}; {checks} made; {undone} could not be made.",
}
#: What a look comes to that has made no check.
NOTHING: doctor.DiagnoseResult = {"checks": [], "left": []}


class Told(NamedTuple):
    """A finding, and the name of the check that made it."""

    finding: Finding
    check: str


def request(
    places: Sequence[str],
    facts: Env,
    values: Mapping[str, str] | None,
    toolchain: Toolchain,
    reads: Iterable[str] = (),
    machine: bool = False,
    variables: Iterable[str] | None = None,
) -> doctor.DiagnoseParams:
    """The parameters of ``diagnose``. values: None for another machine, which knows its own. reads:
    folders of other known environments. machine: whether other caches of this user are looked at.
    variables: names of all that are set there.
    """
    found = [] if values is None else places_of(facts, values)
    own = [place for place in found if os.path.isabs(place)]
    return {
        "places": list(places), "facts": facts, "values": None if values is None else dict(values),
        "toolchain": toolchain, "reads": [*own, *reads], "machine": machine,
        "variables": None if variables is None else sorted(variables),
    }  # fmt: skip


def passwords(asked: doctor.DiagnoseParams) -> list[dict[str, str]]:
    """The parameters of ``secret``, to be asked before ``diagnose``: of servers that the settings
    do not name. Of those that they do, only what they say counts. May ask a keyring.
    """
    named = servers(asked.get("values") or {})
    wanted = (place for place in asked["places"] if scheme_of(place).may_want_password)
    known = [(place, secrets.password_of(place)) for place in wanted if place not in named]
    return [{"place": place, "password": password} for place, password in known if password]


def again(asked: doctor.DiagnoseParams, told: Told) -> doctor.DiagnoseParams:
    """The parameters of ``diagnose`` that look at one finding again."""
    place = told.finding.place
    places = [place] if place in asked["places"] else list(asked["places"])
    return {**asked, "places": places, "only": [told.check]}


def told(finding: EngineFinding, machine: str = "") -> Told | None:
    """What a check or a rule found; None for any other finding of the engine. machine: where the
    engine runs; its places get the names that they have here.
    """
    if "found" not in finding:
        return None
    found, check = Finding.from_json(finding["found"]), finding.get("check", "")
    about, place = {**found.params}, far.name_of(machine, found.place)
    if found.place and not place:
        return None
    if machine and "other" in about:
        about["other"] = far.name_of(machine, str(about["other"]))
    if machine and not misfit(Owned, owned := about.pop("owned", None), "owned"):
        about["owned"] = {**owned, "place": place}
    return Told(replace(found, place=place, params=about), check)


def same(one: Told, other: Told) -> bool:
    return subject(one.finding) == subject(other.finding)


def subject(finding: Finding) -> tuple[object, ...]:
    """What a finding is about, whatever its figures."""
    owned = finding.params.get("owned")
    # Of one place there is one for each folder on the way to it.
    named = (owned.get("what"), owned.get("path")) if isinstance(owned, dict) else ()
    return (finding.code, finding.place, *finding.settings, *named)


def in_order(found: Iterable[Told]) -> list[Told]:
    return sorted(found, key=lambda one: SEVERITIES.index(one.finding.severity))


def left_of(result: doctor.DiagnoseResult) -> list[tuple[str, str, UserError]]:
    """The checks that could not be made: name, place, and why."""
    return [(x["check"], x["place"], user_error(x["code"], x["params"])) for x in result["left"]]


def summary(found: Sequence[Told], result: doctor.DiagnoseResult) -> str:
    left = len(result["left"])
    return tr(
        _SUMMARIES[bool(found), bool(left)],
        found=", ".join(counted(one.finding for one in found)),
        checks=say.count(len(result["checks"]), "check", "checks"),
        undone=say.count(left, "check", "checks"),
    )


def mends(finding: Finding) -> bool:
    """Whether there is a fix that a program can do."""
    return finding.fix in FIXES


def mending(
    finding: Finding, envs: Sequence[str] = (), plan: int | None = None, dry: bool = False
) -> doctor.MendParams:
    """The parameters of ``mend``. envs: all names that the engine knows; plan: as ``dry`` told."""
    return {
        "code": finding.code, "fix": finding.fix, "place": finding.place, "params": finding.params,
        "envs": list(envs), "plan": plan, "dry": dry,
    }  # fmt: skip


def will(finding: Finding, plan: doctor.MendResult) -> str:
    """What a fix is about to do, in a sentence. plan: the answer to ``mend`` with ``dry``."""
    files, paths = plan.get("files", 0), [printable(path) for path in plan.get("paths", ())]
    shown = {
        "place": printable(finding.place),
        "entries": say.held(plan),
        "files": say.count(files, "file", "files"),
        "size": say.measured(plan),
        "above": printable(plan.get("above") or ""),
        "paths": say.and_more(", ".join(paths), files - len(paths)),
        "modes": say.either([printable(mode) for mode in plan.get("modes", ())[:5]]),
    }
    above = finding.fix == "chmod" and plan.get("above")
    said = tr(FIXES["chmod-above" if above else finding.fix], **shown)
    return " ".join(filter(None, [said, dead.of_others(finding.place, plan)]))


def nothing(plan: doctor.MendResult) -> bool:
    """Whether a plan has nothing to do: what is in use stays, or the finding is gone."""
    counted: Mapping[str, object] = plan
    return not any(map(counted.get, ("files", *tally(()))))


def leaves(finding: Finding) -> bool:
    """Whether a fix rightly leaves some of what it is for."""
    return finding.fix == "trash-stale"


def rest(finding: Finding) -> str:
    """What is said where a finding is still there after its fix."""
    return tr(
        "What is left is used by another environment, or in use."
        if leaves(finding)
        else "It is still there."
    )


def undone(finding: Finding, answer: doctor.MendResult) -> str:
    """What brings back what a fix moved; empty where nothing does."""
    return f"torchkeeper undo {shlex.quote(finding.place)}" if answer.get("receipt") else ""
