"""What is noted of a job as it goes on, and what its log says of that."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import found, say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.say import kind_words
from torchkeeper.engine import protocol
from torchkeeper.gui.jobs import laps
from torchkeeper.gui.matrix import cells
from torchkeeper.gui.matrix.variants import COMPILING, name_of, state_words

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.gui.jobs.model import Job

_tr = partial(QCoreApplication.translate, "Operations")


def heard(job: Job, one: Finding) -> str:
    """Note what it says of the job itself; its line for the log, or "" for none."""
    of, line = job.traits, found.logged(one)
    job.there = one.get("job", job.there)
    if job.kind == protocol.RUN:
        return "" if job.hear(one) else line
    if found.alike(one) or "removed" in one:
        if "taken_back" in one or "removed" in one:
            job.partly = line
        elif "waiting" in one:
            job.now = line
        return line
    if job.kind == protocol.FLEET and job.cells.hear(one):
        return _of_fleet(job, one)
    if of.proves and "variants" in one:
        # Several: each has runs of its own, and all of them together no sense as laps.
        job.laps.clear()
    if of.proves and (job.variants or "variants" in one):
        return _of_variants(job, one, line)
    if of.proves and laps.heard(job.laps, one):
        if "run" in one:
            job.done, job.total = 0, None
        return line
    if of.warms and job.variants.hear(one):
        return _variant(job, one, line)
    if "now" in one:
        job.now = f"{kind_words(one['now']['kind'])} {printable(one['now']['key'], 32)}"
    elif "step" in one:
        job.note = printable(one["step"]["name"], 120)
    elif "left" in one:
        job.leave(*found.left(one["left"]))
    return line


def _of_fleet(job: Job, one: Finding) -> str:
    if "node" in one:
        node, error = one["node"], cells.error_of(one["node"]["why"])
        why = f": {error.what}" if error else ""
        return _tr("Node {}: {}").format(cells.node_words(node["state"]), node["name"]) + why
    if "gathered" in one:
        came = one["gathered"]
        entries = say.count(came["entries"], "entry", "entries")
        return _tr("{} came from {}").format(entries, printable(came["node"], 200))
    if "cell" not in one or one["cell"]["state"] == cells.WAITING:
        return ""
    cell = one["cell"]
    name, error = cells.name_of(cell), cells.error_of(cell.get("problem"))
    if cell["state"] in cells.AT_WORK:
        job.now = name
    why = f": {error.what}" if error else ""
    return _tr("{}: {}").format(name, cells.short(cell)) + why


def _of_variants(job: Job, one: Finding, line: str) -> str:
    if "run" in one:
        job.now = laps.title(one["run"]["name"])
        variant = job.variants.at(one["run"].get("variant"))
        return f"{name_of(variant, True)} · {line}" if variant is not None else line
    if job.variants.hear(one):
        return _variant(job, one, line)
    return line if {"built", "graph", "log"} & one.keys() else ""


def _variant(job: Job, one: Finding, line: str) -> str:
    if "graph" in one:
        known = job.variants.graph(one["graph"])
        if known is None or known.said or known.outcome == "compiling":
            return ""
        known.said = True
        return line
    told = one.get("variant")
    variant = job.variants.at(told["index"]) if isinstance(told, dict) else None
    if variant is None:
        return ""
    name = name_of(variant, True)
    if variant.state == COMPILING:
        job.now = name
        return _tr("Variant: {}").format(name)
    why = f": {variant.error.what}" if variant.error else ""
    took = f" · {say.seconds(variant.seconds)}" if variant.seconds is not None else ""
    return _tr("Variant {}: {}").format(state_words(variant.state), name) + why + took
