"""What check and explain say of vLLM's trees: which factor of a key differs, and whether a server
that is started with some variables finds what is there.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from torchkeeper.artifacts import layout
from torchkeeper.cli import contract, looking, output
from torchkeeper.cli.asking import Asker, engine_at
from torchkeeper.client.engines import far
from torchkeeper.client.words import say, vllmwords
from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.engine.messages.verdicts import PieceTold
from torchkeeper.settings.vllm import unknown
from torchkeeper.stores.names import scheme_of
from torchkeeper.verdict import sglang, vllm

if TYPE_CHECKING:
    from torchkeeper.artifacts.vllm import Factors
    from torchkeeper.engine.messages.findings import LeftFinding
    from torchkeeper.engine.messages.verdicts import VllmRow, VllmVariablesResult

#: What check --against takes besides folders, files and profiles: this program's own variables.
HERE = "environment"
#: What only vLLM's folders have, and how many in one are looked into.
_TELLING = (layout.VLLM_KEYS, layout.VLLM_FACTORS)
_LOOKED = 50
_PATH = re.compile(r"[~.]?/|\.\.?$|\.\./")


class TreeTold(TypedDict):
    """A tree, as JSON. folder: of the key; named: what its factors make of that name, "" where not
    all are known. model: what the file of the model's code is called.
    """

    place: str
    folder: str
    named: str
    model: str
    ranks: list[str]
    parts: list[str]


class RankTold(TypedDict):
    """What a rank has of a part of a model, as JSON. path: its folder in the place."""

    rank: str
    part: str
    path: str
    pieces: list[PieceTold]
    files: int
    bytes: int


class Tree(NamedTuple):
    """Keys of a place that have the same factors: the ranks and parts of a model."""

    place: str
    rows: list[VllmRow]

    @property
    def factors(self) -> Factors:
        return vllmwords.factors(self.rows[0])

    @property
    def about(self) -> TreeTold:
        """What it is, for a program."""
        first = self.rows[0]
        return {
            "place": self.place,
            "folder": first["folder"],
            "named": first["named"],
            "model": first["model"],
            "ranks": sorted({row["rank"] for row in self.rows if row["rank"]}),
            "parts": sorted({row["part"] for row in self.rows if row["part"]}),
        }

    @property
    def called(self) -> str:
        """The name of its folder, as its path says or as its factors make it."""
        return printable(self.rows[0]["folder"] or self.rows[0]["named"])

    @property
    def title(self) -> str:
        about = self.about
        parts = [about["model"], say.together(about["ranks"], 4), *about["parts"]]
        return "  ".join([self.called, *(printable(part, 100) for part in parts if part)])


def hint(places: Iterable[str], paths: Iterable[str] = ()) -> str:
    """Where files of vLLM's are, that check --against says who finds them; "" where none are. Of
    SGLang's the keys of PyTorch tell.
    """
    paths = list(paths)
    for place in places:
        if paths and sglang.folders(f"{place}/{path}" for path in paths):
            continue
        parts = place.split("/")
        inner = (part for path in paths for part in path.split("/"))
        if any(
            part == layout.VLLM_KEYS or layout.RANK.fullmatch(part) for part in (*parts, *inner)
        ):
            shown = printable(shlex.quote(place))
            return (f"vLLM's own files have no verdict: “torchkeeper check {shown} --against "
                    "environment” says whether a server finds them; a file of variables, a process "
                    "or another folder can stand there, too.")  # fmt: skip
    return ""


def names_folder(text: str | None) -> bool:
    """Whether what stands where a key could is a folder, by how it is written or what is there."""
    return is_folder(text) or holds_keys(text)


class _Found(NamedTuple):
    """The keys of a place, and what may be one and cannot be read."""

    trees: list[Tree]
    left: list[LeftFinding]


def _is_place(text: str) -> bool:
    """Whether it is a folder of keys, and neither a file nor the name of a profile."""
    if is_folder(text):
        return far.is_far(text) or os.path.isdir(text)
    return holds_keys(text)


def holds_keys(path: str | None) -> bool:
    """Whether a folder is there that has what vLLM keeps: that of a rank, of a key, or of all."""
    try:
        names = os.listdir(path) if path else []
        inner = [name for one in names[:_LOOKED] for name in _names(os.path.join(str(path), one))]
    except OSError:
        return False
    return any(name in _TELLING or layout.RANK.fullmatch(name) for name in [*names, *inner])


def _names(path: str) -> list[str]:
    return os.listdir(path) if os.path.isdir(path) else []


def is_folder(text: str | None) -> bool:
    """Whether what stands where a key could is a folder: no key begins so."""
    return bool(text) and (far.is_far(str(text)) or _PATH.match(str(text)) is not None)


def show(args: argparse.Namespace) -> int:
    """torchkeeper show FOLDER: each key, with its ranks side by side."""
    for number, one in enumerate(_trees(args, args.place).trees):
        first = one.rows[0]
        if args.json:
            changed = vllmwords.changed(first)
            more = {"hashes": first["hashes"], "variables": changed}
            rows: list[RankTold] = [
                {"rank": row["rank"], "part": row["part"], "path": row["path"],
                 "pieces": row["pieces"], "files": row["files"], "bytes": row["bytes"]}
                for row in one.rows
            ]  # fmt: skip
            output.emit({**one.about, **more, "rows": rows})
            continue
        output.lines([""] if number else [])
        output.line(one.title)
        output.lines([text] if (text := vllmwords.named(first)) else [])
        output.lines([f"{vllmwords.name(of)}: {printable(text)}"
                      for of, text in first["hashes"].items()])  # fmt: skip
        output.lines(vllmwords.changed(first))
        cells = [[row["rank"], row["part"], vllmwords.pieces(row), f"{row['files']:,}",
                  say.size(row["bytes"])] for row in one.rows]  # fmt: skip
        output.table(["RANK", "PART", "PIECES", "FILES", "CONTENT"], cells, frozenset({3, 4}))
        for row in one.rows[1:]:
            output.lines(vllmwords.lacking(first, row))
    return contract.DONE


def explain(args: argparse.Namespace) -> int:
    """torchkeeper explain A B, of two folders of vLLM's."""
    a, there = _only(args), _trees(args, looking.place(args.key)).trees
    every = [(one, vllm.compare(a.factors, one.factors)) for one in there]
    b, found = min(every, key=lambda both: len(both[1].factors))
    said = vllmwords.sentence(found)
    code = vllmwords.sources(a.rows[0], b.rows[0])
    if args.json:
        told = {"a": a.about, "b": b.about, "verdict": found.verdict, "sentence": said}
        factors = [one.to_json() for one in found.factors]
        output.emit({**told, "factors": factors, "unknown": list(found.unknown), "sources": code})
        return contract.DONE
    for mark, one in (("a", a), ("b", b)):
        output.line(f"{mark}  {one.title}  in {printable(one.place)}")
    output.lines(["", f"{said}.", *([code] if code else [])])
    if len(found.factors) > 1:
        output.line()
        cells = [[vllmwords.name(x.name), *vllmwords.values(x), vllmwords.why(x)]
                 for x in found.factors]  # fmt: skip
        output.table(["FACTOR", "A", "B", "WHY"], cells, frozenset())
    output.lines(_lacking(a, b))
    return contract.DONE


def check(args: argparse.Namespace) -> int:
    """torchkeeper check FOLDER --against WHAT; 1 if nothing there is found by such a server."""
    if len(args.places) > 1 or args.filter or args.fail_on:
        raise output.misuse("--against goes with one PLACE, and neither --filter nor --fail-on.")
    args.place = args.places[0]
    other = args.against
    there, server = _trees(args, args.place), _Found([], [])
    open_, odd = dict[str, str](), dict[str, str]()
    if _is_place(other):
        server = _trees(args, looking.place(other))
        pairs = [(one, min((vllm.compare(one.factors, x.factors) for x in server.trees),
                           key=lambda judged: len(judged.factors)))
                 for one in there.trees]  # fmt: skip
    else:
        env, unclear = _variables(args, other)
        more = any(not name.isidentifier() for name in unclear)
        pairs = [(x, vllm.against(x.factors, env, unclear, more)) for x in there.trees]
        hashed = {name for one in there.trees for name in one.factors.env}
        open_ = {name: why for name, why in unclear.items()
                 if name in hashed or not name.isidentifier()}  # fmt: skip
        odd = unknown({*env, *unclear}, hashed)
    left = [*there.left, *server.left]
    found = [(x, judged.lying_in(x.rows[0]["folder"], x.rows[0]["named"])) for x, judged in pairs]
    folders = {row["folder"] for one, _ in found for row in one.rows}
    cells = []
    for one, judged in found:
        beside = judged.looks_for if judged.looks_for in folders else ""
        if args.json:
            factors = [x.to_json() for x in judged.factors]
            told = {"verdict": judged.verdict, "factors": factors, "unknown": list(judged.unknown)}
            needs = {"looks_for": judged.looks_for, "set": vllmwords.to_set(judged)}
            output.emit({**one.about, **told, **needs})
        verdict = str(vllmwords.VERDICTS[judged.verdict])
        why = vllmwords.sentence(judged) if judged.factors else vllmwords.misnamed(judged.named)
        if beside and judged.factors:
            why = f"{why}; it looks for {beside}, which is there"
        cells.append([one.called, verdict, why])
    good = [judged for _, judged in found if judged.verdict != vllm.MISSES]
    if not args.json:
        output.table(["FOLDER", "VERDICT", "WHY"], cells, frozenset())
        for one, judged in found:
            lines = vllmwords.remedy(judged) if judged.looks_for not in folders else []
            if lines:
                output.lines(["", f"To find {one.called}, such a server needs:"])
                output.lines([f"  {line}" for line in lines])
        open_lines = vllmwords.left_open(open_, odd)
        output.lines(["", *open_lines] if open_lines else [])
        if good and good[0].unknown:
            output.lines(["", "Known only when vLLM runs:"])
            output.lines([f"  {line}" for line in vllmwords.unknown(good[0], open_)])
    counts = {name: sum(x.verdict == name for _, x in found) for name in vllmwords.VERDICTS}
    texts = (f"{count:,} {vllmwords.VERDICTS[name]}" for name, count in counts.items() if count)
    output.result(args, {**counts, "against": other, "open_variables": open_,
                         "unknown_variables": odd, "left": left}, "; ".join(texts))  # fmt: skip
    return contract.partly(True, left) if good else contract.NO


def _only(args: argparse.Namespace) -> Tree:
    """The one tree of a command's place."""
    trees = _trees(args, args.place).trees
    if len(trees) > 1:
        said = say.together(sorted({one.called for one in trees}), 6)
        raise output.misuse(f"{printable(args.place)} has several keys of vLLM.", f"{said}.",
                            "Name the folder of one.")  # fmt: skip
    return trees[0]


def _trees(args: argparse.Namespace, place: str) -> _Found:
    """The keys of a place, those with the same factors together; says of which nothing is known."""
    with engine_at(args, scheme_of(place).machine(place)) as engine:
        asker = Asker(engine, args.json)
        asker.ask(protocol.VLLM, place=place)
    output.notes(output.left_lines(asker.left))
    if not asker.rows:
        raise user_error("vllm-keys-none", {"place": place})
    return _Found([Tree(place, rows) for rows in vllmwords.together(asker.rows)], asker.left)


def _variables(args: argparse.Namespace, other: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The variables of a server, and which of these are unclear, and why."""
    if other.isdecimal():
        with engine_at(args, scheme_of(args.place).machine(args.place)) as engine:
            told: VllmVariablesResult = Asker(engine, args.json).ask(
                protocol.VLLM_VARIABLES, pid=int(other[:9])
            )
        return told["variables"], {}
    if other == HERE:
        return os.environ, {}
    from torchkeeper.client.profiles import formats

    read = formats.found(other)
    return {**read.others, **read.profile.values}, read.unclear


def _lacking(a: Tree, b: Tree) -> list[str]:
    """Lines on what only one of both has."""
    lines = []
    own, other = ({(row["rank"], row["part"]) for row in one.rows} for one in (a, b))
    for mark, some in (("a", own - other), ("b", other - own)):
        if some and own and other:
            names = sorted(printable(" ".join(filter(None, one)), 100) for one in some)
            lines.append(f"Only {mark} has {say.together(names, 6)}.")
    return lines
