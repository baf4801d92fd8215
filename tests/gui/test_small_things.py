"""What people stumbled over in the window, each a small thing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow, key, settle, type_in
from tests.shots import sample_doctor, samples
from tests.shots.sample_engines import SampleEngines
from torchkeeper.client.diagnosing import Told
from torchkeeper.client.words import explaining
from torchkeeper.gui.actions import Actions, Situation
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.jobs.model import Job, state_text
from torchkeeper.gui.pages.doctor.cards import Cards, finding_card
from torchkeeper.gui.sidebar.standing import Standing
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import Label
from torchkeeper.gui.window import Window
from torchkeeper.settings.finding import Finding
from torchkeeper.stores.names import scheme_of


def test_free_space_is_said_of_a_place_only_where_it_is_little() -> None:
    assert Standing(free=400 * 10**9, total=10**12).beside == ""
    assert Standing(free=10**8, total=10**12).beside == "100 MB free"


def test_what_a_place_takes_counts_what_is_no_entry() -> None:
    driver = Standing(entries=0, size=0, other=2 * 10**9)
    assert driver.held == "2.0 GB"
    assert driver.lines == ["0 entries, 0 B of content", "2.0 GB in files that are no entries"]
    assert len(Standing(entries=1, size=5).lines) == 1


def test_no_layout_leaves_a_button_less_than_its_text_takes(qtbot: QtBot) -> None:
    button = forms.button("Save this log in a file")
    page = forms.page(forms.row(button))
    qtbot.addWidget(page)
    page.show()
    page.resize(1, 1)
    settle(qtbot)
    assert button.width() == button.sizeHint().width() > 120
    assert forms.button("No").sizeHint().width() == 90


def test_why_a_server_is_not_verified_is_said(qtbot: QtBot) -> None:
    from PySide6.QtCore import QObject

    owner = QObject()
    made = Actions(owner, {}, lambda _: None)
    verify = made["verify"]
    for place, said in ((samples.SERVER, True), (samples.PLACE, False)):
        folder = not said
        made.update(Situation(place=True, place_is_folder=folder, scheme=scheme_of(place)))
        assert verify.isEnabled() is folder
        assert ("“Copy to…”" in verify.toolTip()) is said
    del qtbot


def test_the_entries_of_an_age_begin_with_the_newest(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.actions_["group-age"].trigger()
    settle(qtbot)
    times = [row.entry.mtime or 0 for row in window.entries.groups[0].rows]
    assert len(times) > 3 and times == sorted(times, reverse=True)


def test_a_place_that_was_filled_can_be_exported_and_a_wrong_filter_says_why_not(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    window = open_window(place)
    export = window.actions_["export"]
    assert not export.isEnabled()
    type_in(qtbot, window.head.box, "kind:nothing")
    shutil.copytree(fixture_cache, place, dirs_exist_ok=True)
    key(qtbot, window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: window.entries.total > 0)
    settle(qtbot)
    assert not export.isEnabled() and "filter" in export.toolTip()
    assert "filter" in window.actions_["copy-to"].toolTip()
    window.head.box.setFocus()
    key(qtbot, window.head.box, Qt.Key.Key_Escape)
    settle(qtbot)
    assert window.table.selected() == []
    assert export.isEnabled() and "filter is not valid" not in export.toolTip()


def test_a_difference_goes_from_a_to_b() -> None:
    found: Any = {"graph": {"diff": ["- gelu", "- add", "+ relu", "… 3 more"]}}
    assert explaining.graph_lines(found) == ["- relu", "+ gelu", "+ add", "… 3 more"]


def test_the_doctor_names_the_button_beside_it_and_no_command(qtbot: QtBot) -> None:
    to = Cards("Findings")
    qtbot.addWidget(to)
    for one in sample_doctor.FOUND:
        finding = Finding.from_json(one["found"])
        card = finding_card(Told(finding, one["check"]), to)
        qtbot.addWidget(card)
        if card.button is not None:
            texts = " ".join(label.text() for label in card.findChildren(Label))
            assert "torchkeeper" not in texts and "so does" not in texts
            assert "“Fix…”" in texts


def test_a_warm_up_says_that_it_loads_pytorch() -> None:
    job = Job(1, "Warm", "warm", samples.PLACE)
    job.variants.hear({"variants": [{"index": 0, "state": "queued"}]})
    job.state = type(job.state).RUNNING
    assert "Loading PyTorch" in state_text(job)
    job.variants.hear({"variant": {"index": 0, "state": "compiling"}})
    assert "Loading PyTorch" not in state_text(job)


def test_a_name_is_typed_within_the_row_of_its_server(qtbot: QtBot, settings: QSettings) -> None:
    window = Window(settings, SampleEngines())
    window.show()
    for place in (samples.SERVER, samples.KERNELS, "/srv/caches/llama", "/srv/caches/vision"):
        window.places.add(place)
    settle(qtbot)
    window.places_pane.choose(samples.SERVER)
    shown = window.places_pane.list
    window.places_pane.rename()
    (editor,) = shown.findChildren(QLineEdit)
    index = shown.currentIndex()
    at = editor.mapTo(shown.viewport(), QPoint(0, 0))
    box = shown.visualRect(index)
    assert box.contains(editor.rect().translated(at))
    assert shown.under(at) == index, "the heading over it is not covered"
    qtbot.keyClick(editor, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    window.close_surely()
    window.deleteLater()


class Unread(SampleEngines):
    """The plan of a purge reads nothing, as that of a server."""

    def _said(self, op: str, *about: Any) -> tuple[list[Any], dict[str, Any]]:
        rows, result = super()._said(op, *about)
        if op == "plan_purge":
            rows = [entry._replace(name="") for entry in rows]
        return rows, result


def test_a_purge_of_a_server_names_entries_as_the_table_does(
    qtbot: QtBot, settings: QSettings
) -> None:
    window = Window(settings, Unread())
    window.show()
    window.open_paths([samples.SERVER])
    qtbot.waitUntil(lambda: window.place == samples.SERVER and not window.listing.loading)
    settle(qtbot)
    known = {one.identity: one.name for one in window.entries.shown()}
    window.table.select(set(known))
    window.flows.purge_selected()
    (dialog,) = window.findChildren(PurgeDialog)
    qtbot.waitUntil(lambda: dialog.plan is not None)
    goes = [row.entry for row in dialog.model.every_row]
    assert goes and all(known[one.identity] == one.name for one in goes)
    dialog.reject()
    window.close_surely()
    window.deleteLater()
