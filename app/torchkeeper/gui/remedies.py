"""What to press about what went wrong, by its code; the words are in client.words.problems."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QT_TRANSLATE_NOOP as _N
from PySide6.QtCore import QCoreApplication, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDialog, QWidget

from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.actions import Actions
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.pages.page import Page
from torchkeeper.gui.widgets.notice import Remedy


def _n(text: str) -> str:
    return str(_N("Remedies", text))


def _each(codes: str, *actions: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(codes.split(), actions)


#: Ids of actions (gui.actions), at most two, by the code of what went wrong.
REMEDIES: dict[str, tuple[str, ...]] = {
    **_each("place-missing place-unreadable place-stuck", "refresh", "remove-place"),
    **_each("ssh-key-unknown ssh-key-changed ssh-denied ssh-host-unknown ssh-refused ssh-silent "
            "ssh-no-python ssh-python-old ssh-failed ssh-lost ssh-misspoken", "refresh"),
    **_each("place-not-folder", "add-folder"),
    **_each("place-no-cache place-machine", "remove-place"),
    **_each("place-not-server", "add-server"),
    **_each("place-unwritable place-unfinished", "doctor"),
    **_each("place-protected", "read-only"),
    **_each("disk-full undo-full trash-full verify-no-room", "empty-trash", "clean-up"),
    **_each("entry-gone text-unknown folder-unreadable nothing-to-undo partly-unreadable "
            "server-loading server-busy server-lost server-full server-stale", "refresh"),
    **_each("engine-gone", "show-log"),
    **_each("payload-unreadable payload-empty payload-name-mismatch reader-stuck reader-crashed "
            "object-truncated triton-incomplete library-missing graph-gone code-unnamed "
            "library-unlisted left-behind value-wrong-type value-not-json value-without-data "
            "value-not-base64", "purge"),
    **_each("entry-unread file-hollow reader-starved", "read-all"),
    **_each("kind-not-in-redis dragged-secrets", "export"),
    **_each("no-bundle", "import"),
    **_each("signature-required signers-unreadable", "signers"),
    **_each("password-needed password-wrong", "enter-password", "edit-server"),
    **_each("server-unknown-host server-refused server-unreachable server-timeout server-no-tls "
            "server-wants-tls server-not-redis server-unbounded server-endless socket-missing "
            "certificate-wrong-host certificate-untrusted certificate-file tls-failed "
            "client-certificate-needed client-certificate-refused database-out-of-range "
            "password-unneeded", "edit-server", "refresh"),
    **_each("server-out-of-memory", "clean-up", "server"),
    **_each("bad-filter bad-age bad-size use-unknown owner-unknown age-unknown", "find"),
    **_each("recipe-unknown recipe-not-listed recipes-none recipes-unreadable variant-memory",
            "recipes"),
    **_each("recipe-program", "run-program"),
    **_each("rest-gone", "warm", "verify"),
    **_each("nothing-to-verify", "warm"),
    **_each("torch-missing environment-no-torch environment-torch-elsewhere environments-none "
            "environment-wanted triton-missing module-needs no-verdicts", "environments",
            "add-interpreter"),
    **_each("probe-stuck torch-broken triton-broken environment-unasked environment-forgotten "
            "environment-not-started interpreters-unreadable", "environments", "doctor"),
    **_each("compile-disabled caches-disabled profile-without-caches profile-unknown", "settings"),
    **_each("compiler-missing openssl-missing header-refused toolchain-failed", "doctor"),
    **_each("warm-failed warm-killed warm-timeout prepare-failed prepare-killed", "show-log",
            "doctor"),
    **_each("script-failed callable-raised eager-failed kernel-failed check-failed", "show-log"),
}  # fmt: skip

#: What a button says where it is not what the action is called.
LABELS = {
    "read-only": _n("Allow changes"),
    "refresh": _n("Try again"),
    "find": _n("Go to the filter"),
    "remove-place": _n("Remove from list"),
    "show-log": _n("Show log"),
    "purge": _n("Purge…"),
}
#: Here it is the list that is to be read again, whatever else can be tried again.
_OUTDATED = frozenset({"entry-gone", "text-unknown", "partly-unreadable"})
#: These are about the place that is shown, and of no use where another one is the matter.
_OF_PLACE = frozenset({"read-only", "remove-place", "empty-trash", "clean-up", "refresh", "purge",
                       "edit-server", "enter-password", "server"})  # fmt: skip
#: In a dialog there are these; for all but the last, it is closed first.
_STAYING = ("add-interpreter", "read-only", "empty-trash", "signers")
_LEAVING = ("environments", "settings", "doctor", "recipes", "clean-up", "edit-server", "show-log",
            "run-program")  # fmt: skip


def remedies(error: UserError, at: QWidget, but: str, actions: Actions) -> list[Remedy]:
    """What can be done about an error that the widget ``at`` says, but for the action ``but``."""
    found, dialog = _sensible(error, actions), at.window()
    within = at.parentWidget()
    while within is not None and not isinstance(within, Page):
        within = within.parentWidget()
    if within is not None:
        # A page offers no way to itself, and neither does a dialog.
        found = [one for one in found if one.objectName() != actions.situation.page]
    if isinstance(dialog, QDialog):
        found = [one for one in found if one.objectName() in _STAYING + _LEAVING]
        found = [one for one in found if one.objectName() != dialog.objectName()]
    if error.code not in _OUTDATED:
        found = [one for one in found if one.objectName() != but]
    return [Remedy(_label(one, error.code), one, partial(_do, one, at)) for one in found]


def _sensible(error: UserError, actions: Actions) -> list[QAction]:
    found, at = [], actions.situation.path
    about = next((str(error.params[x]) for x in ("place", "server") if error.params.get(x)), at)
    for ident in REMEDIES.get(error.code, ()):
        action = actions[ident]
        elsewhere = ident in _OF_PLACE and about != at and about not in at
        # The switch would put on what is to be taken off.
        wrong = ident == "read-only" and not action.isChecked()
        if action.isEnabled() and not elsewhere and not wrong:
            found.append(action)
    return found


def _label(action: QAction, code: str) -> str:
    text = LABELS.get(action.objectName())
    if code.startswith("ssh-") and action.objectName() == "refresh":
        text = _n("Connect now")
    if code in _OUTDATED or text is None:
        return action.text().replace("&", "")
    return QCoreApplication.translate("Remedies", text)


def _do(action: QAction, at: QWidget) -> None:
    dialog = at.window()
    if isinstance(dialog, Dialog) and action.objectName() in _LEAVING:
        # Not while it is still being closed.
        dialog.leave(lambda: QTimer.singleShot(0, action, action.trigger))
    else:
        action.trigger()
