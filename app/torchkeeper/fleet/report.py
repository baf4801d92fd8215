"""What came of a fleet, as one page of HTML to attach to a deployment: no script, nothing from
elsewhere, light or dark as whoever reads it has it, and fit to be printed. All that recipes, nodes
and compilers said is escaped and bounded.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from torchkeeper.artifacts.version import VERSION
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import answered, printable
from torchkeeper.fleet.told import STATE_WORDS, met, title, where

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.engine.messages.fleet import CellFinding, FleetResult, NodeFinding

#: Lines of the log of a cell, of all cells, and characters of a line and of a name.
_LINES, _ALL_LINES, _WIDE, _NAME = 60, 4000, 240, 160
#: What a page begins with.
BEGIN = b"<!DOCTYPE html>"


@dataclass(frozen=True)
class Told:
    """What a page is made of. when: seconds since 1970. signer: the fingerprint of the key that
    the place was signed with. also: where it went besides.
    """

    rows: Sequence[CellFinding]
    nodes: Sequence[NodeFinding]
    result: FleetResult
    prove: bool
    when: float
    signer: str = ""
    also: Sequence[str] = ()


def page(told: Told) -> str:
    """The whole page."""
    good = sum(met(row, told.prove) for row in told.rows)
    tone = "good" if good == len(told.rows) else "part" if good else "bad"
    parts = [
        f'<header><p class="brand">Torchkeeper · fleet report</p>'
        f'<h1><span class="dot {tone}"></span>{_text(title(told.rows, told.prove))}</h1>'
        f"{_about(told)}</header>",
        _tiles(told),
        _section("Device types", _kinds(told)),
        _section("Cells", "".join(_recipes(told))),
        _section("Nodes", _nodes(told.nodes)),
        _logs(told.rows),
        f"<footer>{_legend(told)}<p>Made by Torchkeeper {_text(VERSION)}.</p></footer>",
    ]
    return (
        f'{BEGIN.decode()}\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_text(title(told.rows, told.prove))}</title>\n<style>\n{_STYLE}</style>\n"
        "</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, parts))
        + "\n</main>\n</body>\n</html>\n"
    )


def _text(text: object, most: int = _NAME) -> str:
    return html.escape(printable(str(text), most))


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{title}</h2>{inside}</section>" if inside else ""


def _about(told: Told) -> str:
    when = datetime.fromtimestamp(told.when, UTC).strftime("%Y-%m-%d %H:%M UTC")
    torches = sorted({one["torch"] for one in told.nodes if one["torch"]})
    facts = {
        "Place": _code(told.result["into"]), "Date": f"<time>{when}</time>",
        "Took": _text(say.seconds(told.result["seconds"])),
        "torch": _text(", ".join(torches) or "–"),
        "Also in": ", ".join(map(_code, told.also)),
        "Signed with": _code(told.signer) if told.signer else "",
    }  # fmt: skip
    rows = "".join(
        f"<div><dt>{name}</dt><dd>{one}</dd></div>" for name, one in facts.items() if one
    )
    return f'<dl class="facts">{rows}</dl>'


def _code(text: str) -> str:
    return f"<code>{_text(text, 400)}</code>"


def _tiles(told: Told) -> str:
    states = told.result["states"]
    some = [(states.get(name, 0), STATE_WORDS[name], name) for name in STATE_WORDS]
    tiles = [
        f'<li class="tile {name}"><b>{count:,}</b><span>{word}</span></li>'
        for count, word, name in some if count
    ]  # fmt: skip
    result = told.result
    now = say.count(result["entries"], "entry", "entries")
    if others := result["shared"]:
        tiles.append(f'<li class="tile"><b>{others:,}</b><span>graphs from other nodes</span></li>')
    tiles += [
        f'<li class="tile"><b>{result["compiled"]:,}</b><span>compiled now</span></li>',
        f'<li class="tile"><b>{result["there"]:,}</b><span>there before</span></li>',
        f'<li class="tile"><b>{_text(say.size(result["bytes"]))}</b>'
        f"<span>gathered now, {_text(now)}</span></li>",
        f'<li class="tile"><b>{_text(say.seconds(result["seconds"]))}</b><span>it took</span></li>',
    ]
    return f'<ul class="tiles">{"".join(tiles)}</ul>'


def _kinds(told: Told) -> str:
    """The sums of each device type."""
    rows = []
    kinds: dict[tuple[str, str], list[CellFinding]] = {}
    for row in told.rows:
        kinds.setdefault((where(row), row["kind"]), []).append(row)
    for (name, _), some in kinds.items():
        good = sum(met(row, told.prove) for row in some)
        # Only what has both can be compared.
        both = [
            (cold, row["found"])
            for row in some
            if row.get("found") and (cold := row.get("seconds")) is not None
        ]
        cold = sum(row.get("seconds") or 0.0 for row in some)
        found = sum(one or 0.0 for _, one in both)
        faster = sum(one for one, _ in both) / found if found else 0.0
        wide = f"{100 * good / len(some):.0f}"
        rows.append(
            f"<tr><th scope=row>{_text(name)}</th>"
            f'<td class=num>{good:,} of {len(some):,}<span class="meter">'
            f'<span style="width:{wide}%"></span></span></td>'
            f"<td class=num>{_seconds(cold)}</td><td class=num>{_seconds(found or None)}</td>"
            f"<td class=num>{f'{faster:.1f}×' if faster else '–'}</td></tr>"
        )
    word = "Proven" if told.prove else "Warm"
    head = ("Type", word, "Seconds cold", "Seconds found", "Faster")
    return _table(head, rows, first=1)


def _recipes(told: Told) -> Iterable[str]:
    """A table for each recipe."""
    for recipe in dict.fromkeys(row["recipe"] for row in told.rows):
        some = [row for row in told.rows if row["recipe"] == recipe]
        most = max((row.get("seconds") or 0.0 for row in some), default=0.0) or 1.0
        head = ("Variant", "For", "State", "Compiled on", "Cold", "Proven on", "Found", "Hits")
        rows = [line for row in some for line in _cell(row, most)]
        yield f"<h3>{_text(recipe)}</h3>{_table(head, rows, numbers=(4, 6, 7))}"


def _cell(row: CellFinding, most: float) -> Iterable[str]:
    state, cold, found = row["state"], row.get("seconds"), row.get("found")
    looked = row.get("hits", 0) + row.get("misses", 0)
    hits = f"{row.get('hits', 0):,} of {looked:,}" if looked else "–"
    bar = f'<span class="bar"><span style="width:{100 * (cold or 0.0) / most:.0f}%"></span></span>'
    known = "" if not row.get("there") else '<span class="note">there before</span>'
    others = say.count(row.get("shared", 0), "graph", "graphs") if row.get("shared") else ""
    others = f'<span class="note">{_text(others)} from others</span>' if others else ""
    yield (
        f"<tr><th scope=row>{_text(row['name'])}</th><td>{_text(where(row))}</td>"
        f'<td><span class="chip {state}">{STATE_WORDS[state]}</span>{known}</td>'
        f"<td>{_text(row.get('node') or '–')}</td>"
        f"<td class=num>{_seconds(cold)}{bar if cold else ''}{others}</td>"
        f"<td>{_text(row.get('proved_on') or '–')}</td><td class=num>{_seconds(found)}</td>"
        f"<td class=num>{hits}</td></tr>"
    )
    if why := _why(row):
        yield f'<tr class="why"><td colspan=8>{why}</td></tr>'


def _why(row: CellFinding) -> str:
    said = []
    if problem := row.get("problem"):
        said.append(_problem(problem))
    elif row["state"] == "partly":
        missed = say.count(row.get("misses", 0), "graph was", "graphs were")
        built = say.count(row.get("rebuilt", 0), "object was", "objects were")
        said.append(f"{_text(missed)} compiled anew and {_text(built)} built anew in the proof.")
    if row.get("log"):
        said.append(f'<a href="#log-{_text(row["cell"])}">Log</a>')
    return " ".join(said)


def _problem(problem: Fault) -> str:
    error = answered(problem)
    return _text(" ".join(filter(None, (error.what, error.why, error.remedy))), 1000)


def _nodes(nodes: Sequence[NodeFinding]) -> str:
    rows = []
    for one in nodes:
        labels = " ".join(f"{name}={value}" for name, value in one["labels"].items())
        why = _problem(one["why"]) if one["why"] else _text(labels)
        rows.append(
            f"<tr><th scope=row>{_text(one['name'])}</th>"
            f'<td><span class="chip node-{_text(one["state"])}">{_text(one["state"])}</span></td>'
            f"<td>{_text(', '.join(one['devices']) or '–')}</td>"
            f"<td>{_text(one['torch'] or '–')}</td>"
            f"<td class=num>{one['slots']:,}</td><td>{why}</td></tr>"
        )
    head = ("Node", "State", "Devices", "torch", "At a time", "Said of it")
    return _table(head, rows, numbers=(4,))


def _logs(rows: Sequence[CellFinding]) -> str:
    """The ends of the logs of what failed, each folded together."""
    left, found = _ALL_LINES, []
    for row in rows:
        if not (log := row.get("log")) or left <= 0:
            continue
        lines = list(log)[-min(_LINES, left) :]
        left -= len(lines)
        text = "\n".join(_text(line, _WIDE) for line in lines)
        found.append(
            f'<details id="log-{_text(row["cell"])}" open><summary>{_text(row["recipe"])}: '
            f"{_text(row['name'])}</summary><pre>{text}</pre></details>"
        )
    return _section("Logs of what failed", "".join(found))


def _legend(told: Told) -> str:
    means: Mapping[str, str] = {
        "proven": "another run, with only what the place has, found all of it and built nothing",
        "warm": "its entries are in the place; nobody has proven that they are found",
        "partly": "the proof did not find all of it, or built some of it anew",
        "failed": "it did not compile, on any node that was tried",
        "impossible": "no node has what it needs",
    }
    there = {row["state"] for row in told.rows}
    said = [f"<b>{STATE_WORDS[name]}</b>: {text}." for name, text in means.items() if name in there]
    return f'<p class="legend">{" ".join(said)}</p>'


def _seconds(value: float | None) -> str:
    return "–" if value is None else _text(say.seconds(value))


def _table(
    head: Sequence[str], rows: Sequence[str], numbers: Sequence[int] = (), first: int = 0
) -> str:
    """first: the first column of numbers, where all that follow are."""
    right = {*numbers, *(range(first, len(head)) if first else ())}
    heads = "".join(
        f"<th scope=col{' class=num' if at in right else ''}>{name}</th>"
        for at, name in enumerate(head)
    )
    return (
        f'<div class="wide"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


_STYLE = """\
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #ffffff; --ink: #1b1f27; --soft: #5b6474; --line: #e2e6ec;
  --good: #16794c; --good-ground: #ddf3e7; --warm: #1f5fbf; --warm-ground: #e0ebfb;
  --part: #8a5a00; --part-ground: #fdefcf; --bad: #b3261e; --bad-ground: #fbe2e0;
  --none-ground: #eceff3; --bar: #b9c6da;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171c; --card: #1c2027; --ink: #e7eaf0; --soft: #9aa4b5; --line: #2d333d;
    --good: #6fd6a2; --good-ground: #17382a; --warm: #8db8f7; --warm-ground: #1b2f4d;
    --part: #f0c265; --part-ground: #3f3115; --bad: #ff9d94; --bad-ground: #4a1f1c;
    --none-ground: #272c35; --bar: #46536a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 56px; }
.brand { margin: 0 0 6px; color: var(--soft); font-size: 13px; letter-spacing: .02em; }
h1 { margin: 0 0 20px; font-size: 28px; line-height: 1.25; font-weight: 650; }
h2 { margin: 0 0 12px; font-size: 18px; font-weight: 650; }
h3 { margin: 22px 0 8px; font-size: 15px; font-weight: 600; }
section { margin-top: 36px; }
.dot {
  display: inline-block; width: .62em; height: .62em; margin-right: .45em; border-radius: 50%;
}
.dot.good { background: var(--good); } .dot.part { background: var(--part); }
.dot.bad { background: var(--bad); }
.facts { display: flex; flex-wrap: wrap; gap: 10px 36px; margin: 0; }
.facts dt { color: var(--soft); font-size: 12.5px; } .facts dd { margin: 0; }
code, pre { font: 13px/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { overflow-wrap: anywhere; }
.tiles {
  display: flex; flex-wrap: wrap; gap: 12px;
  margin: 28px 0 0; padding: 0; list-style: none;
}
.tile {
  flex: 1 1 auto; min-width: 112px; padding: 14px 16px; white-space: nowrap;
  background: var(--card); border: 1px solid var(--line); border-radius: 10px;
}
.tile b { display: block; font-size: 22px; line-height: 1.2; font-weight: 650; }
.tile span { color: var(--soft); font-size: 13px; }
.tile.proven b { color: var(--good); } .tile.warm b { color: var(--warm); }
.tile.partly b { color: var(--part); }
.tile.failed b, .tile.impossible b { color: var(--bad); }
.wide {
  overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
}
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 9px 14px; text-align: left; vertical-align: top; font-weight: 400; }
thead th { color: var(--soft); font-size: 12.5px; white-space: nowrap; }
tbody tr { border-top: 1px solid var(--line); }
tbody th { font-weight: 550; overflow-wrap: break-word; }
.num { text-align: right; white-space: nowrap; }
tr.why { border-top: 0; }
tr.why td { padding-top: 0; color: var(--soft); font-size: 13.5px; overflow-wrap: anywhere; }
.chip {
  display: inline-block; padding: 1px 9px; border-radius: 999px; font-size: 13px;
  white-space: nowrap; background: var(--none-ground); color: var(--soft);
}
.chip.proven, .chip.node-ready { background: var(--good-ground); color: var(--good); }
.chip.warm { background: var(--warm-ground); color: var(--warm); }
.chip.partly { background: var(--part-ground); color: var(--part); }
.chip.failed, .chip.impossible, .chip.node-lost, .chip.node-unusable {
  background: var(--bad-ground); color: var(--bad);
}
.note { display: block; color: var(--soft); font-size: 12px; }
.bar, .meter { display: block; height: 4px; margin-top: 5px; border-radius: 2px; min-width: 72px; }
.meter { background: var(--none-ground); }
.bar span, .meter span { display: block; height: 4px; border-radius: 2px; margin-left: auto; }
.bar span { background: var(--bar); }
.meter span { background: var(--good); margin-left: 0; }
details {
  margin-top: 10px; padding: 10px 14px; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px;
}
summary { cursor: pointer; font-weight: 550; }
pre { margin: 10px 0 2px; white-space: pre-wrap; overflow-wrap: anywhere; }
a { color: var(--warm); }
footer { margin-top: 36px; color: var(--soft); font-size: 13px; }
footer p { margin: 0 0 6px; }
@media print {
  :root { color-scheme: light; }
  body { background: #fff; color: #000; font-size: 10pt; }
  main { max-width: none; padding: 0; }
  .wide { overflow: visible; border-radius: 0; } .tile, details { break-inside: avoid; }
  thead { display: table-header-group; } tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .chip, .meter span, .bar span, .dot {
    print-color-adjust: exact; -webkit-print-color-adjust: exact;
  }
}
"""
