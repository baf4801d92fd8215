"""The variants of a warm-up: what the findings say of them, the table, and its colours."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.client.test_verified import result
from tests.gui.conftest import click
from tests.gui.test_look import contrast
from tests.gui.test_slices import SLICE
from tests.pace import within
from tests.shots import sample_variants
from tests.shots.sample_results import WARMED
from torchkeeper.client.kept.verified import Verified
from torchkeeper.client.words import say
from torchkeeper.client.words.causes import NAMES as WORDS
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine.messages.findings import Finding, VariantFinding
from torchkeeper.gui.activity.aftermath import VerifiedVariants
from torchkeeper.gui.activity.shown import mark
from torchkeeper.gui.jobs.hearing import heard
from torchkeeper.gui.jobs.model import Job, JobsModel, State, Then, outcome, variants_text
from torchkeeper.gui.matrix.model import HITS, MISSES, PHASES, TIME, VARIANT, VariantsModel
from torchkeeper.gui.matrix.pane import VariantsPane
from torchkeeper.gui.matrix.variants import PHASES as NAMES
from torchkeeper.gui.matrix.variants import Variants, spent, title, told, words
from torchkeeper.gui.pages.recipes.known import BUILTIN, counted, file_of
from torchkeeper.gui.theme import DARK, LIGHT, Shades
from torchkeeper.gui.verdicts.verifications import Beside
from torchkeeper.verdict.probed import GraphTold
from torchkeeper.warm.shapes import Proof

Lab = tuple[float, float, float]


def some(count: int, first: int = 0) -> Finding:
    """A finding that names so many variants."""
    numbers = range(first, first + count)
    return {"variants": [{"index": n, "recipe": "r", "name": f"add, batch {n}",
                          "source": "callable", "state": "queued"} for n in numbers]}  # fmt: skip


def lookup(variant: int, ident: str, outcome: str, **more: Any) -> Finding:
    """A finding about a graph of a variant."""
    graph: Any = {"variant": variant, "id": ident, "name": "", "outcome": outcome, "seconds": None,
                  "phases": [], **more}  # fmt: skip
    return {"graph": graph}


def texts(model: VariantsModel, line: int) -> list[str]:
    return [str(model.index(line, column).data()) for column in (VARIANT, HITS, MISSES, TIME)]


def test_what_is_told_of_variants_is_known() -> None:
    variants = sample_variants.told(9, (4, 7), running=2)
    counts = {name: count for name, count in variants.counts.items() if count}
    assert counts == {"done": 7, "failed": 2, "compiling": 2, "queued": 5}
    failed = variants.at(4)
    assert failed is not None
    assert failed.error is not None
    assert failed.error.code == "warm-failed"
    assert failed.lines()[-1].startswith("RuntimeError: mat1")
    assert variants.bad == [failed, variants.at(7)]
    done = variants.at(0)
    assert done is not None
    assert done.phases is not None
    assert (done.count, done.hits, done.misses) == (2, 0, 2)
    assert done.phases[NAMES.index("build")] > done.phases[NAMES.index("partition")] > 0
    job = Job(1, "Warm", "warm", variants=variants, state=State.RUNNING)
    assert variants_text(job) == "9 of 16 variants · 2 failed"
    variants.end()
    assert variants.counts["cancelled"] == 7
    assert job.can_go_on is False, "it is still to end"
    job.state = State.DONE
    assert job.can_go_on


def test_a_variant_that_is_not_found_again_is_not_warm() -> None:
    variants = Variants()
    variants.hear(some(2))
    for index, found in ((0, 2), (1, 1)):
        proof: Proof = {"found": found, "of": 2}
        variants.hear(
            {"variant": {"index": index, "state": "done", "seconds": 1.0, "proof": proof}}
        )
    assert [variant.good for variant in variants.rows] == [True, False]
    assert [variant.index for variant in variants.bad] == [1]


@pytest.mark.parametrize(
    "found",
    [{"variants": [{"index": 0, "state": ""}]},
     {"variant": {"index": 99, "state": "done"}},
     {"variant": {"index": 0, "state": "asleep"}},
     lookup(99, "", ""), lookup(0, "", "", phases=[("dynamo", -1.0), ("odd", math.inf)]),
     lookup(0, "0/0", "miss", seconds=math.nan),
     {"variant": {"index": 0, "state": "failed", "problem": {"code": "", "params": {}}}},
     {"variant": {"index": 0, "state": "done", "hits": -4, "graphs": 10**12, "proof": {"of": -1}}}],
)  # fmt: skip
def test_nonsense_does_no_harm(qtbot: QtBot, found: Finding) -> None:
    variants = Variants()
    variants.hear(some(2))
    pane = VariantsPane()
    qtbot.addWidget(pane)
    pane.show_variants(variants)
    variants.hear(found)
    pane.show_variants(variants)
    pane._refresh()
    assert len(variants.rows) == 2
    assert all(len(texts(pane.model, line)) == 4 for line in range(pane.model.rowCount()))
    assert sum(variants.counts.values()) == 2
    # The longest time that there is has room.
    view = pane.view
    longest = view.fontMetrics().horizontalAdvance(say.seconds(59 * 60 + 59))
    assert view.columnWidth(TIME) >= longest + 16


def test_a_single_variant_fails_as_its_job_does() -> None:
    variants = Variants()
    variants.hear(some(1))
    error = user_error("warm-timeout", {"seconds": 3})
    variants.end(error)
    assert (variants.rows[0].state, variants.rows[0].error) == ("failed", error)
    variants = Variants()
    variants.hear(some(2))
    variants.end(error)
    assert [variant.state for variant in variants.rows] == ["cancelled", "cancelled"]


def test_phases_are_named_with_their_seconds() -> None:
    one = spent([("dynamo", 1.5), ("build", 3.0), ("unheard of", 0.5)])
    assert words(one, 6.0) == [
        "Dynamo  1.5 s", "Build  3.0 s", "Other  0.50 s", "Outside of graphs  1.0 s",
    ]  # fmt: skip
    assert words(spent(()), 2.0) == []
    assert words([], 2.0) == [], "nothing is known of a variant that waits"
    assert [title(name).lower() for name in NAMES] == list(WORDS.values())


def test_graphs_stand_under_the_variant_that_is_open() -> None:
    model = VariantsModel()
    variants = sample_variants.told(3)
    model.show_variants(variants)
    whole = model.rowCount()
    assert texts(model, 0) == ["decode, batch 1, float32, default", "0", "2", "5.7 s"]
    model.open(1)
    assert model.rowCount() == whole + 2
    assert texts(model, 2)[:3] == ["1/0 forward · Decoder.forward", "", "miss"]
    assert [model.row_of(line) for line in range(5)] == [0, 1, 1, 1, 2]
    assert [model.line_of(row) for row in range(4)] == [0, 1, 4, 5]
    assert "Codegen" in str(model.index(2, PHASES).data(Qt.ItemDataRole.ToolTipRole))
    more: GraphTold = {**sample_variants.graphs(1)[0], "id": "1/1 forward"}
    variants.hear({"graph": more})
    model.refresh()
    assert model.rowCount() == whole + 3
    model.open(0)
    assert model.rowCount() == whole + 2
    assert [model.row_of(line) for line in range(4)] == [0, 0, 0, 1]
    model.open(None)
    assert model.rowCount() == whole


@pytest.fixture
def pane(qtbot: QtBot) -> VariantsPane:
    made = VariantsPane()
    qtbot.addWidget(made)
    made.resize(900, 600)
    made.show()
    return made


def test_why_a_variant_failed_is_shown_and_copied(qtbot: QtBot, pane: VariantsPane) -> None:
    variants = sample_variants.told(9, (4, 7))
    pane.show_variants(variants)
    pane.choose_bad()
    assert pane.variant is variants.rows[4]
    assert pane.detail.notice.what.text() == "Compiling failed."
    assert "mat1 and mat2" in pane.detail.notice.why.text()
    # Where there is little height, the row alone is seen.
    assert pane.model.index(4, PHASES).data() == pane.detail.notice.why.text()
    assert pane.detail.log.toPlainText().splitlines() == sample_variants.LOG
    click(qtbot, pane.detail.copy)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("decode, batch 8, float32, default\nCallable · failed\n")
    assert copied.endswith(sample_variants.LOG[-1] + "\n")
    pane.bad.setChecked(True)
    assert pane.model.rowCount() == 2
    pane.bad.setChecked(False)
    pane.choose(0)
    assert not pane.detail.notice.isVisible()
    assert not pane.detail.log.isVisible()
    assert (
        pane.detail.facts.text()
        == "Callable · done · 2 graphs: 0 hits, 2 misses · cpu · 32 threads"
    )


def test_what_pytorch_does_not_cache_is_named_with_its_reason(
    qtbot: QtBot, pane: VariantsPane
) -> None:
    variants = Variants()
    variants.hear(some(2))
    variants.hear(lookup(0, "0/0 forward", "miss", name="f"))
    bypass = lookup(0, "1/0 forward", "bypass", name="f", reason="a custom pass")
    assert heard(Job(1, "Warm", "warm", variants=variants), bypass) == (
        "Graph f: not cacheable: a custom pass"
    )
    for index in (0, 1):
        variants.hear({"variant": {"index": index, "state": "done", "graphs": 2, "misses": 1,
                             "bypasses": 1}})  # fmt: skip
    pane.show_variants(variants)
    pane.choose(0)
    said = "PyTorch does not cache 1 graph of it, which every program compiles again"
    assert pane.detail.facts.text() == "Callable · done · 2 graphs: 0 hits, 1 miss, 1 not cacheable"
    assert pane.detail.uncached.text() == f"{said}:\n1/0 forward · f: a custom pass"
    assert pane.detail.uncached.isVisible()
    qtbot.waitUntil(lambda: pane.model.rowCount() == 4)
    hint = str(pane.model.index(2, VARIANT).data(Qt.ItemDataRole.ToolTipRole))
    assert "not cacheable" in hint
    assert "a custom pass" in hint
    click(qtbot, pane.detail.copy)
    assert f"{said}:\n1/0 forward · f: a custom pass\n" in QGuiApplication.clipboard().text()
    # Of a script it is known only how many there are.
    pane.choose(1)
    assert pane.detail.uncached.text() == f"{said}."
    assert variants.rows[0].good, "what can be warmed of it is"


def test_the_recipe_of_a_bad_variant_can_be_edited(qtbot: QtBot) -> None:
    job = Job(1, "Warm", "warm", variants=sample_variants.told(16, (4, 7)))
    names = dict.fromkeys(variant.recipe for variant in job.variants.rows)
    job.asked = {"paths": [BUILTIN, *(f"/r/{name}.toml" for name in list(names)[1:])]}
    assert file_of(job, "decode") == "", "the built-in one has none"
    assert file_of(job, "export") == "/r/export.toml"
    assert counted(job)["kernels"] == ("/r/kernels.toml", 2, 0)
    job.asked["paths"][0] = "/r/decode.toml"
    pane = VariantsPane()
    qtbot.addWidget(pane)
    pane.show()
    pane.file_of = lambda recipe: file_of(job, recipe)
    pane.show_variants(job.variants)
    assert not pane.recipe.isVisible()
    pane.choose(4)
    with qtbot.waitSignal(pane.edit) as told_of:
        click(qtbot, pane.recipe)
    assert told_of.args == ["/r/decode.toml"]
    job.asked["before"] = [("another", 3)]
    assert counted(job) == {}, "nobody knows whose the files are"


def test_a_job_that_is_not_good_is_marked_so(qtbot: QtBot) -> None:
    jobs = JobsModel()
    for kind, variants, came, icon in (
        ("warm", sample_variants.told(16), WARMED, "done"),
        ("warm", sample_variants.told(16, (4,)), WARMED, "warning"),
        ("verify", Variants(), result(good=False), "warning"),
        ("verify", Variants(), result(), "done"),
    ):
        job = jobs.add("It", kind, "/place")
        job.variants = variants
        jobs.begin(job)
        assert mark(job)[0] == "running"
        jobs.end(job, State.DONE, result=came)
        assert mark(job)[0] == icon


def test_it_follows_what_is_compiled_until_a_variant_is_chosen(qtbot: QtBot) -> None:
    pane = VariantsPane()
    qtbot.addWidget(pane)
    pane.show()
    variants = sample_variants.told(3, running=1)
    pane.show_variants(variants)
    assert pane.variant is variants.rows[3]
    variants.hear({"variant": sample_variants.done(3)})
    variants.hear({"variant": {"index": 4, "state": "compiling"}})
    pane.show_variants(variants)
    qtbot.waitUntil(lambda: pane.variant is variants.rows[4])
    pane.choose(1)
    variants.hear({"variant": sample_variants.done(4)})
    variants.hear({"variant": {"index": 5, "state": "compiling"}})
    pane._refresh()
    assert pane.variant is variants.rows[1]


@pytest.mark.slow
def test_ten_thousand_variants_are_shown_without_a_pause(pane: VariantsPane) -> None:
    variants = Variants()
    pane.show_variants(variants)
    turns: list[float] = []

    def turn() -> None:
        begun = time.thread_time()
        pane.show_variants(variants)
        pane._refresh()
        QApplication.processEvents()
        turns.append(time.thread_time() - begun)

    for first in range(0, 10_000, 1000):
        # As many as one read of an engine's pipe brings.
        for part in range(first, first + 1000, 200):
            variants.hear(some(200, part))
        turn()
    for index in range(0, 10_000, 100):
        for number in range(index, index + 100):
            state = "failed" if number % 10 == 3 else "done"
            variants.hear({"variant": {"index": number, "state": state, "seconds": 0.1}})
        turn()
    assert pane.model.rowCount() == 10_000
    pane.bad.setChecked(True)
    turn()
    assert pane.model.rowCount() == 1000
    assert sorted(turns)[-3] < within(SLICE)


def test_what_fails_meanwhile_does_not_take_the_choice_away(
    qtbot: QtBot, pane: VariantsPane
) -> None:
    variants = sample_variants.told(9, (4, 7), running=2)
    variants.hear(lookup(7, "7/0", "miss"))
    pane.show_variants(variants)
    pane.bad.setChecked(True)
    pane.choose(7)
    qtbot.waitUntil(lambda: pane.model.rowCount() == 3)
    for index in (6, 10, 9):
        variants.hear({"variant": {"index": index, "state": "failed"}})
    pane.show_variants(variants)
    pane._refresh()
    assert [pane.model.row_of(line) for line in range(6)] == [4, 6, 7, 7, 9, 10]
    assert pane.view.currentIndex().row() == 2
    assert pane.variant is variants.rows[7]
    turns: list[float] = []
    for first in range(16, 1000, 100):
        variants.hear(some(100, first))
        for index in range(first, first + 100):
            variants.hear({"variant": {"index": index, "state": "failed"}})
        begun = time.thread_time()
        pane._refresh()
        QApplication.processEvents()
        turns.append(time.thread_time() - begun)
    assert pane.view.currentIndex().row() == 2
    assert sorted(turns)[-2] < within(SLICE), turns


def test_hundreds_of_graphs_and_a_long_log_are_shown_without_a_pause(pane: VariantsPane) -> None:
    variants = Variants()
    variants.hear(some(2))
    variants.hear({"variant": {"index": 0, "state": "compiling"}})
    turns: list[float] = []
    told = [("compiling", []), ("miss", [("codegen", 0.25)]), ("hit", [("codegen", 0.5)])]
    for outcome_, phases in told:
        for first in range(0, 500, 50):
            begun = time.thread_time()
            for number in range(first, first + 50):
                variants.hear(lookup(0, f"{number}/0", outcome_, phases=phases))
                variants.hear({"log": f"{number} {'x' * 200}", "variant": 0})
            pane.show_variants(variants)
            pane._refresh()
            QApplication.processEvents()
            turns.append(time.thread_time() - begun)
    variant = variants.rows[0]
    assert (variant.count, variant.hits, variant.misses) == (500, 500, 0)
    assert variant.phases is not None
    assert sum(variant.phases) == variant.total == 250.0
    assert pane.model.rowCount() == 502
    assert pane.detail.log.toPlainText().splitlines() == variant.lines()
    assert pane.detail.log.blockCount() == 200
    assert sorted(turns)[-3] < within(SLICE)
    pane.choose(1)
    assert pane.detail.log.toPlainText() == ""


def test_variants_of_a_large_verification_are_listed_up_to_a_point(qtbot: QtBot) -> None:
    table = VerifiedVariants()
    qtbot.addWidget(table)
    one: Any = sample_variants.verified()
    table.show_variants([one[n % len(one)] | {"index": n} for n in range(10_000)])
    assert table.topLevelItemCount() == 501
    assert table.items()[-1].text(0) == "and 9,500 more"


def test_a_graph_for_which_no_cache_was_asked_is_neither_hit_nor_miss(qtbot: QtBot) -> None:
    pane = VariantsPane()
    qtbot.addWidget(pane)
    job = Job(1, "Warm", "warm", state=State.RUNNING)
    heard(job, some(1))
    heard(job, {"variant": {"index": 0, "state": "compiling"}})
    graph = lookup(0, "0/0", "none", name="f", seconds=0.5)
    assert heard(job, graph) == "Graph f: compiled, no cache asked · 0.50 s"
    # A script tells neither its device nor its threads.
    script: VariantFinding
    script = {"index": 0, "state": "done", "graphs": 1, "seconds": 1.0, "device": "", "threads": 0}
    heard(job, {"variant": script})
    pane.show_variants(job.variants)
    pane.model.open(0)
    assert texts(pane.model, 1) == ["0/0 · f", "", "no cache", "0.50 s"]
    assert told(job.variants.rows[0]) == (
        "Callable · done · 1 graph: 0 hits, 0 misses, 1 without a cache"
    )
    nothing: Any = {"torch": "", "device": "", "threads": 0, "ratios": {}}
    kept = Verified("/place", 0.0, nothing, "python", None)
    assert Beside(kept, changed=False).more == ""
    assert Beside(kept, changed=True).more.startswith("The place has changed")


@pytest.mark.parametrize("failing", [(), (4, 7)])
def test_the_samples_add_up(failing: tuple[int, ...]) -> None:
    variants = sample_variants.told(16, failing)
    result = sample_variants.result(variants)
    assert (result["done"], result["failed"]) == (16 - len(failing), len(failing))
    assert result["graphs"] == sum(variant.count for variant in variants.rows)
    assert result["graphs"] == sum(result[name] for name in ("hits", "misses", "bypasses"))
    assert result["added"] == sum(result["kinds"].values())
    assert result["kinds"]["fxgraph"] == result["misses"]


def test_a_variant_says_what_becomes_of_each_graph() -> None:
    variant = sample_variants.told(9, running=1).rows[9]
    assert told(variant) == "Callable · compiling · 2 graphs: 0 hits, 1 miss, 1 compiling"


def test_an_outcome_says_what_is_not_warm(qtbot: QtBot) -> None:
    variants = sample_variants.told(16, (4, 7))
    job = Job(1, "Warm", "warm", "/place", State.DONE, variants=variants)
    job.asked = {"then": Then("/out.torchcache")}
    job.result = {"graphs": 22, "hits": 6, "misses": 16, "added": 18,
                  "kinds": {"fxgraph": 16, "triton": 2}, "locks": 28,
                  "bypasses": 0, "failed": 2, "things": {"graphs": 22}}  # fmt: skip
    said = outcome(job)
    assert said.title == "Warmed, but 2 variants are not"
    assert said.lines[0] == "14 of 16 variants are warm."
    added = "18 entries added to /place: FX graph 16, Triton kernel 2."
    assert said.lines[2] == f"{added} Beside them: 28 locks."
    assert said.lines[-1].startswith("Nothing was exported")
    job.variants = sample_variants.told(16)
    assert outcome(job).title == "Warmed"
    # Where nothing is, there is no more to say.
    job.variants, job.result, job.asked = sample_variants.told(1, (0,)), {"added": 0}, {}
    job.variants.end()
    said = outcome(job)
    assert said.title == "Nothing is warm"
    assert said.lines == ["0 of 16 variants are warm.", "Nothing was added to /place."]


# The colours.


def _linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


#: How people see who lack one kind of cone (Machado et al. 2009, severity 1), in linear RGB.
_EYES = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
               (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
               (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
               (0.004733, 0.691367, 0.303900)),
}  # fmt: skip


def _seen(colour: str, eyes: str) -> Lab:
    """A colour in CIELAB as such eyes see it."""
    linear = _linear(colour)
    r, g, b = (max(0.0, sum(m * v for m, v in zip(row, linear, strict=True)))
               for row in _EYES[eyes])  # fmt: skip
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("shades", [LIGHT, DARK], ids=["light", "dark"])
def test_phases_are_told_apart_by_everybody(shades: Shades) -> None:
    assert tuple(shades.phases) == NAMES
    for name in NAMES:
        assert contrast(shades.phases[name], shades.base) >= 3.0, name
    for eyes in _EYES:
        for a, b in itertools.pairwise(NAMES):
            apart = math.dist(_seen(shades.phases[a], eyes), _seen(shades.phases[b], eyes))
            assert apart >= 25, (eyes, a, b)
