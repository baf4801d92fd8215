"""Verdicts in the window: real caches, judged by a real engine for a real torch."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from shiboken6 import getAllValidWrappers

from tests.gui.conftest import PATIENCE, OpenWindow, click, everything, settle
from tests.gui.test_models import entry
from tests.pace import within
from tests.redis_server import dump, serving
from tests.sampling import sampled
from tests.stores.bundles.test_bundle import make
from torchkeeper.artifacts.entry import VERDICTS, Entry
from torchkeeper.client.engines import interpreters, probes
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.verdicts import told
from torchkeeper.gui.dialogs.environments import EnvironmentsDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.rows import VERDICT, accessible_text, cell_text, tooltip
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.verdicts import controller as gui_verdicts
from torchkeeper.gui.verdicts.environments import KEY, Environment, State
from torchkeeper.gui.window import Window
from torchkeeper.stores.query import parse
from torchkeeper.verdict.judging import Verdict
from torchkeeper.verdict.probed import Env

GRAPHS = ("fxgraph", "aotautograd")


@pytest.fixture(scope="session")
def facts(torch_python: str) -> Env:
    """What the interpreter with torch says, asked once."""
    with Engine(torch_python) as engine:
        told: Env = engine.call("probe")
    return told


@pytest.fixture
def judging(
    torch_python: str,
    facts: Env,
    settings: QSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """Windows of this test ask that interpreter, whose facts are kept; its torch's version."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    settings.setValue(KEY, torch_python)
    probes.keep(probes.identity(torch_python), facts)
    return str(facts["torch"])


def judged(qtbot: QtBot, window: Window) -> dict[str, int]:
    """Wait until all verdicts are there; how many of each."""
    verdicts = window.here.verdicts
    qtbot.waitUntil(lambda: verdicts.counts is not None and not verdicts.asking, timeout=PATIENCE)
    settle(qtbot)
    assert verdicts.counts is not None
    return verdicts.counts["verdicts"]


def graphs(window: Window) -> list[Entry]:
    return [one for one in everything(window.entries) if one.kind in GRAPHS]


@pytest.mark.slow
@pytest.mark.torch
def test_what_is_purged_and_put_back_is_judged_again(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, judging: str
) -> None:
    window = open_window(fixture_cache)
    counts = judged(qtbot, window)
    for _ in range(2):
        window.table.selectAll()
        qtbot.waitUntil(window.actions_["purge"].isEnabled, timeout=PATIENCE)
        window.actions_["purge"].trigger()
        (preview,) = (x for x in window.findChildren(PurgeDialog) if x.isVisible())
        qtbot.waitUntil(preview.go.isEnabled, timeout=PATIENCE)
        click(qtbot, preview.go)
        qtbot.waitUntil(
            lambda: not window.entries.total and not window.listing.loading, timeout=PATIENCE
        )
        settle(qtbot)
        assert window.here.verdicts.counts is None, "of nothing nothing is usable"
        # Nothing that is left is asked about, so nobody is told to wait for it.
        window.head.box.setText("is:usable")
        settle(qtbot)
        assert window.empty.title.text() == "Nothing matches the filter"
        window.head.box.clear()
        settle(qtbot)
        qtbot.waitUntil(window.actions_["undo"].isEnabled, timeout=PATIENCE)
        window.actions_["undo"].trigger()
        qtbot.waitUntil(lambda: window.entries.total > 11, timeout=PATIENCE)
        assert judged(qtbot, window) == counts
        assert {one.verdict for one in graphs(window)} == {"stale"}


@pytest.mark.slow
@pytest.mark.torch
def test_what_another_torch_made_is_stale(
    qtbot: QtBot, open_window: OpenWindow, kept_291: Path, judging: str
) -> None:
    window = open_window(kept_291)
    counts = judged(qtbot, window)
    assert counts["stale"] == len(graphs(window)) == 11
    assert "usable" not in counts and sum(counts.values()) == window.entries.rows
    why = f"torch 2.9.1+cu128, here {judging}"
    for one in graphs(window):
        assert (one.verdict, one.why) == ("stale", why)
        assert cell_text(one, VERDICT) == "Stale"
        assert tooltip(one, VERDICT) == f"No program finds it here:\n{why}"
        assert accessible_text(one, VERDICT) == f"Stale, {why}"
    code = next(one for one in everything(window.entries) if one.kind == "code")
    assert code.verdict is None and cell_text(code, VERDICT) == ""
    assert window.here.chooser.text() == f"Environment: torch {judging}"
    # The number in the status bar shows only those, and all again.
    bar = window.here.bar
    assert [name for name, button in bar.buttons.items() if button.isVisible()] == [
        name for name in ("usable", "conditional", "unknown", "broken", "stale") if name in counts
    ]
    assert bar.said.text() == "made by torch 2.9.1+cu128"
    click(qtbot, bar.buttons["stale"])
    settle(qtbot)
    assert window.head.box.text() == "is:stale" and bar.buttons["stale"].isChecked()
    assert {one.verdict for one in window.entries.shown()} == {"stale"}
    assert window.entries.count == 11
    # Of the others none is shown: they are counted no more, and a click still leads to them.
    assert bar.buttons["stale"].text() == "11 stale"
    others = [button for name, button in bar.buttons.items() if name in counts and name != "stale"]
    assert all(button.isVisible() and not button.text() for button in others)
    # What else is filtered is counted as it is shown.
    window.head.box.setText("kind:fxgraph")
    settle(qtbot)
    of = sum(one.kind == "fxgraph" for one in graphs(window))
    assert 0 < of < 11 and bar.buttons["stale"].text() == f"{of} stale"
    assert not any(button.isVisible() for button in others)
    window.head.box.setText("is:stale")
    settle(qtbot)
    # A refresh keeps them, without being asked again: nothing has changed.
    before = window.here.verdicts._known
    window.refresh()
    qtbot.waitUntil(lambda: not window.listing.loading, timeout=PATIENCE)
    settle(qtbot)
    assert window.entries.count == 11 and window.here.verdicts._known == before
    click(qtbot, bar.buttons["stale"])
    settle(qtbot)
    assert window.entries.count == window.entries.total
    window.actions_["group-verdict"].trigger()
    titles = [group.title for group in window.entries.groups]
    assert titles[-1] == "Without a verdict" and "Stale" in titles
    # The inspector says why; copied, an entry says it too.
    window.entries.group("none")
    window.table.select({graphs(window)[0].identity})
    window.inspector_frame.show()
    qtbot.waitUntil(
        lambda: why in window.inspector.summary.verdict.why.toPlainText(), timeout=PATIENCE
    )
    window.copier.copy("json")
    copied = json.loads(QGuiApplication.clipboard().text())
    assert (copied["verdict"], copied["why"]) == ("stale", why)
    # Where no verdicts are wanted there are none any more.
    window.here.environments.choose(None)
    settle(qtbot)
    assert {one.verdict for one in everything(window.entries)} == {None}
    assert not any(button.isVisible() for button in bar.buttons.values())


@pytest.mark.torch
def test_what_was_made_here_is_usable_until_it_is_damaged(
    qtbot: QtBot, open_window: OpenWindow, warm_cache: Path, judging: str
) -> None:
    window = open_window(warm_cache)
    window.table.sortByColumn(VERDICT, Qt.SortOrder.DescendingOrder)
    counts = judged(qtbot, window)
    assert {one.verdict for one in graphs(window)} == {"usable"}
    assert counts["usable"] >= len(graphs(window))
    shown = window.entries.shown()
    assert shown[-1].verdict is None, "what has none is last"
    victim = next((warm_cache / "fxgraph").rglob("*/*/*"))
    victim.write_bytes(victim.read_bytes()[:100])
    window.head.box.setText("is:broken")
    window.refresh()
    qtbot.waitUntil(lambda: judged(qtbot, window).get("broken", 0) >= 1, timeout=PATIENCE)
    found = window.entries.shown()
    assert str(victim.relative_to(warm_cache)) in {one.path for one in found}
    assert {one.verdict for one in found} == {"broken"}
    qtbot.waitUntil(lambda: everything(window.entries)[0].verdict == "broken", timeout=PATIENCE)


@pytest.mark.slow
@pytest.mark.torch
def test_the_import_dialog_says_what_will_be_of_use(
    qtbot: QtBot, open_window: OpenWindow, kept_291: Path, tmp_path: Path, judging: str
) -> None:
    bundle = tmp_path / "old.torchcache"
    make(kept_291, bundle)
    window = open_window()
    dialog = window.flows.open_import([str(bundle)])
    dialog.target.combo.setEditText(str(tmp_path / "new"))
    qtbot.waitUntil(lambda: bool(dialog.prospects.warning), timeout=PATIENCE)
    said = f"With torch {judging}: 1 unknown, 11 stale: made by torch 2.9.1+cu128"
    assert dialog.verdicts.text() == said
    assert dialog.warning.isVisible()
    nothing = f"No entry in it is known to work here with torch {judging}."
    assert dialog.prospects.warning == nothing
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert dialog.go.isEnabled(), "it is for the user to say"
    dialog.reject()
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
@pytest.mark.torch
def test_interpreters_are_listed_added_asked_again_and_taken_off(
    qtbot: QtBot, open_window: OpenWindow, judging: str, torch_python: str, tmp_path: Path
) -> None:
    window = open_window()
    environments = window.here.environments
    qtbot.waitUntil(lambda: environments.chosen is not None, timeout=PATIENCE)
    chosen = environments.chosen
    assert chosen is not None and chosen.state is State.KNOWN, "its facts were kept"
    dialog = window.here.show_environments()
    mine = tmp_path / "mine" / "bin" / "python"
    mine.parent.mkdir(parents=True)
    mine.symlink_to(os.path.realpath(sys.executable))
    dialog._add_one(str(mine))
    qtbot.waitUntil(
        lambda: dialog.current is not None and dialog.current.python == str(mine), timeout=PATIENCE
    )
    one = environments.of(str(mine))
    assert one is not None
    qtbot.waitUntil(lambda: one.state in (State.WITHOUT, State.KNOWN), timeout=PATIENCE)
    assert one.facts is not None and one.facts["executable"]
    assert dialog.remove.isEnabled() and interpreters.added() == [str(mine)]
    before = one.facts
    click(qtbot, dialog.again)
    assert one.state is State.ASKING and not dialog.again.isEnabled()
    qtbot.waitUntil(lambda: one.state is not State.ASKING, timeout=PATIENCE)
    assert one.facts is before, "it is the same environment as it was"
    click(qtbot, dialog.remove)
    qtbot.waitUntil(lambda: environments.of(str(mine)) is None, timeout=PATIENCE)
    assert interpreters.added() == []
    dialog.go_to(torch_python)
    assert not dialog.remove.isEnabled() and not dialog.use.isEnabled()
    shown = dialog.facts.toPlainText()
    assert judging in shown and "cache dir" in shown
    dialog.copy_text.trigger()
    assert QGuiApplication.clipboard().text().startswith(torch_python + "\n  python ")
    dialog.copy_json.trigger()
    copied = json.loads(QGuiApplication.clipboard().text())
    assert copied["interpreter"] == torch_python and copied["torch"] == judging
    dialog.accept()


def test_an_interpreter_that_never_answers_is_given_up(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, broken = tmp_path / "silent", tmp_path / "broken"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    broken.write_text("#!/bin/sh\necho it is broken >&2\nexit 3\n")
    for one in (silent, broken):
        one.chmod(0o700)
    monkeypatch.setattr(probes, "LIMIT", 0.5)
    window = open_window()
    environments = window.here.environments
    found: list[Environment] = []
    for one in (silent, broken):
        environments.add(str(one), found.append)
    qtbot.waitUntil(
        lambda: len(found) == 2 and all(one.state is State.FAILED for one in found),
        timeout=PATIENCE,
    )
    errors = {one.python: one.error for one in found}
    late, ended = errors[str(silent)], errors[str(broken)]
    assert late is not None and late.code == "probe-stuck"
    assert ended is not None and "it is broken" in ended.why
    window.here.environments.choose(str(silent))
    assert window.here.chooser.text() == "Torch does not answer"


def test_who_waits_for_an_interpreter_goes_with_the_window(
    qtbot: QtBot, settings: QSettings, tmp_path: Path
) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o700)
    window = Window(settings)
    window.show()
    window.here.environments.add(str(silent))
    qtbot.waitUntil(lambda: window.here.environments.asking == 1)
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running)
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    timers = [one for one in getAllValidWrappers() if isinstance(one, QTimer) and one.isActive()]
    assert [one.interval() for one in timers if one.interval() >= probes.LIMIT * 1000] == []


@pytest.mark.slow
@pytest.mark.torch
def test_a_large_server_is_judged_only_when_asked_for(
    qtbot: QtBot, open_window: OpenWindow, judging: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(gui_verdicts, "FEW", 5)
    with serving(tmp_path / "redis") as server:
        server.load(dump())
        window = open_window()
        window.open_paths([f"redis://127.0.0.1:{server.port}/0"])
        qtbot.waitUntil(window.here.bar.insist.isVisible, timeout=PATIENCE)
        assert not window.here.verdicts.asking
        click(qtbot, window.here.bar.insist)
        assert judged(qtbot, window)["stale"] == len(graphs(window))
        assert not window.here.bar.insist.isVisible()


def verdicts_of(every: list[Entry]) -> list[tuple[tuple[str, str], str, str]]:
    whys = {verdict: told(Verdict(verdict).to_json())[1] for verdict in VERDICTS}
    names = [VERDICTS[n * 7 % len(VERDICTS)] for n in range(len(every))]
    return [(e.identity, name, whys[name]) for e, name in zip(every, names, strict=True)]


@sampled("by", ["size", "verdict", "filter"], most=1)
def test_many_verdicts_are_taken_in_without_a_pause(qtbot: QtBot, by: str) -> None:
    every = [entry(n) for n in range(20_000)]
    model = EntriesModel()
    table = EntryTable(model)
    qtbot.addWidget(table)
    table.show()
    model.begin()
    for first in range(0, len(every), 500):
        model.add(every[first : first + 500])
    model.end()
    qtbot.waitUntil(lambda: not model._slices.busy)
    if by == "verdict":
        table.sortByColumn(VERDICT, Qt.SortOrder.AscendingOrder)
        model.group("verdict")
    elif by == "filter":
        model.filter(parse("is:stale"))
    said = verdicts_of(every)
    qtbot.waitUntil(lambda: model.totals() is not None)
    turns = []
    for first in range(0, len(said), 500):
        begun = time.thread_time()
        model.judge(said[first : first + 500], table.seen_lines())
        QApplication.processEvents()
        turns.append(time.thread_time() - begun)
    model.judged()
    while model._slices.busy:
        begun = time.thread_time()
        QApplication.processEvents()
        turns.append(time.thread_time() - begun)
    assert sorted(turns)[-2] < within(0.04), "as of a listing (test_slices.py)"
    wanted = {identity: name for identity, name, _ in said}
    assert all(e.verdict == wanted[e.identity] for e in everything(model))
    shown = model.shown()
    stale = sum(name == "stale" for _, name, _ in said)
    assert len(shown) == (stale if by == "filter" else 20_000)
    qtbot.waitUntil(lambda: model.totals() is not None)
    totals = model.totals()
    assert totals is not None and totals.verdicts == Counter(e.verdict for e in shown)
    assert totals.torches == Counter(e.torch for e in shown if e.verdict == "stale")
    if by == "filter":
        assert {e.verdict for e in shown} == {"stale"}
    if by == "verdict":
        assert [group.name for group in model.groups] == list(VERDICTS)
        ranks = [VERDICTS.index(str(e.verdict)) for e in shown]
        assert ranks == sorted(ranks)
    # What is listed again has its verdicts still; what has changed has none yet.
    changed = every[3]._replace(size=5)
    model.begin()
    for first in range(0, len(every), 500):
        some = every[first : first + 500]
        model.add([changed, *(e for e in some if e != every[3])] if not first else some)
    model.end()
    qtbot.waitUntil(lambda: not model._slices.busy)
    without = [e for e in everything(model) if e.verdict is None]
    assert without == [changed]
    for _ in model.forget_verdicts(table.seen_lines()):
        pass
    qtbot.waitUntil(lambda: not model._slices.busy)
    assert {e.verdict for e in everything(model)} == {None}
    assert len(model.shown()) == (0 if by == "filter" else 20_000)


def test_an_interpreter_that_was_found_is_not_started_before_the_user_says_so(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, ran = tmp_path / ".venv" / "bin" / "python", tmp_path / "ran"
    torch = tmp_path / ".venv/lib/python3.11/site-packages/torch/version.py"
    for folder in (python.parent, torch.parent):
        folder.mkdir(parents=True)
    torch.touch()
    python.write_text(f"#!/bin/sh\n: > '{ran}'\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    window = open_window()
    environments = window.here.environments
    environments.find()
    qtbot.waitUntil(lambda: environments.found, timeout=PATIENCE)
    one = environments.of(str(python))
    assert one is not None and one.state is State.FOUND
    # A click on it in the sidebar leads to the question, and starts nothing either.
    window.more.environments.list.wanted.emit(str(python))
    dialog = window.findChildren(EnvironmentsDialog)[-1]
    assert dialog.current is one and "not started" in dialog.said.text()
    environments.ask_all()
    qtbot.waitUntil(
        lambda: not any(x.state in (State.UNASKED, State.ASKING) for x in environments.every),
        timeout=PATIENCE,
    )
    assert one.state is State.FOUND and not ran.exists()
    # Whoever has it started has named it.
    assert dialog.again.text() == "&Start it"
    click(qtbot, dialog.again)
    qtbot.waitUntil(lambda: one.state is State.FAILED, timeout=PATIENCE)
    assert ran.exists() and interpreters.added() == [str(python)]
    dialog.accept()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_that_others_can_change_an_interpreter_is_said_before_it_is_started(
    qtbot: QtBot, open_window: OpenWindow, among: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = among / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(os.path.realpath(sys.executable))
    for folder in (among / "venv", python.parent):
        folder.chmod(0o777)
    monkeypatch.setenv("VIRTUAL_ENV", str(among / "venv"))
    window = open_window()
    environments = window.here.environments
    dialog = window.here.show_environments()
    qtbot.waitUntil(lambda: environments.found, timeout=PATIENCE)
    dialog.go_to(str(python))
    one = environments.of(str(python))
    assert one is not None and one.state is State.FOUND
    assert not dialog.problem.isHidden()
    assert f"Everybody may write to {python.parent}" in dialog.problem.why.text()
    dialog.accept()
