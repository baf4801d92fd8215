"""What is dead in words, the same in the window and on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.client.engines.probes import Everywhere
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Text, tr

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Sized
    from torchkeeper.engine.messages.dead import PlanPurgeResult, PlanPurgeRow
    from torchkeeper.engine.messages.doctor import MendResult

#: Days after which something counts as unused unless the user says otherwise.
DAYS = 30
DAY = 86_400.0

#: Of a server others may have environments that nobody here knows.
SHARED: Text = (
    "Stale means: no environment of this machine can use them. Others may use this server with "
    "their own environments."
)

_REASONS: dict[str, Text] = {
    "stale": "stale everywhere",
    "broken": "broken",
    "orphan": "orphaned",
    "unused": "unused",
    "budget": "over the budget",
    "needless": "needed only by removed entries",
}
_TOTALS: dict[str, Text] = {
    "stale": "{held} stale everywhere, {size}",
    "broken": "{held} broken, {size}",
    "orphan": "{held} orphaned, {size}",
    "unused": "{held} unused, {size}",
    "budget": "{held} over the budget, {size}",
    "needless": "{held} needed only by removed entries, {size}",
}
#: What a last use is, and how well it is known.
_RESTS: dict[str, Text] = {
    "read": "Used: when a program last read or wrote the files.",
    "day": "Used: when a program last read or wrote the files. This disk records the day of "
    "reading, not the time.",
    "written": "This disk does not record when files are read: “unused” counts from when they were "
    "written. Entries that programs read every day may be among them.",
    "server": "Used: when the server was last asked for them.",
}


def reason(code: str) -> str:
    """Why an entry goes, as it stands in a table."""
    return tr(_REASONS[code]) if code in _REASONS else printable(code, 40)


def because(row: PlanPurgeRow) -> str:
    return ", ".join(map(reason, row.get("because", ())))


def totals(plan: PlanPurgeResult) -> list[str]:
    """Of a plan, for each reason how much goes."""
    return [
        tr(_TOTALS[code], held=say.held(one), size=say.measured(one))
        if code in _TOTALS
        else f"{say.held(one)} {reason(code)}, {say.measured(one)}"
        for code, one in plan.get("because", {}).items()
    ]


def going(plan: PlanPurgeResult) -> Sized:
    """How much goes with a plan."""
    every: Sized = {
        "entries": plan["entries"], "locks": plan["locks"], "headers": plan["headers"],
        "unknown": plan["unknown"]["goes"], "bytes": plan["bytes"],
    }  # fmt: skip
    if "disk_bytes" in plan:
        every["disk_bytes"] = plan["disk_bytes"]
    else:
        every["content_bytes"] = plan["bytes"]
    return every


def of_others(place: str, plan: PlanPurgeResult | MendResult) -> str:
    """That other machines may use the place of a plan, too; empty of one that is surely ours."""
    if "shared" not in plan:
        return ""
    return tr(
        "Other machines may use {place}, too: it is on {type}. Programs there compile again what "
        "goes, and one that has loaded it may end.",
        place=printable(place), type=printable(plan["shared"], 40),
    )  # fmt: skip


def rests(code: str | None) -> str:
    """What a last use is, and how well it is known; empty where it is not asked."""
    return tr(_RESTS.get(code or "", ""))


def environments(found: Everywhere, most: int | None = None) -> str:
    """Which environments count, so many by name; a GPU that is missed for now is seen there."""
    said = []
    for python, env in found.envs[:most]:
        devices = [one for one in env.get("devices", ()) if one["type"] != "cpu"]
        gpus = ", ".join(dict.fromkeys(one["name"] or one["type"] for one in devices))
        said.append(printable(f"torch {env.get('torch')}, {gpus or tr('no GPU')} ({python})", 300))
    if (more := len(found.envs) - len(said)) > 0:
        said.append(tr("{n} more", n=more))
    return "; ".join(said)
