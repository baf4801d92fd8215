"""The first page of the inspector: the verdict in sentences, the last verification of the place,
what would leave with an entry, and how one gets to all of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, everything, settle
from tests.gui.test_inspector import choose, first, open_inspector
from tests.gui.test_models import entry
from tests.shots.sample_engines import SampleEngines
from tests.shots.scenes_verifying import result
from torchkeeper.artifacts.entry import Entry
from torchkeeper.client.kept.verified import Verified
from torchkeeper.client.words.verdicts import must, told
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.dialogs.exporting import ExportDialog
from torchkeeper.gui.inspector.details import Detail, FactsView, Need, Relatives, sections
from torchkeeper.gui.inspector.summary import About, Measured, Sharing, VerdictCard
from torchkeeper.gui.verdicts.verifications import Beside
from torchkeeper.verdict.probed import DifferenceTold, VerdictTold

PASSWORD = "hunter2-not-a-real-password"
HERE = About("2.13.0+cpu", "/opt/py312/bin/python")


@pytest.fixture
def leaking(kept_291: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept_291, tmp_path / "leaking"))


def judged(
    verdict: str, reasons: Sequence[DifferenceTold] = (), conditions: Sequence[DifferenceTold] = ()
) -> Entry:
    row: VerdictTold
    row = {"verdict": verdict, "reasons": list(reasons), "conditions": list(conditions)}
    said, why = told(row)
    return entry(1)._replace(kind="fxgraph", verdict=said, why=why)


def a(factor: str, made: str | None, here: str | None) -> DifferenceTold:
    return {"factor": factor, "entry": made, "here": here}


def test_a_verdict_is_a_sentence_with_its_conditions_and_reasons(qtbot: QtBot) -> None:
    card = VerdictCard()
    qtbot.addWidget(card)
    card.show()
    stale = judged("stale", reasons=[a("torch", "2.9.1+cu128", "2.13.0+cpu")])
    card.show_entry(stale, HERE)
    said = card.why.toPlainText()
    assert card.title.text() == "Stale"
    assert card.environment.text() == "for torch 2.13.0+cpu"
    assert card.python.text() == "/opt/py312/bin/python"
    assert "No program finds it here, because of:" in said
    assert "• torch 2.9.1+cu128, here 2.13.0+cpu" in said
    assert card.accessibleName() == "Verdict: Stale"
    assert "torch 2.9.1+cu128" in card.accessibleDescription()
    threads = a("cpp_runtime_thread_count", "2", "8")
    tuned = a("inductor_config[max_autotune]", "True", "False")
    odd = a("inductor_config[post_grad_custom_pass]", "<object at 0x7f>", "None")
    card.show_entry(judged("conditional", conditions=[threads, tuned, odd]), HERE)
    said = card.why.toPlainText()
    assert "• threads 2, here 8\nSet OMP_NUM_THREADS=2 or torch.set_num_threads(2)" in said
    assert "• max_autotune True, here False\nSet torch._inductor.config.max_autotune = True" in said
    assert "post_grad_custom_pass = <" not in said, "nobody could write that"
    many = [a(f"inductor_config[x{number}]", "1", "2") for number in range(40)]
    card.show_entry(judged("stale", reasons=many), HERE)
    assert card.why.toPlainText().rstrip().endswith("and 28 more")
    card.show_entry(judged("usable"), HERE)
    assert "find it" in card.why.toPlainText()
    assert not card.button.isVisible()


def test_without_a_verdict_it_says_why_and_what_to_do(qtbot: QtBot) -> None:
    card = VerdictCard()
    qtbot.addWidget(card)
    card.show()
    plain = entry(1)._replace(kind="fxgraph", verdict=None, why=None)
    card.show_entry(plain, About(unjudged="None are asked for."))
    assert card.title.text() == "No verdict"
    assert card.why.toPlainText().strip() == "None are asked for."
    with qtbot.waitSignal(card.asked) as asked:
        click(qtbot, card.button)
    assert asked.args == ["environments"]
    card.show_entry(plain._replace(kind="code"), About(unjudged="None are asked for."))
    assert "no verdict of its own" in card.why.toPlainText()
    card.show_entry(plain._replace(kind="jit"), About(unjudged="None are asked for."))
    assert card.why.toPlainText().strip() == "Nobody can tell whether its compiler will use it."
    assert not card.button.isVisible()


def test_what_a_program_must_do_can_be_pasted() -> None:
    assert must(a("cuda_matmul_settings", "high", "highest")) == (
        'Call torch.set_float32_matmul_precision("high")'
    )
    assert must(a("inductor_config[cpp.simdlen]", "256", "None")) == (
        "Set torch._inductor.config.cpp.simdlen = 256"
    )
    for value in ("__import__('os')", "a\nb", None, "'x'; import os"):
        assert must(a("inductor_config[x]", value, "1")) == ""
    assert must(a("graph", "1", "2")) == ""


@pytest.mark.slow
def test_what_would_leave_is_looked_for_once_and_never_shown(
    qtbot: QtBot, open_window: OpenWindow, leaking: Path, tmp_path: Path
) -> None:
    window = open_inspector(qtbot, open_window, leaking)
    asked: list[str] = []
    real = window.engines.ask

    def ask(op: str, params: Mapping[str, Any], listener: Listener, **more: Any) -> int:
        if op == "leaks":
            asked.append(params["path"])
        return real(op, params, listener, **more)

    window.engines.ask = ask  # type: ignore[method-assign]
    graph = first(window, "fxgraph", "sin_matmul")
    sharing = choose(qtbot, window, graph).sharing
    qtbot.waitUntil(lambda: sharing.found is not None, timeout=PATIENCE)
    assert sharing.found is not None and sharing.found.secrets == 1
    assert sharing.heading.text() == "Everybody who gets it can read 1 password or key"
    said = sharing.view.toPlainText()
    assert "redis://:…@127.0.0.1" in said and PASSWORD not in said
    assert "make_cache.py" in said
    kept = sharing.found
    other = next(x for x in everything(window.entries) if x.kind == "pgo")
    choose(qtbot, window, other)
    qtbot.waitUntil(lambda: sharing.found is not None, timeout=PATIENCE)
    assert sharing.found is not None and sharing.found.secrets == 0
    assert sharing.heading.text() == "Nothing in it looks like a password or a key."
    choose(qtbot, window, graph)
    settle(qtbot)
    assert sharing.found == kept
    assert asked == [graph.path, other.path], "what is known is not asked for again"
    assert sharing.button.text() == "Export without them…"
    click(qtbot, sharing.button)
    [dialog] = window.findChildren(ExportDialog)
    qtbot.waitUntil(lambda: dialog.secrets.secrets == 1, timeout=PATIENCE)
    assert dialog.secrets.value == "redact"
    dialog.reject()


def test_the_search_stops_when_the_selection_moves_on(qtbot: QtBot) -> None:
    engines = SampleEngines(silent={"leaks"})
    sharing = Sharing(engines)
    qtbot.addWidget(sharing)
    sharing.show()
    graph = entry(1)._replace(kind="fxgraph")
    sharing.show_entry("/p", graph)
    assert not sharing.asking, "somebody may just pass over it"
    qtbot.waitUntil(lambda: sharing.asking)
    ticket = sharing._search._ticket
    assert ticket in engines._listeners
    sharing.show_entry("/p", entry(2)._replace(kind="lock"))
    assert ticket not in engines._listeners
    assert "never leaves" in sharing.heading.text() and not sharing.button.isVisible()
    sharing.show_entry("/p", graph)
    qtbot.waitUntil(lambda: sharing.asking)
    sharing.hide()
    assert not sharing.asking, "nobody sees it"
    sharing.show()
    qtbot.waitUntil(lambda: sharing.asking)
    sharing.stop()


def test_the_last_verification_of_the_place(qtbot: QtBot) -> None:
    measured = Measured()
    qtbot.addWidget(measured)
    measured.show()
    assert measured.said.text() == "Not verified yet."
    one = Verified("/p", 0.0, result(), "/opt/python", "mark")
    measured.tell(Beside(one, changed=False))
    assert "× as fast as cold" in measured.said.text()
    assert measured.more.text().startswith("7 hits, 0 misses, 0 rebuilt\n")
    with qtbot.waitSignal(measured.asked) as asked:
        click(qtbot, measured.button)
    assert asked.args == ["verify"]


def test_long_lists_say_how_many_more_and_links_have_names(qtbot: QtBot) -> None:
    needs = [Need("code", f"c{number:051}") for number in range(40)]
    names = {need: f"cpp_fused_{number}" for number, need in enumerate(needs) if number}
    detail = Detail(entry(1), {}, [], [], [], [], 0)
    found = sections(entry(1), detail, names, Relatives(needs, []))
    [listed] = [section for section in found if section.title == "Needs"]
    [(_, values)] = listed.rows
    assert [value.text for value in values if value.need][:2] == ["cpp_fused_1", "cpp_fused_2"]
    assert values[1].text == "not in this place" and values[0].need is None
    assert values[-1].text == "and 28 more"


@pytest.mark.slow
def test_all_of_it_is_reached_with_the_keyboard(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    inspector = choose(qtbot, window, first(window, "aotautograd", "make_cache.forward"))
    qtbot.waitUntil(lambda: inspector.related is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: inspector.sharing.found is not None, timeout=PATIENCE)
    window.activateWindow()
    inspector.tabs.tabBar().setFocus(Qt.FocusReason.TabFocusReason)
    seen: list[object] = []
    for _ in range(40):
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)  # type: ignore[no-untyped-call]
        at = window.focusWidget()
        assert at is not None and at.accessibleName(), at
        if not inspector.isAncestorOf(at):
            break
        seen.append(at)
    summary = inspector.summary
    buttons = [one for one in summary.findChildren(QAbstractButton) if one.isVisible()]
    assert buttons and set(buttons) <= set(seen)
    assert seen.index(summary.facts) < seen.index(summary.measured.button)
    # What has the focus is in sight.
    inspector.sharing.button.setFocus(Qt.FocusReason.TabFocusReason)
    at = inspector.sharing.button
    top = at.mapTo(summary.viewport(), at.rect().topLeft()).y()
    assert 0 <= top <= summary.viewport().height() - at.height()
    for section in (summary.verdict, summary.facts, summary.measured, inspector.sharing):
        assert section.accessibleName()


def test_a_link_is_followed_with_the_keyboard(qtbot: QtBot) -> None:
    view = FactsView("Facts", whole=True)
    qtbot.addWidget(view)
    need = Need("code", "c" * 52)
    view.show_sections(sections(entry(1), None, {need: "cpp_fused_0"}, Relatives([need], [])))
    view.show()
    assert view.height() >= int(view.document().size().height())
    view.setFocus(Qt.FocusReason.TabFocusReason)
    reached: list[int] = []
    view.reached.connect(reached.append)
    view.focusNextChild()
    with qtbot.waitSignal(view.followed) as followed:
        qtbot.keyClick(view, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert followed.args == [need]


@pytest.mark.slow
def test_the_tab_is_remembered_and_nothing_selected_has_a_way_on(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, settings: QSettings
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    settle(qtbot)
    button = window.inspector.blank.button
    assert button is not None and button.text() == "Select the first"
    click(qtbot, button)
    settle(qtbot)
    assert len(window.table.selected()) == 1
    window.inspector.tabs.setCurrentIndex(3)
    assert int(str(settings.value("inspector/tab"))) == 3
    again = open_window(fixture_cache)
    assert again.inspector.tabs.currentIndex() == 3
