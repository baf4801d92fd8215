"""The steps of the guide: what each is for, its action, and what shows that it was taken."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from torchkeeper.engine.protocol import EXPORT, PURGE, UNDO, VERIFY, WARM

#: The step somebody is at, its number in STEPS; -1 for who wants no guide. And since when, seconds
#: since the epoch.
STEP = "guide/step"
SINCE = "guide/since"
#: The kinds of jobs of later steps that were done already, with blanks between.
EARLY = "guide/early"

_N = QT_TRANSLATE_NOOP


def _n(text: str) -> str:
    return str(_N("Guide", text))


def tr(text: str) -> str:
    """The translation of a text of the steps."""
    return QCoreApplication.translate("Guide", text)


class Step(NamedTuple):
    """One step. action: what its button does. job: the kind of job whose success ends it; without
    one, it ends when an entry is selected. early: it is as good taken before it was reached.
    """

    id: str
    title: str
    text: str
    action: str
    verb: str
    job: str = ""
    early: bool = False


STEPS = (
    Step("warm", _n("Fill a cache"),
         _n("Compile the recipe that comes with Torchkeeper ahead of time, into a folder of its "
            "own. It is a small model, and really compiled: half a minute or so."),
         "warm", _n("Warm…"), WARM),
    Step("look", _n("Look at what is in it"),
         _n("Each row is an entry: a graph, generated code, a kernel. Select one, and the "
            "inspector says whether it will hit here, what it was made with and what it needs."),
         "entries", _n("Show entries")),
    Step("verify", _n("Prove that it hits"),
         _n("A fresh process runs the recipe with nothing but this cache, and says what hit, what "
            "was built again and how much faster it was."),
         "verify", _n("Verify…"), VERIFY, early=True),
    Step("export", _n("Put it into a bundle"),
         _n("One file with all of it, to carry to another machine. There it is dropped on the "
            "window, which shows what is inside before anything is taken."),
         "export", _n("Export…"), EXPORT, early=True),
    Step("purge", _n("Throw it out"),
         _n("Purging shows exactly what would go, and moves it to a trash. Clean up suggests what "
            "is dead; here, simply take everything that the guide's own folder holds."),
         "purge-shown", _n("Purge all shown…"), PURGE),
    Step("undo", _n("Bring it back"),
         _n("Until the trash is emptied every purge can be undone, to the byte."),
         "undo", _n("Undo purge"), UNDO),
)  # fmt: skip

#: Said while a step is being taken, with its button.
UNDER_WAY = _n("This is under way; the status bar says how far it is. The guide goes on when it "
               "has ended, also where you close the window and let it go on.")  # fmt: skip
SHOW_JOB = _n("Show activity")

#: Said where another place is shown than the guide's own folder, with the button of that.
ELSEWHERE = _n("The guide does this in its own folder only, which its first step fills. Another "
               "place is shown now, and is left alone.")  # fmt: skip
SHOW_OWN = _n("Show the guide's folder")

#: Said when all steps were taken.
OVER = _n("That was a whole round. The keys of everything are under F1, and Shift+F1 explains "
          "what has the keyboard.")  # fmt: skip
