"""What the window itself can do about what went wrong: buttons beside the words of an error.

The words are for both, the window and the command line (``link.words.problems``); this is the table
of what to press, by their codes.
"""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDialog, QPushButton, QWidget

from torchkeeper.gui.actions import Actions
from torchkeeper.gui.widgets import forms
from torchkeeper.link.words.problems import UserError

_N = QT_TRANSLATE_NOOP


def _n(text: str) -> str:
    return str(_N("Remedies", text))


def _each(codes: str, *actions: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(codes.split(), actions)


#: Ids of actions (gui.actions), at most two, by the code of what went wrong.
REMEDIES: dict[str, tuple[str, ...]] = {
    **_each("place-missing place-unreadable place-stuck", "refresh", "remove-place"),
    **_each("place-not-folder", "add-folder"),
    **_each("place-no-cache", "remove-place"),
    **_each("place-not-server", "add-server"),
    **_each("place-unwritable place-unfinished", "doctor"),
    **_each("place-protected", "read-only"),
    **_each("disk-full undo-full trash-full verify-no-room", "empty-trash", "clean-up"),
    **_each("entry-gone text-unknown folder-unreadable nothing-to-undo partly-unreadable",
            "refresh"),
    **_each("engine-gone", "show-log"),
    **_each(
        "payload-unreadable payload-empty payload-name-mismatch reader-stuck reader-crashed "
        "object-truncated triton-incomplete library-missing graph-gone code-unnamed "
        "library-unlisted left-behind value-wrong-type value-not-json value-without-data "
        "value-not-base64",
        "purge",
    ),
    **_each("entry-unread file-hollow reader-starved", "read-all"),
    **_each("kind-not-in-redis dragged-secrets", "export"),
    **_each("no-bundle", "import"),
    **_each("signature-required signers-unreadable", "signers"),
    **_each("password-needed password-wrong", "enter-password", "edit-server"),
    **_each(
        "server-unknown-host server-refused server-unreachable server-timeout server-no-tls "
        "server-wants-tls server-not-redis server-unbounded server-endless "
        "socket-missing certificate-wrong-host "
        "certificate-untrusted certificate-file client-certificate-needed "
        "client-certificate-refused tls-failed database-out-of-range password-unneeded",
        "edit-server",
        "refresh",
    ),
    **_each("server-loading server-busy server-lost server-full server-stale", "refresh"),
    **_each("server-out-of-memory", "clean-up", "server"),
    **_each("bad-filter bad-age bad-size use-unknown owner-unknown age-unknown", "find"),
    **_each("recipe-unknown recipe-not-listed recipes-none recipes-unreadable cell-memory",
            "recipes"),
    **_each("rest-gone", "warm", "verify"),
    **_each("nothing-to-verify", "warm"),
    **_each(
        "torch-missing environment-no-torch environments-none environment-wanted triton-missing "
        "module-needs no-verdicts",
        "environments",
        "add-interpreter",
    ),
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
_LEAVING = ("environments", "settings", "doctor", "recipes", "clean-up", "edit-server", "show-log")


def offered(error: UserError, actions: Actions) -> list[QAction]:
    """The actions that mend it, of those that make sense now."""
    found = []
    at = actions.situation.path
    about = next((str(error.params[x]) for x in ("place", "server") if error.params.get(x)), at)
    for ident in REMEDIES.get(error.code, ()):
        action = actions[ident]
        elsewhere = ident in _OF_PLACE and about != at and about not in at
        # The switch would put on what is to be taken off.
        wrong = ident == "read-only" and not action.isChecked()
        if action.isEnabled() and not elsewhere and not wrong:
            found.append(action)
    return found


def label(action: QAction, code: str = "") -> str:
    """What the button of an action says, beside an error of that code."""
    if code in _OUTDATED:
        return action.text().replace("&", "")
    text = LABELS.get(action.objectName())
    if text is not None:
        return QCoreApplication.translate("Remedies", text)
    return action.text().replace("&", "")


class RemedyButtons(QWidget):
    """Up to two buttons that do what a remedy says; hidden where there is none."""

    def __init__(self, parent: QWidget | None = None, *, middle: bool = False) -> None:
        """middle: they stand in the middle with others, not at the beginning of a line."""
        super().__init__(parent)
        self.buttons: list[QPushButton] = []
        self._line = forms.row(gap=12 if middle else forms.GAP)
        if not middle:
            self._line.addStretch(1)
        self.setLayout(self._line)
        self.hide()

    def offer(self, error: UserError | None, but: str = "") -> None:
        """Have the buttons for an error, ``but`` the one of an action that is offered beside."""
        for button in self.buttons:
            self._line.removeWidget(button)
            button.deleteLater()
        self.buttons = []
        actions = self._actions()
        found = offered(error, actions) if error is not None and actions is not None else []
        if actions is not None and self._in_page():
            found = [one for one in found if one.objectName() != actions.situation.page]
        if isinstance(self.window(), QDialog):
            found = [one for one in found if one.objectName() in _STAYING + _LEAVING]
            # It offers no way to itself.
            found = [one for one in found if one.objectName() != self.window().objectName()]
        for action in found:
            code = error.code if error is not None else ""
            if action.objectName() == but and code not in _OUTDATED:
                continue
            button = forms.button(label(action, code))
            button.setAutoDefault(False)
            button.setToolTip(action.toolTip())
            button.clicked.connect(lambda _=False, action=action: self._do(action))
            self._line.insertWidget(len(self.buttons), button)
            self.buttons.append(button)
        self.setVisible(bool(self.buttons))

    def _in_page(self) -> bool:
        """Whether it is in a page of the window, which offers no way to itself."""
        from torchkeeper.gui.pages.page import Page

        within = self.parentWidget()
        while within is not None and not isinstance(within, Page):
            within = within.parentWidget()
        return within is not None

    def _actions(self) -> Actions | None:
        """Those of the window that this is in, or whose dialog it is in."""
        within: QWidget | None = self
        direct = Qt.FindChildOption.FindDirectChildrenOnly
        while within is not None:
            found = within.findChild(Actions, options=direct)
            if isinstance(found, Actions):
                return found
            within = within.parentWidget()
        return None

    def _do(self, action: QAction) -> None:
        from torchkeeper.gui.dialogs.base import Dialog

        dialog = self.window()
        if isinstance(dialog, Dialog) and action.objectName() in _LEAVING:
            # Not while it is still being closed.
            dialog.leave(lambda: QTimer.singleShot(0, action, action.trigger))
        else:
            action.trigger()
