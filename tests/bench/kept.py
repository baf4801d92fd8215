"""What was measured last: in ``figures.json``, and as a table in the manual.

A table is only as true as the code that was measured: each bench says which folders of ``app/`` it
measures, and ``stale`` whether one of them has changed since.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from tests.bench.measure import Figure

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("figures.json")
MANUAL = ROOT / "resources/manual/speed.md"
HEADING = "## Measured\n"
#: What each bench measures, below app/torchkeeper.
MEASURES = {
    "start": ("cli", "client", "engine", "stores", "artifacts", "verdict"),
    "window": ("gui", "client", "engine", "stores", "artifacts"),
    "listing": ("cli", "client", "engine", "stores", "artifacts"),
    "disk": ("cli", "client", "engine", "stores", "artifacts"),
    "copies": ("cli", "client", "engine", "stores", "artifacts"),
    "verdicts": ("cli", "client", "engine", "stores", "artifacts", "verdict"),
    "jits": ("cli", "gui", "client", "engine", "stores", "artifacts"),
    "treemap": ("gui",),
    "streaming": ("gui", "client", "engine"),
    "table": ("gui",),
    "far": ("cli", "client", "engine", "stores", "artifacts"),
    "hosts": ("cli", "client", "engine"),
    "memory": ("cli", "client", "doctor", "engine", "stores", "artifacts", "verdict"),
}
#: What is measured only where it is asked for by its name: it takes much time and room.
APART = {"memory", "far", "hosts"}


class Row(TypedDict):
    """A figure, as it is printed."""

    what: str
    ours: str
    reference: str
    ratio: str
    aim: str
    of: str
    kept: bool


class Bench(TypedDict):
    """The rows of a bench; commit: of the code that was measured; date: of that day, in UTC."""

    commit: str
    date: str
    machine: str
    rows: list[Row]


def load() -> dict[str, Bench]:
    """What was measured last, by the name of its bench."""
    known: dict[str, Bench] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return known


def write(found: Mapping[str, Sequence[Figure]]) -> None:
    """Keep what was measured just now, and put it into the manual. Raises RuntimeError where the
    code that was measured is in no commit.
    """
    if _git("status", "--porcelain", "--", "app"):
        raise RuntimeError("app/ has changes that are in no commit: commit them, then measure")
    commit, date = _git("rev-parse", "--short=12", "HEAD"), time.strftime("%Y-%m-%d", time.gmtime())
    known = load()
    for name, figures in found.items():
        rows = [_row(one) for one in figures]
        known[name] = {"commit": commit, "date": date, "machine": machine(), "rows": rows}
    FILE.write_text(json.dumps({name: known[name] for name in MEASURES if name in known}, indent=1)
                    + "\n")  # fmt: skip
    text = MANUAL.read_text()
    MANUAL.write_text(text[: text.index(HEADING)] + table(load()))


def machine() -> str:
    """The kind of machine, without its name."""
    system = f"{platform.system()} {platform.machine()}"
    return f"{os.cpu_count()} processors, {system}, Python {platform.python_version()}"


def _row(one: Figure) -> Row:
    return {
        "what": one.what, "ours": one.text(one.ours), "reference": one.text(one.reference),
        "ratio": f"{one.ratio:.2f}", "aim": one.aim, "of": one.of, "kept": one.kept,
    }  # fmt: skip


def table(known: Mapping[str, Bench]) -> str:
    """The section of the manual."""
    if not known:
        return f"{HEADING}\nNothing yet: `python -m tests.bench --write` puts a table here.\n"
    lines = [HEADING, "`python -m tests.bench --write` wrote this table; medians.\n"]
    for about, rows in _runs(known):
        lines += [
            f"{about}\n",
            "| | Torchkeeper | Reference | Ratio | Aim |",
            "|---|---|---|---|---|",
        ]
        for row in rows:
            aim = row["aim"] if row["kept"] else f"{row['aim']}: missed"
            reference = f"{row['reference']} ({row['of']})"
            lines.append(
                f"| {row['what']} | {row['ours']} | {reference} | {row['ratio']} | {aim} |"
            )
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _runs(known: Mapping[str, Bench]) -> list[tuple[str, list[Row]]]:
    """The rows of each run, with what they have in common."""
    runs: dict[str, list[Row]] = {}
    for one in known.values():
        about = f"On {one['date']}, commit `{one['commit']}`, on {one['machine']}:"
        runs.setdefault(about, []).extend(one["rows"])
    return list(runs.items())


def stale(name: str, bench: Bench) -> bool:
    """Whether what a bench measures has changed since it was run, as far as git tells."""
    folders = [f"app/torchkeeper/{folder}" for folder in MEASURES[name]]
    try:
        return bool(_git("log", "--oneline", f"{bench['commit']}..HEAD", "--", *folders))
    except subprocess.CalledProcessError:
        return True  # the commit is not known here


def tell() -> None:
    """Print what is kept, and of which benches that is no longer what would be measured."""
    print(table(load()))
    for name, bench in load().items():
        if stale(name, bench):
            print(f"{name}: measured at {bench['commit']}; what it measures has changed since.")
    for name in MEASURES.keys() - load().keys():
        print(f"{name}: never measured.")


def _git(*command: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *command], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()
