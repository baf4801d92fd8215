"""Signing in the window, with real keys of a real ssh-keygen; and whose signatures are trusted."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSettings, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTreeWidget, QWidget
from pytestqt.qtbot import QtBot

from tests.agents import agent
from tests.client.test_keys import make
from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, listed, settle, told, type_in
from tests.gui.test_exporting import ask
from tests.gui.test_flows import open_dialog
from tests.gui.test_importing import look
from tests.stores.bundles.test_bundle import make as bundle
from tests.stores.bundles.test_signing import sign
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.sshsig import Signature
from torchkeeper.client import signers
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.exporting import ExportDialog
from torchkeeper.gui.dialogs.leaving import SIGN_WITH
from torchkeeper.gui.dialogs.machine import QuestionDialog
from torchkeeper.gui.dialogs.signers import SignDialog, SignersDialog, TrustDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.window import Window
from torchkeeper.stores.bundles import signing

SECRET = "a passphrase with 'quotes' and \\"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    """``~/.ssh`` of a user without an agent; what he trusts is forgotten with it."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    made = Path(os.environ["HOME"]) / ".ssh"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture(scope="module")
def good(clean_291: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("bundle") / "good.torchcache"
    bundle(clean_291, output)
    return output


def fingerprint(key: Path) -> str:
    return signers.public_key(f"{key}.pub").fingerprint


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder for what is exported, with nothing else in it."""
    made = tmp_path / "out"
    made.mkdir()
    return made


def signature(file: Path) -> Signature:
    return signing.signature_of(str(file), None, Report())


def choose(tree: QTreeWidget, row: int) -> None:
    item = tree.topLevelItem(row)
    assert item is not None
    tree.setCurrentItem(item)


def tabs(widget: QWidget, count: int) -> list[QWidget | None]:
    """Where the Tab key leads from a widget, so many times."""
    widget.setFocus()
    found = []
    for _ in range(count):
        QTest.keyClick(QApplication.focusWidget() or widget, Qt.Key.Key_Tab)
        found.append(QApplication.focusWidget())
    return found


def begin(qtbot: QtBot, window: Window, output: Path, key: Path | None) -> ExportDialog:
    """Export what is shown, signed with a key."""
    dialog = ask(qtbot, window, output)
    qtbot.waitUntil(lambda: not dialog.key.busy, timeout=PATIENCE)
    if key is not None:
        dialog.key.combo.setCurrentIndex(dialog.key.combo.findData(str(key)))
        dialog.key.combo.activated.emit(dialog.key.combo.currentIndex())
    click(qtbot, dialog.go)
    return dialog


def let_go(qtbot: QtBot, window: Window) -> None:
    """Wait until no engine is there that held a bundle."""
    qtbot.waitUntil(
        lambda: all(line.shared for line in window.engines.worker._lines), timeout=PATIENCE
    )


def phrase(qtbot: QtBot, window: Window, text: str, before: object = None) -> QuestionDialog:
    """Answer the question after the one ``before``; without a text only wait for it."""

    def there() -> list[QuestionDialog]:
        found = window.findChildren(QuestionDialog)
        return [one for one in found if one.isVisible() and one is not before]

    qtbot.waitUntil(lambda: there() != [], timeout=PATIENCE)
    [dialog] = there()
    assert dialog.text is not None and not dialog.go.isEnabled()
    if text:
        type_in(qtbot, dialog.text, text)
        QTest.keyClick(dialog.text, Qt.Key.Key_Return)
    return dialog


def test_an_export_is_signed_before_it_gets_its_name(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, fixture_cache: Path, folder: Path,
    out: Path,
) -> None:  # fmt: skip
    key = make(folder / "id_ed25519")
    window = open_window(fixture_cache)
    begin(qtbot, window, out / "b.torchcache", key)
    idle(qtbot, window)
    assert told(window).startswith("Exported and signed.")
    assert f"Signed with ssh-ed25519 {fingerprint(key)}." in told(window)
    assert signature(out / "b.torchcache").fingerprint == fingerprint(key)
    [job] = window.jobs.jobs
    assert job.result["size"] == (out / "b.torchcache").stat().st_size
    assert job.fruit == str(out / "b.torchcache")
    assert os.listdir(out) == ["b.torchcache"]
    let_go(qtbot, window)
    assert settings.value(SIGN_WITH) == str(key)
    # It is remembered, and taken back where it is not wanted.
    again = ask(qtbot, window, out / "c.torchcache")
    qtbot.waitUntil(lambda: not again.key.busy, timeout=PATIENCE)
    assert again.key.value == str(key)
    again.reject()


@pytest.mark.slow
def test_a_passphrase_is_asked_for_until_it_is_right(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    folder: Path,
    tmp_path: Path,
    out: Path,
) -> None:
    key = make(folder / "locked", phrase=SECRET)
    window = open_window(fixture_cache)
    begin(qtbot, window, out / "b.torchcache", key)
    first = phrase(qtbot, window, "not it")
    assert first.what.text().endswith("to sign with locked")
    assert "passphrase" in first.words.text()
    assert first.wrong.isHidden()
    assert os.listdir(out) == [], "nothing has its name yet"
    second = phrase(qtbot, window, SECRET, first)
    assert "was not accepted" in second.wrong.text()
    idle(qtbot, window)
    assert signature(out / "b.torchcache").fingerprint == fingerprint(key)
    [job] = window.jobs.jobs
    assert SECRET not in "\n".join(job.log)
    files = (path for path in tmp_path.rglob("*") if path.is_file())
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.slow
def test_cancelled_at_the_passphrase_nothing_is_left(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, folder: Path, out: Path
) -> None:
    key = make(folder / "locked", phrase=SECRET)
    (out / "b.torchcache").write_text("mine")
    window = open_window(fixture_cache)
    dialog = ask(qtbot, window, out / "b.torchcache")
    dialog.target.replace.setChecked(True)
    dialog.key.choose_file(str(key))
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    click(qtbot, dialog.go)
    asked = phrase(qtbot, window, "")
    QTest.keyClick(asked, Qt.Key.Key_Escape)
    idle(qtbot, window)
    [job] = window.jobs.jobs
    assert job.state is State.CANCELLED
    assert told(window).startswith("Cancelled.")
    assert os.listdir(out) == ["b.torchcache"]
    assert (out / "b.torchcache").read_text() == "mine"
    # The job is cancelled where it is followed, and the question with it.
    click(qtbot, window.following.drawer.change)
    qtbot.waitUntil(lambda: dialog.ready and dialog.target.replace.isVisible(), timeout=PATIENCE)
    dialog.target.replace.setChecked(True)
    click(qtbot, dialog.go)
    phrase(qtbot, window, "", asked)
    click(qtbot, window.following.drawer.cancel_button)
    idle(qtbot, window)
    assert not any(one.isVisible() for one in window.findChildren(QuestionDialog))
    let_go(qtbot, window)
    assert os.listdir(out) == ["b.torchcache"]


def test_a_token_asks_for_its_pin_and_waits_for_a_touch(
    qtbot: QtBot, open_window: OpenWindow, good: Path, folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """There is no token here: before ssh-keygen signs, what a token has it ask and note is said."""
    file, go_on, bin_ = tmp_path / "b.torchcache", tmp_path / "touched", tmp_path / "bin"
    shutil.copy(good, file)
    key = make(folder / "id_a")
    bin_.mkdir()
    (bin_ / "ssh-keygen").write_text(
        f"""#!/bin/sh
if [ "$2 $3" = "-Y sign" ]; then
    [ "$("$SSH_ASKPASS" "Enter PIN for ED25519-SK key k: ")" = 1234 ] || exit 1
    SSH_ASKPASS_PROMPT=none "$SSH_ASKPASS" "Confirm user presence for key k"
    until [ -e "{go_on}" ]; do sleep 0.02; done
fi
exec {shutil.which("ssh-keygen")} "$@"
"""
    )
    (bin_ / "ssh-keygen").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
    window = open_window()
    window.operations.sign(str(file), str(key))
    asked = phrase(qtbot, window, "1234")
    assert asked.words.text() == "Enter PIN for ED25519-SK key k:"
    [job] = window.jobs.jobs
    qtbot.waitUntil(lambda: job.now == "Touch your key now", timeout=PATIENCE)
    assert list(job.log) == ["Confirm user presence for key k"]
    assert not any(one.isVisible() for one in window.findChildren(QuestionDialog))
    go_on.touch()
    idle(qtbot, window)
    assert job.state is State.DONE
    assert signature(file).fingerprint == fingerprint(key)
    # Cancelled while it waits for the touch, it ends at once.
    go_on.unlink()
    again = window.operations.sign(str(file), str(key))
    phrase(qtbot, window, "1234", asked)
    qtbot.waitUntil(lambda: again.now != "", timeout=PATIENCE)
    window.operations.cancel(again)
    idle(qtbot, window)
    assert again.state is State.CANCELLED


@pytest.mark.slow
def test_a_window_that_is_closed_at_the_passphrase_leaves_nothing(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, folder: Path, out: Path
) -> None:
    key = make(folder / "locked", phrase=SECRET)
    window = open_window(fixture_cache)
    begin(qtbot, window, out / "b.torchcache", key)
    phrase(qtbot, window, "")
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    assert os.listdir(out) == []


@pytest.mark.slow
def test_what_cannot_be_signed_is_not_written(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, fixture_cache: Path, folder: Path,
    out: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    key = make(folder / "id_ed25519")
    window = open_window(fixture_cache)
    dialog = ask(qtbot, window, out / "b.torchcache")
    dialog.key.choose_file(str(fixture_cache / "nowhere"))
    qtbot.waitUntil(lambda: not dialog.key.busy, timeout=PATIENCE)
    assert not dialog.go.isEnabled()
    assert "There is no such file" in " ".join(dialog.go.toolTip().split())
    dialog.key.choose_file(str(key))
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    key.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nno\n")
    key.chmod(0o600)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    [job] = window.jobs.jobs
    assert job.state is State.FAILED
    assert "could not be signed" in told(window)
    assert "No private key found" in told(window)
    let_go(qtbot, window)
    assert os.listdir(out) == []
    dialog.reject()
    # Without OpenSSH, what is remembered is kept, and an export goes on unsigned.
    monkeypatch.setenv("PATH", str(out))
    again = ask(qtbot, window, out / "c.torchcache")
    qtbot.waitUntil(lambda: not again.key.busy, timeout=PATIENCE)
    assert not again.key.combo.isEnabled()
    assert "openssh-client" in again.key.said.text()
    click(qtbot, again.go)
    idle(qtbot, window)
    assert signature(out / "c.torchcache").status == "none"
    assert settings.value(SIGN_WITH) == str(key)


@pytest.mark.slow
def test_a_bundle_that_is_shown_is_signed(
    qtbot: QtBot, open_window: OpenWindow, good: Path, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "b.torchcache"
    shutil.copy(good, file)
    key, other = make(folder / "id_a"), make(folder / "id_b")
    sign(file, other, tmp_path / "signing")
    signers.trust("me@example.org", f"{key}.pub")
    window = open_window()
    window.places.add(str(file), bundle=True)
    window.places_pane.choose(str(file))
    listed(qtbot, window, file)
    window.actions_["sign"].trigger()
    dialog = open_dialog(qtbot, window, SignDialog)
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    assert fingerprint(other) in dialog.said.text()
    assert "replaces that one" in dialog.said.text()
    assert dialog.key.value == str(key)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert told(window).startswith("b.torchcache is signed.")
    assert f"Signed by me@example.org, with ssh-ed25519 {fingerprint(key)}." in told(window)
    assert f"with ssh-ed25519 {fingerprint(other)}, was replaced" in told(window)
    assert signature(file).fingerprint == fingerprint(key)
    # What is no bundle stays as it is.
    text = tmp_path / "notes.torchcache"
    text.write_text("no bundle")
    dialog = window.flows.signing.sign(str(text))
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    assert not dialog.go.isEnabled()
    assert "neither a bundle" in dialog.said.text()
    dialog.reject()


@pytest.mark.slow
def test_a_key_that_only_an_agent_holds(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, good: Path, folder: Path,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    file = tmp_path / "b.torchcache"
    shutil.copy(good, file)
    key = make(tmp_path / "token", phrase="")
    public = signers.public_key(f"{key}.pub")
    window = open_window()
    with agent() as socket:
        monkeypatch.setenv("SSH_AUTH_SOCK", socket)
        subprocess.run(["ssh-add", "-q", key], check=True)
        for path in (key, key.with_suffix(".pub")):
            path.unlink()
        dialog = window.flows.signing.sign(str(file))
        qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
        assert dialog.key.combo.currentText() == "ada@token"
        assert "held by ssh-agent" in dialog.key.said.text()
        click(qtbot, dialog.go)
        idle(qtbot, window)
        assert told(window).startswith("b.torchcache is signed.")
    assert signature(file).fingerprint == public.fingerprint
    assert settings.value(SIGN_WITH) == public.key
    # Remembered, and not there now.
    dialog = window.flows.signing.sign(str(file))
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    assert not dialog.go.isEnabled()
    assert "nor ssh-agent has this key now" in dialog.go.toolTip()
    dialog.reject()


@pytest.mark.slow
def test_a_read_only_bundle_is_not_signed(
    qtbot: QtBot, open_window: OpenWindow, good: Path, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "b.torchcache"
    shutil.copy(good, file)
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    make(folder / "id_a")
    window = open_window()
    window.places.add(str(file), bundle=True)
    window.places_pane.choose(str(file))
    listed(qtbot, window, file)
    window.discovery.protect(str(file), True)
    qtbot.waitUntil(lambda: not window.actions_["sign"].isEnabled(), timeout=PATIENCE)
    dialog = window.flows.signing.sign(str(file))
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert "read-only" in told(window)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    dialog.reject()


def test_whom_one_trusts(
    qtbot: QtBot, open_window: OpenWindow, folder: Path, tmp_path: Path
) -> None:
    key, other = make(tmp_path / "one"), make(tmp_path / "two")
    window = open_window()
    window.actions_["signers"].trigger()
    dialog = open_dialog(qtbot, window, SignersDialog)
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert dialog.nothing.text().startswith("You trust nobody yet")
    # A public key that is dropped is shown as it is, and nothing is trusted without a name.
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(f"{key}.pub")])
    QTest.qWait(0)
    dialog.dropEvent(
        QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, mime, Qt.MouseButton.LeftButton,
                   Qt.KeyboardModifier.NoModifier)
    )  # fmt: skip
    trust = open_dialog(qtbot, window, TrustDialog)
    qtbot.waitUntil(lambda: fingerprint(key) in trust.fingerprint.text(), timeout=PATIENCE)
    assert not trust.go.isEnabled()
    assert trust.name.placeholderText() == "ada@one"
    type_in(qtbot, trust.name, "two words")
    click(qtbot, trust.go)
    qtbot.waitUntil(lambda: "cannot be the name" in trust.wrong.text(), timeout=PATIENCE)
    trust.name.setText("team@example.org")
    click(qtbot, trust.go)
    qtbot.waitUntil(lambda: dialog.list.topLevelItemCount() == 1, timeout=PATIENCE)
    assert [one.name for one in signers.signers()] == ["team@example.org"]
    # Another, pasted; a private key is refused.
    qtbot.waitUntil(lambda: not window.findChildren(TrustDialog))
    click(qtbot, dialog.add)
    second = open_dialog(qtbot, window, TrustDialog)
    second.key.setPlainText(other.read_text())
    assert "private key, which nobody else may see" in second.wrong.text()
    second.key.setPlainText(other.with_suffix(".pub").read_text())
    type_in(qtbot, second.name, "team@example.org")
    click(qtbot, second.go)
    qtbot.waitUntil(lambda: dialog.list.topLevelItemCount() == 2, timeout=PATIENCE)
    # Of two keys of one name only the chosen one goes, after a question.
    choose(dialog.list, 0)
    click(qtbot, dialog.remove)
    sure = open_dialog(qtbot, window, ConfirmDialog)
    assert fingerprint(key) in sure.detail.text()
    click(qtbot, sure.go)
    qtbot.waitUntil(lambda: dialog.list.topLevelItemCount() == 1, timeout=PATIENCE)
    assert [one.fingerprint for one in signers.signers()] == [fingerprint(other)]
    click(qtbot, dialog.required, QPoint(9, dialog.required.height() // 2))
    qtbot.waitUntil(signers.required, timeout=PATIENCE)
    qtbot.waitUntil(dialog.required.isEnabled, timeout=PATIENCE)
    assert "refuse other" in dialog.what_then.text()
    # What cannot be written is not shown as if it were.
    trusting = Path(signers.signers_file()).with_name("trust.json")
    trusting.unlink()
    trusting.mkdir()
    click(qtbot, dialog.required, QPoint(9, dialog.required.height() // 2))
    qtbot.waitUntil(dialog.problem.isVisible, timeout=PATIENCE)
    assert dialog.required.isChecked()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.findChildren(SignersDialog))


@pytest.mark.slow
def test_an_unknown_signer_can_be_trusted_from_the_import(
    qtbot: QtBot, open_window: OpenWindow, good: Path, folder: Path, tmp_path: Path
) -> None:
    key, file = make(tmp_path / "key"), tmp_path / "signed.torchcache"
    shutil.copy(good, file)
    sign(file, key, tmp_path / "signing")
    window = open_window()
    dialog = look(qtbot, window, tmp_path / "into", file, good)
    assert dialog.signer.isVisible()
    choose(dialog._tree, 1)
    assert not dialog.signer.isVisible(), "nobody has signed that"
    choose(dialog._tree, 0)
    click(qtbot, dialog.signer.button)
    trust = open_dialog(qtbot, window, TrustDialog)
    assert fingerprint(key) in trust.fingerprint.text()
    assert trust.key.isReadOnly()
    type_in(qtbot, trust.name, "team@example.org")
    click(qtbot, trust.go)
    qtbot.waitUntil(lambda: "Signed by team@example.org" in dialog._made_in.text())
    assert not dialog.signer.isVisible()
    assert "from people you trust" in dialog.trust.text(), "the other is still by nobody"
    dialog.reject()
    # Where signatures are required, that is said before anything is placed.
    signers.require(True)
    dialog = look(qtbot, window, tmp_path / "into", good)
    qtbot.waitUntil(
        lambda: "good.torchcache has no signature that you trust" in dialog.go.toolTip()
    )
    assert not dialog.go.isEnabled()
    dialog.reject()
    dialog = look(qtbot, window, tmp_path / "into", file)
    qtbot.waitUntil(dialog.go.isEnabled)
    dialog.reject()


@pytest.mark.slow
def test_the_keys_of_the_keyboard_lead_through_the_dialogs(
    qtbot: QtBot, open_window: OpenWindow, good: Path, fixture_cache: Path, folder: Path
) -> None:
    make(folder / "id_a")
    window = open_window(fixture_cache)
    export = ask(qtbot, window, folder / "b.torchcache")
    qtbot.waitUntil(lambda: not export.key.busy, timeout=PATIENCE)
    key = export.key
    assert tabs(export.target.file, 5) == [
        export.target.browse,
        key.combo,
        key.file,
        export.cancel,
        export.go,
    ]
    export.reject()
    dialog = window.flows.signing.show_signers()
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert tabs(dialog.list, 3) == [dialog.add, dialog.required, dialog.close_]
    trust = dialog.open_trust()
    qtbot.waitUntil(trust.isActiveWindow)
    trust.key.setPlainText((folder / "id_a.pub").read_text())
    trust.name.setText("me")
    assert tabs(trust.key, 4) == [trust.file, trust.name, trust.cancel, trust.go]
    # Enter trusts nobody.
    QTest.keyClick(trust.name, Qt.Key.Key_Return)
    settle(qtbot)
    assert signers.signers() == []
    QTest.keyClick(trust, Qt.Key.Key_Escape)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.findChildren(SignersDialog))
