"""Everything that the client says goes through the tongue, as whole sentences that translators are
given: shown by a language in which each stands in brackets.
"""

from __future__ import annotations

import ast
import itertools
import re
import runpy
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.artifacts.builds import Builder, Claims, MadeIn
from torchkeeper.artifacts.entry import measured, tallied
from torchkeeper.artifacts.shapes import Amount, Private, Secret
from torchkeeper.client import carrying, diagnosing
from torchkeeper.client.engines import line
from torchkeeper.client.engines.probes import Everywhere
from torchkeeper.client.profiles import keeping, profile
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.words import (
    causes,
    dead,
    doctorwords,
    environments,
    explaining,
    findingwords,
    leaks,
    owned,
    preparing,
    problems,
    say,
    settled,
    tongue,
    verdicts,
    verifying,
)
from torchkeeper.client.words import found as finds
from torchkeeper.client.words import problems as words
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.catalogue.words import Words
from torchkeeper.engine.messages.bundles import Maker
from torchkeeper.engine.messages.doctor import DiagnoseResult, LeftCheck
from torchkeeper.engine.messages.entries import RunnableName, RunnableResult
from torchkeeper.engine.messages.places import ServerResult
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.origins import Origin, Override
from torchkeeper.settings.processes import Process
from torchkeeper.stores.folders.in_use import InUse
from torchkeeper.stores.shapes import CutOff, Unseen, Who
from torchkeeper.verdict.comparing import GraphDifference
from torchkeeper.verdict.judging import Difference, Verdict
from torchkeeper.verdict.probed import AotTold, Env, FactorTold, FieldTold, GraphTold

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "app" / "torchkeeper" / "client"
COMMAND = ROOT / "packaging" / "translations"
#: A fact, which is the same in every language.
FACT = "FACT"
#: Modules whose texts no window shows: they speak to programs, write recipes and files of a
#: profile, or are of the command line alone.
SILENT = {
    "desktop", "recorded.py", "recording.py", "heard.py", "defining.py",
    "proving.py", "toml.py", "handover.py", "boot.py",
}  # fmt: skip


@cache
def collected() -> set[tuple[str, str, bool]]:
    """What a translator is given."""
    found: set[tuple[str, str, bool]] = runpy.run_path(str(COMMAND))["sources"]()
    return found


def bracketed(text: str, number: int) -> str:
    """The translation of what is collected; what is not has none."""
    return f"⟦{text}⟧" if (tongue.CONTEXT, text, number >= 0) in collected() else text


def bare(text: str) -> str:
    """What of a text stands in no brackets, and is no code."""
    text = re.sub(r"`[^`]*`", "", text)
    while (less := re.sub(r"⟦[^⟦⟧]*⟧", "", text)) != text:
        text = less
    return text


def params(*templates: str) -> dict[str, Any]:
    """A fact for each place of some templates."""
    names = {name for one in templates for _, name, _, _ in string.Formatter().parse(one) if name}
    told: dict[str, Any] = dict.fromkeys(names, FACT)
    told |= {name: 7 for name in names if name.endswith("_bytes")}
    if "problem" in names:
        told["problem"] = "place-missing"
    return told | ({"expected": "table"} if "expected" in names else {})


def texts_of(words: Words) -> list[str]:
    """All its templates."""
    every = [(one,) if isinstance(one, str) else (one.one, one.many) for one in words]
    return [text for some in every for text in some]


def of_catalogues() -> Iterator[str]:
    for code, one in CATALOGUE.items():
        yield str(words.user_error(code, params(*texts_of(one))))
    for code, one in findingwords.WORDS.items():
        for more in ({}, {"set_by": FACT}):
            yield str(
                findingwords.said(Finding(code, "error", (), FACT, params(*texts_of(one)) | more))
            )
    for fix in doctorwords.FIXES:
        yield diagnosing.will(Finding(FACT, "error", fix=fix, place=FACT), {"files": 9,
            "entries": 1, "bytes": 5, "paths": [FACT] * 3, "modes": ["777", "775"]})  # fmt: skip
    for code, text in problems.EXPECTED.items():
        for source in ("callable", FACT):
            yield problems.expectation(code, FACT, params(text) | {"source": source})
            yield problems.expectation(code, "", params(text) | {"near": FACT})
    for check in diagnosing.CHECKS_CALLED:
        yield diagnosing.check_name(check)
    for name in causes.NAMES:
        yield causes.line({"phases": [[name, 3.0]]})


def of_figures() -> Iterator[str]:
    for gone in (-90, 1, 90, 9000, 900_000):
        yield say.ago(0, gone)
        yield say.until(1, 1 - gone)
    yield say.until(0)
    yield say.things({"graphs": 2, "eager": 1, "triton": 4})
    for why in ("environment", "mapped", "open"):
        for entries in (0, 1, 2):
            for all_ in (True, False):
                yield words.user_of_place(
                    {"name": FACT, "pid": 7, "why": why, "entries": entries, "holds_all": all_}
                )
    for sure in (True, False):
        yield words.removed_by_then({"entries": 2, "of": 3, "bytes": 9, "sure": sure})
    yield words.not_looked_at(3)
    other: Unseen = {"pid": 7, "name": FACT, "user": FACT}
    for sees, hidden, some in (("none", 0, []), ("own", 0, []), ("all", 1, []), ("all", 2, []),
                               ("all", 1, [other]), ("all", 2, [other])):  # fmt: skip
        yield words.unseen_users({**InUse(hidden=hidden, sees=sees).told([]), "unseen": some})
    yield words.waiting_for({"code": "place-missing", "params": {"place": FACT}})
    yield words.leftovers_gone({"bytes": 7})
    yield words.leftovers_gone({})
    for code in ("asked", "accelerator", "no-accelerator", "no-triton"):
        yield words.device_reason(code)


def of_verdicts() -> Iterator[str]:
    seen = [Difference(name, FACT) for name in verdicts._NAMES]
    seen += [Difference("payload", "payload-empty"), Difference("code", FACT)]
    seen += [Difference("fxgraph triton", None, FACT)]
    conditions = [Difference("cpp_runtime_thread_count", "2", "1"),
                  Difference(verdicts._HEADERS, "True", "False"),
                  Difference("cuda_matmul_settings", "high"),
                  Difference("inductor_config[X]", "True")]  # fmt: skip
    for one in (*seen, *conditions):
        yield verdicts.difference(one.to_json())
        yield verdicts.condition(one.to_json())
        yield verdicts.must(one.to_json())
    for verdict in ("conditional", "unknown", "stale", "broken"):
        yield verdicts.why(Verdict(verdict, tuple(seen), tuple(conditions)).to_json())
    counts = dict.fromkeys(("usable", "conditional", "unknown", "stale", "broken", "none"), 3)
    yield verdicts.summary({"verdicts": counts, "made_by": {"2.9": 3}})
    yield verdicts.summary({"verdicts": {}, "made_by": {}})
    yield verdicts.warning({"verdicts": {"stale": 1}, "made_by": {}}, FACT)
    yield verdicts.warning({"verdicts": {"stale": 1, "unknown": 1}, "made_by": {}}, FACT)


def of_causes() -> Iterator[str]:
    for code in (*causes._CAUSES, "bypass", "failed"):
        yield causes.why({"code": code}, None)
    for where in causes._WHERE:
        yield causes.place({"where": where})
    yield causes.uncached(2)
    yield causes.seconds({"seconds": 3, "outcome": "hit"})
    yield causes.seconds({"seconds": 3})
    yield causes.named({"name": FACT, "source": FACT})
    totals = {"hits": 2, "local": 1, "remote": 1, "unknown": 1, "misses": 1, "bypasses": 2,
              "spent": 3.0, "saved": 4.0, "graphs": 9}  # fmt: skip
    yield causes.summary(totals)
    yield causes.summary({**totals, "local": 0, "remote": 0})
    graph: GraphTold
    graph = {"id": "1", "name": "", "outcome": "hit", "seconds": None, "phases": [], "process": ""}
    aot: AotTold = {"id": "", "process": "", "name": "", "outcome": "miss", "key": None,
                    "saved": None, "reason": None, "there": None, "dropped": False,
                    "graphs": ["1"]}  # fmt: skip
    yield causes.autograd(aot, [])
    yield causes.autograd({**aot, "outcome": "bypass"}, [])
    yield causes.autograd({**aot, "there": True}, [])
    yield causes.autograd(aot, [graph])
    yield causes.autograd(aot, [{**graph, "outcome": "miss"}])
    for compiles, files, env in ((0, 0, {"TORCH_COMPILE_DISABLE": "1"}),
                                 (0, 0, {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}),
                                 (0, 0, {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0"}),
                                 (2, 0, {}), (0, 1, {}), (0, 0, {})):  # fmt: skip
        result: Any = {"compiles": compiles, "files": files}
        yield causes.nothing(result, env)
        yield causes.nothing(result, env, 1)


def row(
    group: str, factor: str, a: str | None, b: str | None, fields: list[FieldTold] | None = None
) -> FactorTold:
    made: FactorTold = {"group": group, "factor": factor, "a": a, "b": b, "follows": False}
    return {**made, "fields": fields} if fields else made


def of_differences() -> Iterator[str]:
    rows = [
        row("torch", "torch", FACT, None), row("gpu", "system_info[device]", "None", FACT),
        row("configuration", "deterministic_algorithms_settings", "(True, 1)", "(False, 1)"),
        row("configuration", "deterministic_algorithms_settings", "(False, 1)", "(True, 1)"),
        row("configuration", "cuda_matmul_settings", FACT, None),
        *(row("graph", f"fx_kwargs[is_{what}]", a, None)
          for what in ("backward", "inference") for a in ("True", "False")),
        row("graph", "graphs", "forward and backward", "forward"),
        row("graph", "graphs", "forward", "forward and backward"),
        *(row("configuration", "inductor_config[X]", a, b)
          for a in ("True", "False", "7") for b in ("False", None)),
    ]  # fmt: skip
    for one in rows:
        yield explaining.phrase(one)
        yield explaining.factor({**one, "half": "forward"})
        yield explaining.sentence({"differences": [one]})
    every: tuple[list[FieldTold], ...]
    every = (
        [{"field": "DIM", "a": "8", "b": "16"}], [{"field": "value", "a": "s7", "b": "8"}],
        [{"field": "DIM", "a": "8", "b": None}], [{"field": "value", "a": "8", "b": "s7"}], [],
    )  # fmt: skip
    for fields in every:
        for many in (1, 2, 5):
            some = [row("inputs", f"example_inputs[{n}]", None, None, fields) for n in range(many)]
            yield explaining.sentence({"differences": some})
            for inputs in ((5, 5), (4, 5)):
                yield explaining.sentence({"differences": some, "inputs": inputs})
            yield from explaining.values(some[0], {})
    gm = row("graph", "gm", FACT, FACT)
    for own in ([], ["A"], list("ABCDEF")):
        for other in ([], ["B"]):
            told = GraphDifference(tuple(own), tuple(other), False, 1.0, tuple(own), tuple(other))
            same = replace(told, same_ops=True, diff=("+ X",) if own else ())
            for graph in (told, replace(told, alike=0.1), same):
                yield explaining.sentence({"differences": [gm], "graph": graph.to_json()})
    yield from explaining.values(gm, {})
    yield explaining.sentence({"differences": rows, "same_graph": True})
    yield explaining.sentence({"differences": some, "same_graph": True})
    yield explaining.sentence({})
    yield explaining.sentence({}, other_key=True)
    for recorded in ((True, False), (False, True), (False, False)):
        yield explaining.sentence({"recorded": recorded})
    for group in explaining.GROUPS:
        yield explaining.group(group)


def of_owners() -> Iterator[str]:
    whos: list[Who] = [
        {"kind": "user", "number": 5, "name": "BOB"}, {"kind": "user", "number": 7, "name": None},
        {"kind": "all", "number": 0, "name": None}, {"kind": "group", "number": 5, "name": "ML"},
        {"kind": "group", "number": 7, "name": None},
    ]  # fmt: skip
    several = list(itertools.product((False, True), repeat=4))
    for what in owned._WORDS:
        for who in whos:
            for (grave, mine, default, other), (folders, files, users) in itertools.product(
                several, ((1, 0, 1), (0, 3, 1), (2, 1, 3))
            ):
                for one in owned.told([{
                    "what": what, "grave": grave, "place": "/P", "path": "/Q", "root": "/R",
                    "among": "/A", "who": who, "default": default, "mine": mine, "owned": other,
                    "sticky": other, "folders": folders, "files": files, "users": users,
                    "owners": [(who, 2)], "host": "H", "port": 7, "reach": "unknown", "all": other,
                }]):  # fmt: skip
                    command = re.escape(one.command)
                    yield re.sub(command, "", f"{one.what}{one.why}{one.remedy}{one.short}")


def of_doctor() -> Iterator[str]:
    told = [diagnosing.Told(Finding(FACT, each), FACT) for each in ("error", "warning", "advice")]
    whole: DiagnoseResult = {"checks": ["a"], "left": []}
    undone: LeftCheck = {"check": "a", "place": "", "code": "cancelled", "params": {}}
    cut: DiagnoseResult = {"checks": ["a", "b"], "left": [undone]}
    for found in ([], told):
        for result in (whole, cut):
            yield diagnosing.summary(found, result)
    yield diagnosing.rest(Finding(FACT, "error", fix="trash-stale"))
    yield diagnosing.rest(Finding(FACT, "error"))


def of_dead() -> Iterator[str]:
    for code in dead._REASONS:
        yield dead.reason(code)
        because: dict[str, Amount] = {code: {**tallied(3), "files": 3, **measured(9, on_disk=True)}}
        yield from dead.totals(
            {"plan": 1, "entries": 3, "locks": 0, "headers": 0, "unknown": {"goes": 0, "stays": 0},
             "files": 3, "bytes": 9, "disk_bytes": 9, "because": because,
             "in_use": {**InUse().told([]), "left": 0, "stays": tallied(0)}}
        )  # fmt: skip
    for code in dead._RESTS:
        yield dead.rests(code)
    envs: list[tuple[str, Env]] = [("/P", {"torch": "2.9"})] * 3
    yield dead.environments(Everywhere(envs, []), 1).replace("torch 2.9", "")
    yield finds.unproven({"place": FACT, "why": FACT})
    yield finds.no_undo({"place": FACT, "code": "trash-not-folder", "params": {"place": FACT}})
    told: CutOff = {"place": FACT, "what": "purge", "outcome": "", "made": None, "entries": 0,
                    "files": 0, "bytes": 0, "left": 0, "file": FACT}  # fmt: skip
    for what in finds._CUT_OFF:
        for made in (None, 3.0):
            yield finds.become_of({**told, "what": what, "made": made})
    for outcome in (
        "not-believed",
        "of-another",
        "taken-back",
        "put-back",
        "waiting",
        "forgotten",
        "no-room",
    ):
        for many in (0, 1, 2):
            yield finds.become_of(
                {**told, "outcome": outcome, "files": many, "entries": many, "left": many}
            )


def of_entries() -> Iterator[str]:
    kinds: dict[str, dict[str, Any]] = {
        "aoti_eager": {"op": FACT, "inputs": [FACT], "library": FACT},
        "precompile": {"variants": 2, "graphs": 3, "python": FACT, "gpu": FACT, "backend": FACT,
                       "format": FACT, "modules": [FACT]},
        "autotune": {"choices": 2, "versions": {"triton": FACT, "cuda": FACT, "hip": FACT}},
        "ondisk": {"prefix": FACT}, "code": {"hashes": {"code": FACT, "compiler": FACT}},
    }  # fmt: skip
    for kind, about in kinds.items():
        for fact in explaining.told(kind, {**about, "strange": [FACT]}):
            yield fact.label
            yield from fact.values
    for what in ("url-password", "url-token", "private-key", "token", "again", "value"):
        for name in ("AWS", "hex", ""):
            for file in ("key", "F"):
                one: Secret = {"what": what, "name": name.upper() if what != "again" else name,
                               "key": "K", "kind": "K", "path": "P", "file": file, "offset": 3,
                               "times": 2, "excerpt": "X", "redactable": False}  # fmt: skip
                yield leaks.line(one)
                yield leaks.of_entry(one)
    for what in leaks._FACTS:
        some: list[Private] = [
            {"what": what, "value": FACT, "entries": 2, "times": 3, "kind": "K", "key": "K",
             "path": "P", "file": "F", "offset": 3}
        ] * 6  # fmt: skip
        yield from leaks.private(some)
        yield from leaks.private(some, of_one=True)
    strange: RunnableName = {
        "name": FACT, "strange": True, "kinds": ["K"], "entries": 3, "key": "K"
    }  # fmt: skip
    known: RunnableName = {**strange, "strange": False}
    for every in ([], [known], [strange] * 9):
        found: RunnableResult = {
            "globals": every, "strange": 3, "more": True,
            "kinds": [{"kind": "K", "entries": 9, "pickles": 1, "sources": 2, "objects": 3,
                       "unread": 4}],
        }  # fmt: skip
        for name, value in leaks.lines(found):
            yield from (name, value)
        yield leaks.warning(found)


def of_places() -> Iterator[str]:
    page: ServerResult = {
        "place": "redis://P:1/0", "version": FACT, "uptime_s": 3, "used_memory": 3,
        "max_memory": 0, "policy": FACT, "evicted": 3, "hits": 2, "misses": 1, "keys": 9,
        "expiring": 3, "role": FACT, "read_only": False, "quiet": False, "clients": 2,
        "forbidden": [], "meanings": list(environments._MEANINGS), "changes": {}, "owners": [],
    }  # fmt: skip
    for name, value in environments.figures(page):
        yield from (name, value)
    yield from environments.meanings(page)
    for code in (*environments._WHY_NOT, None):
        may = {"copy": code, "expire": code, "purge": None}
        yield environments.changes({**page, "changes": may})
        yield environments.changes({**page, "changes": {"copy": code}})
    claim: Builder = {"torch": FACT, "torch_key": FACT, "python": FACT, "compiler": FACT,
                      "libc": FACT, "cpu_flags": []}  # fmt: skip
    for built in (0, 1, 2):
        about: Claims = {"objects": 2, "built": built, "unportable": 0, "portable": 1,
                         "native": claim}  # fmt: skip
        for name, value in carrying.lines(about):
            yield from (name, value.replace(preparing.VARIABLE, ""))
    yield from carrying.advice([{"unportable": 1, "portable": 1}], "/P")[:2]
    makers: list[Maker | None] = [
        None, {"what": "bundle", "torch": None}, {"what": "environment", "torch": FACT}
    ]  # fmt: skip
    for maker in makers:
        yield carrying.undescribed({"objects": 3, "described": 1, "maker": maker})
    made_in: MadeIn = {"torch": None, "torch_git": None, "cuda": None, "gpus": [], "threads": 2}
    yield carrying.threads(made_in, {"threads": 4})
    made: Any = {"built": 2, "there": 0, "bytes": 9, "folder": "/P/torchinductor_U/F", "seconds": 3}
    for one in (made, made | {"there": 1}, made | {"built": 0}):
        yield preparing.said(one)
    yield preparing.finds(made)
    yield preparing.warning(made | {"user": "U"})
    yield preparing.threads(4)


def of_runs() -> Iterator[str]:
    for name in ("cold", "mega", "warm", "prepared"):
        yield verifying.beginning(name)
    good: Any = {"hits": 3, "misses": 0, "autograd": {"misses": 0}, "rebuilt": 0, "bypasses": 0,
            "unwritten": 0, "graphs": 3}  # fmt: skip
    bad: Any = {**good, "misses": 2, "autograd": {"misses": 1}, "rebuilt": 2, "bypasses": 1}
    none: Any = {**good, "hits": 0, "misses": 3}
    ratios = {f"{a}_{b}": 2.0 for a in ("warm", "prepared") for b in ("cold", "mega")}
    rows = [{"name": FACT, "outcome": "miss", "why": FACT}]
    for one in (good, bad, none, {**good, "rebuilt": 1}, {**good, "autograd": {"misses": 1}}):
        for runs in (
            {"warm": one},
            {"warm": good, "prepared": one},
            {"warm": one, "prepared": one},
        ):
            for many in (1, 3):
                for told in ([], rows):
                    for things in ({}, {"eager": 3}, {"triton": 3}):
                        for some in (ratios, {"warm_cold": 2.0}, {"warm_mega": 2.0}, {}):
                            result: Any = {**one, "good": one is good, "runs": runs, "threads": 2,
                                      "ratios": some, "rows": told, "things": things,
                                      "whole": {"variants": many, "good": 1}}  # fmt: skip
                            yield verifying.verdict(result)
                            yield verifying.outcome(result)
                            yield from verifying.advice(result, 4)
    variant: Any = {**good, "problem": None, "good": False, "why": None}
    for one in (variant, variant | bad, variant | none, variant | {"good": True}):
        yield verifying.of_variant(one | {"misses": 1 if one["hits"] else 3})
        yield verifying.of_variant(one)


def of_settings() -> Iterator[str]:
    name = "TORCHINDUCTOR_FX_GRAPH_CACHE"
    about = settled.Settled([], [], "2.13", None)
    for by in ("variable", "default", "absent", "code", "unknown"):
        for sure in (True, False):
            for where, seen in (("F", ""), ("", "/P"), ("", "")):
                one = Origin(name, None, by, "OTHER", where, False, sure, seen)
                yield settled.by_words(one, about).replace("torch", "")
                yield settled.value_words(one)
    for how in settled._HOW:
        for wins in (True, False, None):
            yield settled.override_words(Override("F", how, None, wins is None, wins))
    for sees, hidden in (("own", 0), ("all", 2)):
        yield settled.hidden_words(settled.Running([], hidden, sees))
    for loaded in (True, False):
        lost = Process(1, "P", [], None, "", "", loaded, None, None, [], 0, False)
        for kind, stopped in (("none", ""), ("script", ""), ("script", "time")):
            made = settled.Settled([], [], process=lost, changed=["F"], lost=True,
                                   kind=kind, stopped=stopped)  # fmt: skip
            yield from settled.unseen(made)
    unread = [("F", why) for why in settled._UNREAD]
    yield from settled.unseen(settled.Settled([], [], None, None, lost, unread=[*unread, *unread]))
    for label, value in environments.told({"torch": "2.9", "python": "3.12", "threads": 2}):
        yield re.sub("torch|python", "", f"{label} {value}")
    yield environments.without_torch({})
    yield environments.without_torch({"torch_error": FACT})


def of_files() -> Iterator[str]:
    for text in ("[[", "a = 1\n", "[callable]\n", "name = 1\nsize = 2\n", "a" + ".a" * 70 + "=1"):
        for fault in recipes.looked_at(text)[1]:
            yield str(fault).replace(fault.where or " ", "").replace(fault.syntax or " ", "")
    for name in ("", " a", "a" * 500, "a/b", ".a", "a.toml", "a\n"):
        yield profile.name_fault(name)
    for text in ("\0", "a" * 200_000, "\ud800"):
        yield profile.impossible(text)
    for text in ("x = 1", "about = 1", "settings = 1", "[settings]\nX = '1'",
                 "[settings]\nTRITON_INTERPRET = 1"):  # fmt: skip
        with pytest.raises(words.UserError) as told:
            keeping.parsed(text, "N", "F")
        yield re.sub("about|settings|x|X", "", str(told.value))


SAID: dict[str, Callable[[], Iterator[str]]] = {
    name.removeprefix("of_"): one for name, one in list(globals().items()) if name.startswith("of_")
}


@pytest.fixture
def spoken() -> Iterator[None]:
    """The language of brackets is spoken."""
    tongue.use(bracketed)
    yield
    tongue.use(None)


@pytest.mark.slow
@pytest.mark.parametrize("what", SAID)
def test_every_sentence_is_translated_whole(what: str, spoken: None) -> None:
    said = list(SAID[what]())
    tongue.use(None)
    english = list(SAID[what]())
    for told, plain in zip(said, english, strict=True):
        assert not re.search(r"[a-z]{3}", bare(told)), told
        assert told.count(FACT) == plain.count(FACT)
    assert sum("⟦" in told for told in said) > 5, "or nothing was said"


#: Notations: parts of formats, and what is written into the files of profiles.
_NOTATIONS = {" min ", " min", "  - name: ", "        name: ", "        key: ", "    value: ",
              keeping._COMMENT, *(pattern.pattern for pattern, _ in line._FAILURES)}  # fmt: skip
#: Commands, whose words are no words.
_COMMAND = re.compile(
    r"torchkeeper |chmod |chown |rm -r|kubectl |ssh|mkdir |export |torch |import |exec |trap "
    r"|\(\.\*\) "
)
_PROSE = re.compile(r"[A-Za-z]{2,}[,:;]? [a-z]{2,}")
_PART = re.compile(r"(^|[ (,;])[a-z]{3,} | [a-z]{3,}([ ),.:;]|$)")


def second(pair: ast.Tuple) -> str:
    """The second of two texts."""
    last = pair.elts[-1] if len(pair.elts) == 2 else None
    return str(last.value) if isinstance(last, ast.Constant) else ""


def prose() -> Iterator[str]:
    """What reads like words in client, and is given to no translator."""
    for path in sorted(CLIENT.rglob("*.py")):
        if SILENT & set(path.relative_to(CLIENT).parts):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                if getattr(node.exc.func, "id", "") in ("ValueError", "OSError", "TypeError"):
                    passed |= {id(one) for one in ast.walk(node.exc)}  # for other modules
            elif isinstance(node, ast.Dict):
                passed |= set(map(id, node.keys))
            elif isinstance(node, ast.Call) and len(node.args) > 1:
                # One of a thing, whose translation is a form of many of it.
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in ("count", "several", "Forms"):
                    passed.add(id(node.args[0 if name == "Forms" else 1]))
            elif (
                isinstance(node, ast.Tuple) and (tongue.CONTEXT, second(node), True) in collected()
            ):
                passed.add(id(node.elts[0]))
        for node in ast.walk(tree):
            if id(node) in passed or getattr(node, "value", None) in _NOTATIONS:
                continue
            if isinstance(node, ast.JoinedStr):
                first = node.values[0]
                command = isinstance(first, ast.Constant) and _COMMAND.match(str(first.value))
                for part in node.values:
                    passed.add(id(part))
                    text = part.value if isinstance(part, ast.Constant) else ""
                    if (
                        isinstance(text, str)
                        and _PART.search(text)
                        and not command
                        and text not in _NOTATIONS
                    ):
                        yield f"{path.name}:{node.lineno}: {text}"
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
                known = any((tongue.CONTEXT, text, x) in collected() for x in (True, False))
                if _PROSE.search(text) and not known and not _COMMAND.match(text):
                    yield f"{path.name}:{node.lineno}: {text}"


ENGINES = ("artifacts", "stores", "settings", "verdict", "warm", "doctor", "engine")
#: Whys that are an error's own: its name, and what it says.
_OF_ERRORS = {"{}: {}", "SyntaxError: {}"}


def templates_of_engines() -> Iterator[str]:
    """What engines say with figures in it of why something is not possible; {} for a figure."""
    for floor in ENGINES:
        for path in sorted((CLIENT.parent / floor).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                told = isinstance(node, ast.keyword) and node.arg == "why"
                if told or (isinstance(node, ast.Assign) and _is_why(node.targets[0])):
                    value = node.value if isinstance(node, (ast.keyword, ast.Assign)) else None
                    if isinstance(value, ast.JoinedStr):
                        yield "".join(
                            str(part.value) if isinstance(part, ast.Constant) else "{}"
                            for part in value.values
                        )


def _is_why(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "why"


@pytest.mark.slow
def test_what_engines_say_with_figures_can_be_translated(spoken: None) -> None:
    known = {re.sub(r"{\w+}", "{}", one) for one in problems.TEMPLATES}
    found = set(templates_of_engines()) - _OF_ERRORS
    assert found <= known
    assert len(found) > 15, "or nothing was found"
    for template in problems.TEMPLATES:
        told = problems.reworded(template.format_map(params(template)))
        assert not re.search(r"[a-z]{3}", bare(told)), told
        assert told.startswith("⟦")
    assert problems.reworded("Permission denied") == "Permission denied"


def test_nothing_is_said_past_the_tongue() -> None:
    assert list(prose()) == []


def test_no_text_is_translated_before_the_language_is_known() -> None:
    """What a module says as it is loaded would stay English."""
    for path in sorted(CLIENT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inside = {
            id(one)
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.Lambda))
            for one in ast.walk(node)
        }
        early = [
            node.lineno
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and id(node) not in inside
            if getattr(node.func, "id", "") in ("tr", "several")
        ]
        assert early == [], path.name


def test_a_number_has_the_form_of_its_language() -> None:
    forms = {"{n} files": ["{n} soubor", "{n} soubory", "{n} souborů"]}
    at = {1: 0, 2: 1, 3: 1, 4: 1}
    tongue.use(lambda text, number: forms.get(text, [text] * 3)[at.get(number, 2)])
    try:
        said = [tongue.several(n, "{n} file", "{n} files") for n in (1, 3, 1204)]
        assert said == ["1 soubor", "3 soubory", "1,204 souborů"]
        assert tongue.several(1, "{n} mouse", "{n} mice") == "1 mouse", "nobody translated it"
    finally:
        tongue.use(None)


def test_phases_are_those_that_are_known() -> None:
    """Whatever a stranger's trace calls one."""
    name = next(iter(causes.NAMES))
    told = [[name, 1], [[name], 1.0], ["no such", 1.0], [name, True], name, None]
    assert causes.of({"phases": told}) == [(name, 1.0)]
    assert causes.of({"phases": name}) == causes.of({}) == []
