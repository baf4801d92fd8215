"""What ssh asks on its way to the machines of a fleet is asked by the window."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, type_in
from tests.ssh.conftest import Machine, config, sshd
from torchkeeper.client.engines import line
from torchkeeper.client.kept import hosts
from torchkeeper.fleet.state import folder_of
from torchkeeper.gui.dialogs.machine import QuestionDialog
from torchkeeper.gui.pages.fleet.page import FleetPage
from torchkeeper.gui.window import Window

__all__ = ["sshd"]

WORD = "open sesame"


def asked(window: Window) -> list[QuestionDialog]:
    return [one for one in window.findChildren(QuestionDialog) if one.isVisible()]


def question(qtbot: QtBot, window: Window, about: str) -> QuestionDialog:
    """What ssh asks on its way to a machine, once it does: nothing else is asked meanwhile."""
    qtbot.waitUntil(
        lambda: any(about in one.what.text() for one in asked(window)), timeout=PATIENCE
    )
    [dialog] = asked(window)
    return dialog


@pytest.fixture
def page(
    qtbot: QtBot, open_window: OpenWindow, sshd: Machine, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> FleetPage:  # fmt: skip
    """Of a window with two machines: ``key`` was never seen, and ``word`` has a key with a
    passphrase.
    """
    locked = tmp_path / "locked"
    shutil.copy(sshd.folder / "user", locked)
    locked.chmod(0o600)
    change = ["ssh-keygen", "-q", "-p", "-P", "", "-N", WORD, "-f", str(locked)]
    subprocess.run(change, check=True)
    said = []
    for name, options in (
        ("key", {"UserKnownHostsFile": tmp_path / "known"}),
        ("word", {"IdentityFile": locked}),
    ):
        config(sshd, **options)
        said.append(sshd.config.read_text().replace("Host there", f"Host {name}"))
    sshd.config.write_text("".join(said))
    monkeypatch.setenv("PATH", f"{sshd.folder}/ours:{os.environ['PATH']}")
    hosts.add(["ssh://key", "ssh://word"])
    shutil.rmtree(os.path.dirname(folder_of("")), ignore_errors=True)  # of another test
    page = open_window().show_page("fleet")
    assert isinstance(page, FleetPage)
    qtbot.waitUntil(lambda: page.nodes.topLevelItemCount() == 2, timeout=PATIENCE)
    return page


def why(page: FleetPage, node: str) -> str:
    """The problem of a node."""
    told = page._asked.nodes[node]["why"]
    return told["code"] if told else ""


def over(qtbot: QtBot, page: FleetPage) -> None:
    qtbot.waitUntil(lambda: not page._asking.busy, timeout=PATIENCE)
    line.close_all()


def test_one_host_after_the_other_asks_and_is_ready(qtbot: QtBot, page: FleetPage) -> None:
    window = page.window()
    assert isinstance(window, Window)
    click(qtbot, page.ask)
    new = question(qtbot, window, "key")
    assert new.text is None and new.fingerprint.text().startswith("SHA256:")
    click(qtbot, new.go)
    wrong = question(qtbot, window, "word")
    assert wrong.text is not None
    type_in(qtbot, wrong.text, "wrong")
    click(qtbot, wrong.go)
    qtbot.waitUntil(lambda: bool(asked(window)) and asked(window) != [wrong], timeout=PATIENCE)
    right = question(qtbot, window, "word")
    assert right.text is not None and "not accepted" in right.wrong.text()
    type_in(qtbot, right.text, WORD)
    click(qtbot, right.go)
    over(qtbot, page)
    assert not asked(window)
    assert page._asked.nodes.keys() == {"local", "ssh://key", "ssh://word"}
    assert not why(page, "ssh://word").startswith("ssh-")
    assert not why(page, "ssh://key").startswith("ssh-")


@pytest.mark.slow
def test_who_gives_no_answer_is_asked_once_and_the_others_go_on(
    qtbot: QtBot, page: FleetPage
) -> None:
    window = page.window()
    assert isinstance(window, Window)
    click(qtbot, page.ask)
    click(qtbot, question(qtbot, window, "key").cancel)
    dialog = question(qtbot, window, "word")
    assert dialog.text is not None
    type_in(qtbot, dialog.text, WORD)
    click(qtbot, dialog.go)
    over(qtbot, page)
    assert why(page, "ssh://key") == "ssh-key-unknown"
    assert not why(page, "ssh://word").startswith("ssh-")
    assert not asked(window)


@pytest.mark.slow
def test_with_the_fleet_goes_what_was_asked(qtbot: QtBot, page: FleetPage, tmp_path: Path) -> None:
    window = page.window()
    assert isinstance(window, Window)
    flow, place = window.flows.fleet, str(tmp_path / "place")
    job = flow._begin(["builtin"], ["ssh://key", "ssh://word"], place, {"prove": False})
    question(qtbot, window, "key")
    qtbot.waitUntil(page.cancel.isVisible, timeout=PATIENCE)
    window.operations.cancel(job)
    qtbot.waitUntil(lambda: not job.active, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not asked(window), timeout=PATIENCE)
    assert job.state.value == "cancelled"
    assert not job.cells.rows
    line.close_all()
