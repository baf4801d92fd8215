"""Pictures of signing: with which key, for a passphrase, whom one trusts, and what comes of it."""

from __future__ import annotations

from typing import Any

from tests.shots import sample_keys, samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.sample_results import EXPORTED
from tests.shots.stage import Stage, turn
from torchkeeper.artifacts.entry import measured
from torchkeeper.client.engines.questions import Question
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.gui.dialogs.leaving import SIGN_WITH
from torchkeeper.gui.dialogs.machine import QuestionDialog
from torchkeeper.gui.dialogs.signers import SignersDialog, TrustDialog
from torchkeeper.gui.jobs.model import SIGNING, State
from torchkeeper.gui.places.model import EXPORTED_TO
from torchkeeper.gui.window import Window

_BUNDLES = "/home/ada/bundles"
_FILE = f"{_BUNDLES}/torchinductor_ada.torchcache"
#: Seconds until what was typed is looked at.
_TYPED = 0.4
#: The key of a signature that another one takes the place of.
_BEFORE = "SHA256:t0Qm9bVx4Lw7uJ2nR5sYc8eKa1pZ6fGd3hXiTjUoBvM"


def _export(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines, settings={EXPORTED_TO: _BUNDLES})
    for number, name in enumerate(("key", "token", "agent")):
        dialog = window.flows.export()
        assert dialog is not None
        turn(_TYPED)
        dialog.key.combo.setCurrentIndex(number + 1)
        dialog.key.combo.activated.emit(number + 1)
        stage.dialog(f"export-signed-{name}", dialog, _TYPED)
    engines.failing["keys"] = user_error("ssh-keygen-missing", {})
    dialog = window.flows.export()
    assert dialog is not None
    stage.dialog("export-no-openssh", dialog, _TYPED)
    engines.failing.clear()
    window.settings.setValue(SIGN_WITH, "/media/stick/id_ed25519")
    dialog = window.flows.export()
    assert dialog is not None
    stage.dialog("export-key-gone", dialog, _TYPED)
    stage.close(window)


def _sign(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    stage.dialog("sign", window.flows.signing.sign(samples.NIGHTLY), _TYPED)
    signed = "/home/ada/llama/signed.torchcache"
    stage.dialog("sign-again", window.flows.signing.sign(signed), _TYPED)
    damaged = {"file": samples.NIGHTLY, "why": "Its manifest is not as it was signed"}
    engines.failing["signature"] = user_error("bundle-damaged", damaged)
    stage.dialog("sign-damaged", window.flows.signing.sign(samples.NIGHTLY), _TYPED)
    engines.failing.clear()
    engines.no_keys = True
    stage.dialog("sign-no-key", window.flows.signing.sign(samples.NIGHTLY), _TYPED)
    stage.close(window)


def _over(stage: Stage) -> None:
    window = stage.window()
    why = "Couldn't sign message (signer): device not found"
    exported = {
        **EXPORTED, "entries": 34, "files": 41, **measured(5_104_220, on_disk=False),
        "size": 5_131_400, "output": _FILE,
        "signature": sample_keys.UNKNOWN,
    }  # fmt: skip
    for name, kind, result, error in (
        ("sign-done", "sign", {"signature": samples.SIGNATURE,
                               "before": sample_keys.UNKNOWN | {"fingerprint": _BEFORE}}, None),
        ("sign-failed", "sign", {}, user_error("signing-failed", {"why": why})),
        ("export-signed-done", "export", exported, None),
    ):  # fmt: skip
        _ended(window, kind, result, error)
        stage.take(name, window)
    job = window.jobs.add("Sign nightly.torchcache", "sign", samples.NIGHTLY)
    window.jobs.begin(job)
    job.unit, job.now = SIGNING, "Touch your key now"
    window.following.show(job)
    stage.take("sign-touch", window)
    window.jobs.end(job, State.CANCELLED)
    stage.close(window)


def _ended(window: Window, kind: str, result: dict[str, Any], error: UserError | None) -> None:
    job = window.jobs.add(f"{kind.title()} nightly.torchcache", kind, samples.NIGHTLY)
    window.jobs.begin(job)
    job.started = None
    state = State.FAILED if error else State.DONE
    window.jobs.end(job, state, result=result, error=error)
    window.following.show(job)


def _passphrase(stage: Stage) -> None:
    window = stage.window()
    for name, text, again in (
        ("passphrase", 'Enter passphrase for "/home/ada/.ssh/id_ed25519":', False),
        ("passphrase-wrong", 'Enter passphrase for "/home/ada/.ssh/id_ed25519":', True),
        ("pin-wrong", "Enter PIN for ED25519-SK key /home/ada/.ssh/id_ed25519_sk:", True),
    ):
        question = Question("id_ed25519", "", text, lambda _: None, again)
        stage.dialog(name, QuestionDialog(window, question))
    stage.close(window)


def _signers(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    dialog = _chosen(window, engines)
    stage.dialog("signers", dialog)
    engines.signers_required = True
    dialog = _chosen(window, engines)
    dialog.remove.click()
    stage.opened("signers-remove", window)
    dialog.reject()
    engines.no_signers = True
    stage.dialog("signers-none", SignersDialog(window, engines))
    unreadable = {"file": "/home/ada/.config/torchkeeper/allowed_signers", "why": "it is not text"}
    engines.failing["signers"] = user_error("signers-unreadable", unreadable)
    stage.dialog("signers-unreadable", SignersDialog(window, engines))
    engines.failing.clear()
    stage.dialog("trust", TrustDialog(window, engines))
    dialog_of_key = TrustDialog(window, engines, sample_keys.PUBLIC.key)
    dialog_of_key.name.setText("build@llama.example")
    stage.dialog("trust-key", dialog_of_key)
    dialog_of_key = TrustDialog(window, engines)
    dialog_of_key.key.setPlainText("-----BEGIN OPENSSH PRIVATE KEY-----")
    stage.dialog("trust-wrong", dialog_of_key)
    into = window.flows.open_import(["/home/ada/llama/stranger.torchcache"])
    stage.dialog("import-unknown-signer", into, _TYPED)
    stage.close(window)


def _chosen(window: Window, engines: SampleEngines) -> SignersDialog:
    """The signers, of whom the first is chosen."""
    dialog = SignersDialog(window, engines)
    turn(0.05)
    if item := dialog.list.topLevelItem(0):
        dialog.list.setCurrentItem(item)
    return dialog


SCENES = {
    "export-signed": _export,
    "sign": _sign,
    "sign-over": _over,
    "passphrase": _passphrase,
    "signers": _signers,
}
