"""Commands that say what entries are and whether they are used: show, check, explain; and env."""

from __future__ import annotations

import argparse
import functools
import json
import operator
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import COUNTED_APART, UNREAD, VERDICTS, Entry, entry_from_json
from torchkeeper.artifacts.shapes import JOINING
from torchkeeper.cli import contract, listing, looking, output, screen, vllm
from torchkeeper.cli.asking import Asker, asking, machine_of
from torchkeeper.cli.commands import DEFAULT_ENV
from torchkeeper.cli.several import at_each
from torchkeeper.client.engines import far, interpreters, probes
from torchkeeper.client.engines.interpreters import Interpreter
from torchkeeper.client.words import environments, explaining, owned, say, verdicts, vllmwords
from torchkeeper.client.words.explaining import WORDED, WORDED_OF_ALL, told
from torchkeeper.client.words.problems import UserError, not_looked_at, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.stores.names import SUFFIX, scheme_of
from torchkeeper.verdict import sglang

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import EntryRow
    from torchkeeper.engine.messages import verdicts as msg
    from torchkeeper.engine.messages.entries import Shown
    from torchkeeper.verdict.probed import DifferenceTold, Env, VerdictTold

#: Verdicts with which an entry is of no use: why is the answer to “explain”, which is then no.
_BAD = ("unsafe", "stale", "broken")
#: What ``check --fail-on`` takes besides verdicts, and what each is in a sentence.
_STATES = {
    "orphan": "needed by nothing",
    "unread": "not read",
    "foreign": "of other users",
    "empty": "nothing to check",
}
#: Keys that can be looked for with a filter.
_PLAIN = re.compile(r"\w[\w.+/-]*")
#: Lines of the graphs that are printed.
_LINES = 30


def add_explain(command: argparse.ArgumentParser) -> None:
    looking.add_place(command, nargs="?")
    add = command.add_argument
    add("key", metavar="KEY", nargs="?", help="a key, or the unique start of one; alone: why a "
        "program finds this entry here, or not; of vLLM's folders another one, as /PATH or ./PATH: "
        "which factors of their keys differ")  # fmt: skip
    other = command.add_mutually_exclusive_group()
    other.add_argument("other", metavar="KEY2", nargs="?",
                       help="another key: the differences between the two")  # fmt: skip
    output.flag(other, "--nearest", "the differences from the most similar entry")
    add("--in", dest="places", metavar="PLACE2", type=looking.place, action="append", default=[],
        help="the place of KEY2, or a place to search for the nearest entry; for that it may be "
             "given several times")  # fmt: skip
    other.add_argument("--trace", metavar="DIR", type=looking.path, help="instead of a key, the "
                       "folder that TORCH_TRACE named for a program: its hits and misses, and how "
                       "the misses differ from what PLACE holds now, if you give one")  # fmt: skip
    add("--env", metavar="PYTHON", help="with KEY alone: the interpreter with the torch to ask; "
        f"{DEFAULT_ENV}")  # fmt: skip


def explain(args: argparse.Namespace) -> int:
    """torchkeeper explain; 1 if an entry is unsafe, stale or broken, or nothing is near it."""
    wrong = ""
    if args.trace and (args.key or args.places or args.env):
        wrong = "--trace goes with a PLACE, or none, and no key."
    elif args.trace:
        from torchkeeper.cli.running import explain_trace

        return explain_trace(args.trace, args.place, args.json)
    elif not args.key:
        wrong = "A place and a key are needed, as PLACE KEY, or --trace DIR."
    elif args.places and not (args.other or args.nearest):
        wrong = "--in goes with KEY2 or --nearest."
    elif len(args.places) > 1 and args.other:
        wrong = "KEY2 is in one place: give one --in."
    elif args.env and (args.other or args.nearest):
        wrong = "--env goes with one key alone: two entries are compared with each other."
    if wrong:
        raise output.misuse(wrong)
    if (word := _bare(args.place)) and not vllm.is_folder(args.key):
        words = printable(shlex.join(filter(None, [word, args.key, args.other])))
        raise output.misuse(f"There is no place {printable(word)} here.", "",
                            "If it is a key, type its place first: “torchkeeper explain PLACE "
                            f"{words}”. “torchkeeper places” lists the caches here.")  # fmt: skip
    if vllm.names_folder(args.key) and not (args.other or args.nearest or args.env):
        return vllm.explain(args)
    return _compare(args) if args.other or args.nearest else _verdict(args)


def _bare(place: str) -> str:
    """The word that was typed for a place, where that is no path and nothing is there; or ""."""
    above, word = os.path.split(place)
    here = scheme_of(place).local and above == os.getcwd() and not os.path.lexists(place)
    return word if here and not word.endswith(SUFFIX) else ""


def _verdict(args: argparse.Namespace) -> int:
    python = interpreters.chosen(args.env, machine_of(args))
    with output.waiting("asking torch", args.json):
        env = probes.environment(python)
    asked = f'"{args.key}"' if _PLAIN.fullmatch(args.key) else ""
    with asking(args) as asker:
        asker.ask(protocol.CHECK, place=args.place, env=env, filter=asked)
        rows = _of_key(asker.rows, args.key, args.place)
        others = any(row["kind"] == "jit" for row in rows) and not args.json
        if others:
            asker.ask(protocol.SHOW, place=args.place, key=rows[0]["key"])
    shown = [what["shown"] for what in asker.findings if "shown" in what]
    facts = {one["entry"]["path"]: one["facts"] for one in shown}
    for number, row in enumerate(rows):
        if args.json:
            output.emit({**row, "python": python, "environment": env["torch"]})
            continue
        if number:
            output.line()
        _print_verdict(row, env)
        for fact in told("jit", facts.get(row["path"], {})):
            for value in fact.values:
                output.line(f"{fact.label}: {printable(value)}")
    return int(any(row["verdict"] in _BAD for row in rows))


def _of_key(rows: list[msg.CheckRow], key: str, place: str) -> list[msg.CheckRow]:
    found = [row for row in rows if row["key"].startswith(key)]
    keys = {row["key"] for row in found}
    if not key or not keys:
        raise user_error("key-unknown", {"key": key, "place": place})
    if key not in keys and len(keys) > 1:
        raise user_error("key-ambiguous", {"key": key, "count": len(keys), "first": min(keys)})
    wanted = key if key in keys else keys.pop()
    found = [row for row in found if row["key"] == wanted]
    return sorted(found, key=lambda row: (listing.SORTS["kind"](row), row["path"]))


def _print_verdict(row: msg.CheckRow, env: Env) -> None:
    entry = entry_from_json(row)
    output.line(_title(entry))
    here = printable(f"in {env.get('executable')}, torch {env.get('torch')}")
    verdict = row["verdict"]
    if verdict is None:
        output.line(f"no verdict: {verdicts.none(entry.kind)}")
        return
    output.line(f"{verdict} {here}")
    if verdict == "usable":
        output.line("A program that runs there with the defaults finds it.")
    elif verdict == "unsafe":
        output.line(verdicts.unsafe())
    reasons, conditions = _listed(row["reasons"]), _listed(row["conditions"], True)
    because = "what would decide is not known:" if verdict == "unknown" else "because of:"
    for title, texts in ((because, reasons), ("only if the program has:", conditions)):
        if texts:
            output.lines([title, *(f"  {text}" for text in texts)])


def _listed(differences: list[DifferenceTold], conditions: bool = False) -> list[str]:
    """A line for each, with PyTorch's own name for it; of conditions also how they are met."""
    said = []
    for one in differences:
        text, name = verdicts.difference(one), one["factor"]
        more = "" if name in text or name == "payload" else f"  ({name})"
        done = verdicts.remedy(one) if conditions else ""
        said.append(printable(text + more + (f": {done}" if done else ""), 1000))
    return said


def _compare(args: argparse.Namespace) -> int:
    params: msg.ExplainParams = {"place": args.place, "key": args.key}
    if args.nearest:
        params["nearest"] = list(dict.fromkeys([args.place, *args.places]))
    else:
        params["other"] = {"key": args.other, "place": (args.places or [args.place])[0]}
    with asking(args) as asker:
        result: msg.ExplainResult = asker.ask(protocol.EXPLAIN, **params)
        found: msg.Explained = {**result, "differences": asker.rows}
    output.notes(output.left_lines(asker.left))
    a, b = found["a"], found["b"]
    said = explaining.of_both(found) if b else None
    if args.json:
        output.emit({**found, "sentence": said})
    if b is None:
        output.complain(user_error("nothing-near", {"kind": a["kind"], "key": a["key"]}))
        return 1
    if not args.json:
        _print_compared(a, b, found, str(said))
    return 0


def _print_compared(
    a: msg.PlacedEntry, b: msg.PlacedEntry, found: msg.Explained, said: str
) -> None:
    for mark, one in (("a", a), ("b", b)):
        where = f"  in {printable(one['place'])}" if a["place"] != b["place"] else ""
        output.line(f"{mark}  {_title(entry_from_json(one))}{where}")
    output.line()
    output.line(f"{said}.")
    if ranks := explaining.of_ranks(found):
        output.line(ranks)
    rows = explaining.differences(found)
    for follows, title in ((False, []), (True, ["Consequences, certain or likely:"])):
        if some := [row for row in rows if row["follows"] == follows]:
            output.lines(["", *title])
            cells = []
            for group, ones in explaining.grouped(some):
                for row in ones:
                    label = explaining.group(group) if row is ones[0] else ""
                    cells.append([label, explaining.factor(row), *explaining.values(row, found)])
            output.table(["GROUP", "FACTOR", "A", "B"], cells, frozenset())
    if lines := explaining.graph_lines(found):
        output.line()
        output.line("Lines of the graph, + of a and - of b:")
        output.lines([f"  {line}" for line in lines[:_LINES]])
        if len(lines) > _LINES:
            output.line(f"  … {len(lines) - _LINES} more, with --json")


def _title(entry: Entry) -> str:
    told = [entry.key, entry.name, entry.torch and f"torch {entry.torch}"]
    return "  ".join(
        [say.kind_of(entry.kind, entry.name), *(printable(text, 100) for text in told if text)]
    )


def add_show(command: argparse.ArgumentParser) -> None:
    looking.add_place(command)
    command.add_argument("key", metavar="KEY", nargs="?", help="a key, or the unique start of one; "
                         "none for a folder of vLLM: each key of it, with its ranks")  # fmt: skip


def show(args: argparse.Namespace) -> int:
    """torchkeeper show: every entry of a key."""
    if args.key is None:
        return vllm.show(args)
    with asking(args) as asker:
        asker.ask(protocol.SHOW, place=args.place, key=args.key)
    shown: list[Shown] = [what["shown"] for what in asker.findings if "shown" in what]
    for number, one in enumerate(shown):
        if args.json:
            about = {name: value for name, value in one.items() if name not in ("entry", "files")}
            output.emit({**one["entry"], "file_list": one["files"], **about})
        else:
            if number:
                output.line()
            _print_shown(one)
    return 0


def _print_shown(one: Shown) -> None:
    entry, facts = one["entry"], dict(one["facts"])
    for name, text in _fields(entry):
        if text is not None:
            output.line(f"{name + ':':<11} {printable(text, 4000)}")
    broken = "not read:" if entry["problem"] in UNREAD else "broken:"
    for title, code in ((broken, entry["problem"]), ("orphan:", entry["orphan"])):
        if code:
            error = user_error(code, facts)
            output.line(f"{title:<11} {error.what} {error.why}")
    files = [(say.size(file["size"]), printable(file["path"], 4000)) for file in one["files"]]
    output.lines(["files:", *(f"  {size:>9}  {path}" for size, path in files)])
    for title, names in (
        ("needs", one["needs"]),
        ("needs, and is not in this place", one["missing"]),
        ("needed by", one["needed_by"]),
    ):
        if names:
            keys = [f"    {printable(kind)} {printable(key)}" for kind, key in names]
            output.lines([f"{title}:", *keys])
    if "unread" in one:
        output.line(f"needed by more? {not_looked_at(one['unread'])}")
    factors = facts.pop("factors", None)
    for fact in told(entry["kind"], facts):
        label = fact.label[0].lower() + fact.label[1:] if fact.label[1:2].islower() else fact.label
        _print_fact(label, fact.values if len(fact.values) > 1 else fact.values[0])
    worded = WORDED.get(entry["kind"], frozenset()) | WORDED_OF_ALL
    for name, value in facts.items():
        if name not in entry and name not in JOINING and name not in worded and value:
            _print_fact(name.replace("_", " "), value)
    if isinstance(factors, list) and factors:
        named = [f"  {printable(name)}: {printable(str(value), 200)}" for _, name, value in factors]
        output.lines([f"key factors: ({len(factors)})", *named])


def _fields(entry: EntryRow) -> Iterator[tuple[str, str | None]]:
    """What the row of an entry says, in order; None for nothing."""
    changed, used, expires = entry["mtime"], entry["used"], entry["expires"]
    taken, size = entry["compile_s"], entry["size"]
    yield "kind", say.kind_of(entry["kind"], entry["name"])
    yield "key", entry["key"]
    yield "name", entry["name"]
    yield "content", f"{say.size(size)} ({size:,} bytes)"
    yield "files", str(entry["files"])
    yield "mtime", None if changed is None else f"{say.when(changed)} ({say.ago(changed)})"
    yield "torch", entry["torch"]
    yield "device", entry["device"]
    yield "compile", None if taken is None else say.seconds(taken)
    yield "path", entry["path"]
    yield "sha256", entry["sha256"]
    if expires is not None:
        yield "expires", f"{say.when(expires)} ({say.until(expires)})" if expires else "never"
    yield "used", None if used is None else f"{say.when(used)} ({say.ago(used)})"
    yield "verdict", entry["verdict"]
    yield "owner", entry["owner"]


def _print_fact(name: str, value: object) -> None:
    if isinstance(value, dict):
        output.line(f"{name}:")
        for key, inner in value.items():
            if inner not in (None, [], ""):
                _print_fact(f"  {key}", inner)
    elif isinstance(value, list):
        output.lines([f"{name}:", *(f"    {printable(str(item), 200)}" for item in value)])
    elif isinstance(value, str) and "\n" in value:
        output.lines([f"{name}:", *(f"    {printable(x, 400)}" for x in value.splitlines())])
    else:
        output.line(f"{name}: {printable(str(value), 400)}")


#: The names of the columns of check, as its --columns takes them.
_CHECK = ("place", "kind", "key", "verdict", "name", "why")


def add_check(command: argparse.ArgumentParser) -> None:
    looking.add_several(command)
    looking.add_filter(command)
    words = *VERDICTS, *_STATES
    output.add_words(command, "--fail-on", "WORD,…", words, "end with 1 if an entry is in one of "
                     f"these states: {', '.join(words)}; “empty” means that there is nothing to "
                     "check")  # fmt: skip
    command.add_argument("--against", metavar="WHAT", help="of a folder of vLLM: whether a server "
                         "that WHAT starts finds what is there, and if not, which factor of its "
                         "key differs. WHAT: another such folder, a file that sets variables, as "
                         "a .env, a profile, the number of a process, or “environment”, for the "
                         "variables here")  # fmt: skip
    output.add_table(command, _CHECK, limit=True)


def check(args: argparse.Namespace) -> int:
    """torchkeeper check; 1 if there is any of what --fail-on names; ends partly where not all
    places could be looked at. Who else may write to a folder changes nothing about that.
    """
    if args.against:
        return vllm.check(args)
    places = list(dict.fromkeys(args.places))
    several = len(places) > 1 or "place" in screen.now.columns
    shown = _Shown(args.json, several)
    found: dict[str, msg.CheckResult] = {}
    envs: dict[str, tuple[str, Env]] = {}

    def look(asker: Asker, place: str) -> None:
        machine = asker.engine.machine
        if machine not in envs:
            python = interpreters.chosen(args.env, machine)
            with output.waiting("asking torch", args.json or bool(machine)):
                envs[machine] = python, probes.environment(python, asker.engine)
        asker.on_rows, before = shown.of(place), len(asker.findings)
        asked = {"place": place, "env": envs[machine][1], "filter": args.filter}
        found[place] = asker.ask(protocol.CHECK, **asked, shared=True)
        said = (one["judged"]["said"] for one in asker.findings[before:] if "judged" in one)
        shown.said[place] = [told for some in said for told in some]

    looked = at_each(args, places, look)
    found = {place: found[place] for place in places if place in found}
    names = (f"in {env.get('executable')}, torch {env.get('torch')}:" for _, env in envs.values())
    output.remark(args, map(printable, names))
    shown.end()
    bad = Counter[str]()
    for place, answer in found.items():
        if not args.json:
            output.tell_owners(answer["owners"])
        told = {"owners": owned.to_json(answer["owners"])} if answer["owners"] is not None else {}
        empty = not any(answer["verdicts"].get(name) for name in VERDICTS)
        counts = {**answer["verdicts"], **shown.states[place], "empty": int(empty)}
        failed_on = {word: counts[word] for word in args.fail_on if counts.get(word)}
        python, env = envs[scheme_of(place).machine(place)]
        bad.update(failed_on)
        result = {**answer, **told, "python": python, "torch": env["torch"], "failed_on": failed_on}
        of = f"{printable(place)}: " if len(places) > 1 else ""
        place_told = {"place": place} if of else {}
        looks_for, there = sglang.folder(env), shown.sglang[place]
        result |= {"sglang": {"looks_for": looks_for, "there": sorted(there)}} if there else {}
        output.result(args, {**result, **place_told}, of + verdicts.summary(answer))
        output.remark(args, [vllmwords.sglang(looks_for, there)])
        if answer["verdicts"].get("unknown"):
            output.remark(args, filter(None, [vllm.hint([place], shown.unknown[place])]))
    for error in looked.failed:
        output.report(args, error)
    if bad:
        said = ", ".join(_STATES[word] if word == "empty" else
                         f"{count:,} {_STATES.get(word, word)}"
                         for word, count in bad.items())  # fmt: skip
        output.remark(args, [f"torchkeeper: The check has failed: {said}."])
        return contract.NO
    return contract.partly(True, looked.short)


class _Shown:
    """Prints entries in their order; what many have in common is made into text once."""

    def __init__(self, json: bool, several: bool) -> None:
        #: What is said of the entries of each place, to which rows refer.
        self.said: dict[str, list[VerdictTold]] = {}
        #: How many entries of each place are in which state.
        self.states: dict[str, Counter[str]] = {}
        #: The paths of those of which it is not known.
        self.unknown: dict[str, list[str]] = {}
        #: The folders of SGLang's that they lie in.
        self.sglang: dict[str, set[str]] = {}
        self._json, self._several = json, several
        self._held: list[tuple[Any, Any, str, int]] = []

    def of(self, place: str) -> Callable[[list[msg.SharedRow]], None]:
        """What takes rows of a place."""
        self.states[place], self.unknown[place], self.sglang[place] = Counter(), [], set()
        return functools.partial(self._take, place)

    def _take(self, place: str, rows: list[msg.SharedRow]) -> None:
        entries = [entry_from_json(row) for row in rows]
        fields: list[Any] = [entry.to_json() for entry in entries]
        keys = [(listing.SORTS["kind"](about), about["path"]) for about in fields]
        if self._several:
            fields = [{**about, "place": place} for about in fields]
        shown: list[Any] = output.json_lines(fields) if self._json else entries
        for key, one, row in zip(keys, shown, rows, strict=True):
            self._held.append((key, one, place, row["said"]))
        self.unknown[place] += (one.path for one in entries if one.verdict == "unknown")
        self.sglang[place] |= sglang.folders(f"{place}/{one.path}" for one in entries)
        for entry in (one for one in entries if one.kind not in COUNTED_APART):
            is_so = (entry.orphan, entry.problem in UNREAD, entry.owner)
            states = (name for name, so in zip(_STATES, is_so, strict=False) if so)
            self.states[place].update(states)

    def _each(self, word: Callable[[VerdictTold], str]) -> dict[tuple[str, int], str]:
        """What is said of entries, in words, by their place and number."""
        return {
            (place, number): word(one)
            for place, said in self.said.items()
            for number, one in enumerate(said)
        }

    def end(self) -> None:
        self._held.sort(key=operator.itemgetter(0))
        if self._json:
            none, ends = _end({"reasons": (), "conditions": ()}), self._each(_end)
            held = self._held[: screen.now.limit]
            output.lines([line[:-1] + ends.get((of, n), none) for _, line, of, n in held])
            return
        why = self._each(verdicts.why)
        cells = []
        for _, e, place, number in self._held:
            if e.verdict is not None:
                of = [place] if self._several else []
                about = [e.kind, listing.short(e.key), e.verdict, e.name or "-"]
                cells.append([*of, *about, why.get((place, number), "")])
        if cells:
            head = [*(["PLACE"] if self._several else []), "KIND", "KEY", "VERDICT", "NAME", "WHY"]
            output.table(head, cells, frozenset())


def _end(said: Mapping[str, object]) -> str:
    about = {name: said[name] for name in ("reasons", "conditions")}
    return ", " + json.dumps(about)[1:]


def add_env(command: argparse.ArgumentParser) -> None:
    command.add_argument("--env", metavar="PYTHON", action="append", default=[],
                         help="this interpreter only; may be given several times")  # fmt: skip
    change = command.add_mutually_exclusive_group()
    change.add_argument("--add", metavar="PYTHON", action="append", default=[],
                        help="add an interpreter to the list that the commands and the window "
                             "start, also one of another machine, as ssh://HOST/PATH; may be given "
                             "several times")  # fmt: skip
    change.add_argument("--remove", metavar="PYTHON",
                        help="remove an added interpreter from the list")  # fmt: skip


def env(args: argparse.Namespace) -> int:
    """torchkeeper env; 1 if one of the interpreters that were named has no torch."""
    if args.remove:
        gone = interpreters.remove(args.remove)
        output.result(args, {"removed": gone}, printable(f"{gone} is off the list."))
        return 0
    # What those that are added are is told, too: whoever adds one wants to know of what use it is.
    named = [interpreters.chosen(one, far.machine_of(one)) for one in args.env]
    named += [interpreters.add(one, far.machine_of(one)) for one in args.add]
    every = [Interpreter(python, "", starts=True) for python in dict.fromkeys(named)]
    code, found = 0, list[str]()
    for one in every or interpreters.with_torch():
        try:
            facts = probes.facts_of(one)
        except UserError as error:
            if named:
                raise
            if one.starts:
                output.complain(error)
            else:
                found.append(one.python)
                _tell_found(args, one)
            continue
        if args.json:
            output.emit({"interpreter": one.python, **facts})
        else:
            output.lines([*map(printable, environments.lines(one.python, facts)), ""])
        code |= bool(named) and not facts.get("torch")
    if found and not args.json:
        output.note(printable(environments.to_add(found)))
    if not (named or args.json) and (others := interpreters.elsewhere()):
        output.note(f"On other machines, asked by --env: {printable(', '.join(others), 600)}.")
    return int(code)


def _tell_found(args: argparse.Namespace, one: Interpreter) -> None:
    writers = interpreters.writers(one.python)
    if args.json:
        about = {"found": one.label, "writers": writers}
        output.emit({"interpreter": one.python, "started": False, **about})
        return
    said = owned.of_interpreter(one.python, writers).why.splitlines() if writers else []
    lines = [one.python, f"  {environments.not_started(one.label)}", *(f"  {x}" for x in said)]
    output.lines([*map(printable, lines), ""])
