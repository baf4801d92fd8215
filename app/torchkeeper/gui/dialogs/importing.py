"""The import dialog: what is inside the files, where it goes, and what of it is new there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from torchkeeper.artifacts.entry import KINDS
from torchkeeper.client import carrying
from torchkeeper.client.signers import signers_file
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import Latest, PlaceChoice, room_text
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.inspected import Inspected, Prospects
from torchkeeper.gui.dialogs.pages import ChoicePage, KindTable
from torchkeeper.gui.dialogs.stays import Stays
from torchkeeper.gui.dialogs.trust import trust_notice
from torchkeeper.gui.dialogs.unknownsigner import UnknownSigner
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.bundles import About, Names, Naming
from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import SignatureParams, SignatureResult
    from torchkeeper.engine.messages.entries import (
        CompareParams,
        CompareResult,
        RunnableParams,
        RunnableResult,
    )
    from torchkeeper.engine.messages.places import ListParams, ListResult
    from torchkeeper.gui.background.looked import Signers

#: The files, the target, the names of objects there, and what the files say of their objects.
Start = Callable[[Sequence[str], str, Naming | None, Sequence[About]], Job]


class ImportDialog(WorkDialog):
    """Reads every file first; nothing is written before Import is pressed."""

    fits = True

    #: A file was read that can be imported.
    looked = Signal(str)

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        jobs: JobsModel,
        files: Sequence[str],
        places: Sequence[Place],
        current: str | None,
        start: Start,
        environments: Environments,
    ) -> None:
        super().__init__(parent, jobs, 720)
        self.setWindowTitle(self.tr("Import"))
        self._engines = engines
        self._start = start
        self._compare_of = Latest(engines, self)
        self.names = Names(engines, self)
        self.names.changed.connect(self._named)
        self.environment = EnvironmentChoice(
            environments, self.tr("None: native objects keep the names they have")
        )
        self.prospects = Prospects(engines, self.environment, self)
        self.prospects.changed.connect(self._say_prospects)
        self._stays = Stays()
        self.compared: CompareResult | None = None
        self._compare_error: UserError | None = None
        #: What was compared, or is being: the target, the names, and the files.
        self._asked: tuple[str | None, Naming | None, tuple[str, ...]] | None = None
        self.files = [Inspected(path) for path in dict.fromkeys(files)]
        self._tickets: list[int] = []
        #: Whether only what trusted signers have signed is imported.
        self._required = False
        listener = Listener(result=self._told_signers)
        self._tickets.append(engines.background(listener, lookups.signers))
        self._tree = self._make_tree()
        self._detail = KindTable(
            self.tr("What is inside, by kind"),
            [self.tr("Kind"), self.tr("Entries"), self.tr("Content"), self.tr("New"),
             self.tr("Already there"), self.tr("Differ")],
        )  # fmt: skip
        self._detail.room_for(4)
        self._heading = forms.label("", "heading", wrap=True)
        self._made_in = forms.label("", "muted", wrap=True)
        self.signer = UnknownSigner(engines)
        explain(self, "bundle", "mega-cache")
        self.signer.trusted.connect(self._trusts)
        self.verdicts = forms.label("", wrap=True)
        self.verdicts.hide()
        self.target = PlaceChoice(places, current)
        self.target.changed.connect(self._compare)
        self.environment.changed.connect(self._chosen)
        self._lay_out()
        for number in range(len(self.files)):
            self._inspect(number)
        theme.follow(self, self._paint)
        self._tree.setCurrentIndex(self._tree.model().index(0, 0))
        self._show_file()
        self._allow()

    def _make_tree(self) -> QTreeWidget:
        tree = QTreeWidget()
        tree.setAccessibleName(self.tr("Files to import"))
        tree.setRootIsDecorated(False)
        tree.setUniformRowHeights(True)
        tree.setHeaderLabels([self.tr("File"), self.tr("Entries"), self.tr("Size")])
        header = tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.resizeSection(1, 88)
        header.resizeSection(2, 96)
        for file in self.files:
            item = QTreeWidgetItem([printable(os.path.basename(file.path)), "", ""])
            item.setToolTip(0, tip(printable(file.path)))
            item.setIcon(0, theme.icon("running", theme.shades().muted))
            _align(item)
            tree.addTopLevelItem(item)
        tree.currentItemChanged.connect(lambda *_: self._show_file())
        tree.setFixedHeight(36 + 26 * min(max(len(self.files), 1), 5))
        _align_numbers(tree)
        return tree

    def _lay_out(self) -> None:
        files = forms.label(self.tr("&Files"), "heading")
        files.setBuddy(self._tree)
        self.news = forms.label("", wrap=True)
        self.room = forms.label("", "muted", wrap=True)
        self.left = forms.label("", "warning", wrap=True)
        self.left.hide()
        body = forms.column()
        body.addWidget(files)
        body.addWidget(self._tree)
        body.addSpacing(4)
        body.addWidget(self._heading)
        body.addWidget(self._made_in)
        body.addWidget(self.signer)
        body.addWidget(self.verdicts)
        body.addWidget(self._detail, 1)
        body.addSpacing(4)
        forms.field(body, self.tr("Import &into"), self.target)
        forms.field(body, self.tr("For the &environment"), self.environment)
        body.addSpacing(4)
        body.addWidget(self.news)
        body.addWidget(self.left)
        body.addWidget(self.room)
        self.warning = QWidget()
        self._warned = forms.label("", "warning", wrap=True)
        line = forms.row()
        line.addWidget(forms.picture("warning", 16, "warning"), 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self._warned, 1)
        self.warning.setLayout(line)
        self.warning.hide()
        body.addWidget(self.warning)
        body.addSpacing(4)
        self.trust = forms.label("", wrap=True)
        what = self.tr("What is imported is code that PyTorch will run.")
        self.strange = forms.label("", "error", wrap=True)
        self.anyway = QCheckBox(self.tr("I know what this is: import it all the same"))
        self.anyway.toggled.connect(self._allow)
        body.addWidget(trust_notice(what, self.trust))
        body.addWidget(self.strange)
        body.addWidget(self.anyway)
        self._say_trust()
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.clicked.connect(self.reject)
        self.cancel.setAutoDefault(False)
        # Never the default: to import is to be pressed on purpose.
        self.go = forms.button(self.tr("Import"), primary=True, enter=False)
        self.go.clicked.connect(self._go)
        self._page = ChoicePage(body, self.cancel, self.go)
        self.add_choice(self._page)
        # On a small or magnified screen the page is scrolled, never the buttons.
        room = self.screen().availableSize()
        wanted = 796 + self._tree.height()
        self.resize(min(740, room.width() - 40), min(wanted, room.height() - 80))
        # What is to be decided first is where it goes.
        self.target.setFocus()

    @property
    def chosen(self) -> list[Inspected]:
        """The files that can be imported."""
        return [file for file in self.files if file.good]

    @property
    def ready(self) -> bool:
        """Whether every file was read."""
        return all(file.ready for file in self.files)

    @property
    def known(self) -> bool:
        """Whether it is known what of the files is new in the target."""
        return self.compared is not None or self._compare_error is not None

    def done(self, result: int) -> None:
        self._compare_of.forget()
        self.names.forget()
        self.prospects.forget()
        for ticket in self._tickets:
            self._engines.forget(ticket)
        super().done(result)

    def _inspect(self, number: int) -> None:
        file = self.files[number]

        def listed(found: ListResult) -> None:
            def told(what: RunnableResult | None) -> None:
                file.end(found, what)
                self._read(number)

            listener = Listener(result=told, failed=lambda _: told(None))
            params: RunnableParams = {"place": file.path}
            self._tickets.append(self._engines.ask(protocol.RUNNABLE, params, listener))

        def failed(error: UserError) -> None:
            file.fail(error)
            self._read(number)

        listener = Listener(rows=file.add, result=listed, failed=failed, findings=file.add_findings)
        # An engine of its own: a file that brings one down leaves the others alone.
        params: ListParams = {"place": file.path, "signers": signers_file()}
        self._tickets.append(self._engines.ask(protocol.LIST, params, listener))

    def _read(self, number: int) -> None:
        file = self.files[number]
        if file.good:
            self.looked.emit(file.path)
        item = self._tree.topLevelItem(number)
        if item is not None:
            bad = not file.good
            item.setText(1, "" if file.error else f"{file.entries:,}")
            item.setText(2, "" if file.error else say.size(file.bytes))
            said = self.tr("cannot be imported") if bad else self.tr("can be imported")
            item.setData(0, Qt.ItemDataRole.AccessibleTextRole, f"{item.text(0)}, {said}")
        self._paint()
        self._say_trust()
        if self._tree.currentItem() is item:
            self._show_file()
        if self.ready:
            self._compare(soon=False)
            self.prospects.begin([file.path for file in self.chosen])
            self._say_prospects()
        self._allow()

    def _told_signers(self, found: Signers) -> None:
        self._required = found["required"]
        self._allow()

    def _trusts(self) -> None:
        """A signer is trusted from now on, who may have signed any of the files."""
        for number, file in enumerate(self.files):
            if file.signature and file.signature["status"] == "unknown":
                self._ask_signature(number)

    def _ask_signature(self, number: int) -> None:
        file = self.files[number]

        def seen(signature: SignatureResult) -> None:
            # Of another file that has its name by now, what was looked at says nothing.
            if file.signature and signature["manifest"] == file.signature["manifest"]:
                file.signature = signature
            self._say_trust()
            self._show_file()
            self._allow()

        about: SignatureParams = {"file": file.path, "signers": signers_file()}
        self._tickets.append(self._engines.ask(protocol.SIGNATURE, about, Listener(result=seen)))

    def _say_trust(self) -> None:
        """Whom one would trust: whoever made the files, or signers whom one trusts already."""
        signers = {file.signer for file in self.chosen}
        known = sorted(one for one in signers if one)
        if known and None not in signers:
            said = self.tr("It was signed by {}, whom you trust, and is as it was signed.")
            self.trust.setText(said.format(say.together(known, 5)))
        else:
            self.trust.setText(
                self.tr("Torchkeeper runs none of it, but a program that uses this cache will. "
                        "Import only files from people you trust.")
            )  # fmt: skip
        runs = [said for file in self.chosen if (said := file.runs())]
        self.trust.setText("\n".join([self.trust.text(), *dict.fromkeys(runs)]))
        odd = self._odd()
        self.strange.setText("\n".join(dict.fromkeys(odd)))
        self.strange.setVisible(bool(odd))
        self.anyway.setVisible(bool(odd))

    def _odd(self) -> list[str]:
        """What is said of files that nobody vouches for, and that PyTorch has not written."""
        files = (file for file in self.chosen if file.signer is None)
        return [said for file in files if (said := file.suspicious())]

    def _paint(self) -> None:
        """The marks of the files, in the colours of the theme."""
        shades = theme.shades()
        for number, file in enumerate(self.files):
            mark = ("done", shades.good) if file.good else ("error", shades.error)
            item = self._tree.topLevelItem(number)
            if item is not None:
                item.setIcon(0, theme.icon(*(mark if file.ready else ("queued", shades.muted))))

    def _chosen(self) -> None:
        """Another environment, or more is known of it."""
        self._compare()
        self._say_prospects()

    def _named(self) -> None:
        """The environment has told the names of objects, or why it cannot."""
        self._compare(soon=False)

    def _compare(self, soon: bool = True) -> None:
        """Find out what of the files is new in the target, under the names it would have there."""
        into = self.target.path
        if self.ready and self.job is None:
            claims = {file.path: file.claims for file in self.chosen if file.claims}
            self.names.ask(self.environment.one, claims)
        waits = self.names.busy or self.environment.waiting
        naming = self.names.naming
        asked = (into, naming, tuple(file.path for file in self.chosen))
        if asked == self._asked and self.job is None and not waits:
            return  # only more was found out of the environment
        self.compared, self._compare_error = None, None
        self._stays.clear()
        self._asked = None
        if self.ready and self.chosen and into is not None and self.job is None and not waits:
            self._asked = asked
            params: CompareParams = {"files": list(asked[2]), "into": into}
            if naming is not None:
                params["env"] = naming.python
            self._compare_of.ask(
                protocol.COMPARE,
                params,
                self._is_compared,
                self._not_compared,
                soon=soon,
                progress=self._comparing,
                findings=self._stays.take,
                before=() if naming is None else naming.before,
            )
        else:
            self._compare_of.forget()
        self._show_file()
        self._allow()

    def _comparing(self, done: float, total: float | None, unit: str) -> None:
        if unit == "bytes" and total:
            self.news.setText(
                self.tr("Comparing with what is there, {} of {}…").format(
                    say.size(done), say.size(total)
                )
            )

    def _is_compared(self, found: CompareResult) -> None:
        self.compared = found
        self._show_file()
        self._allow()

    def _not_compared(self, error: UserError) -> None:
        self._compare_error = error
        self._allow()

    def _go(self) -> None:
        into = self.target.path
        if into is not None:
            self._compare_of.forget()
            files = [file.path for file in self.chosen]
            abouts = [
                About(file.path, file.claims, file.signature["manifest"] if file.signature else "")
                for file in self.chosen
                if file.claims
            ]
            self.follow(self._start(files, into, self.names.naming, abouts))

    def choose_again(self) -> None:
        super().choose_again()
        self.setWindowTitle(self.tr("Import"))
        self._asked = None
        self._compare(soon=False)
        self.cancel.setFocus()

    def _show_file(self) -> None:
        item = self._tree.currentItem()
        number = self._tree.indexOfTopLevelItem(item) if item is not None else -1
        if number < 0:
            return
        file = self.files[number]
        forms.set_role(self._heading, "error" if file.error else "heading")
        if file.error:
            self._heading.setText(file.error.what)
            self._made_in.setText("\n".join(x for x in (file.error.why, file.error.remedy) if x))
        elif not file.ready:
            self._heading.setText(self.tr("Reading the file…"))
            self._made_in.setText(self.tr("Nothing is written before you press Import."))
        else:
            self._heading.setText(file.title())
            self._made_in.setText(file.origin())
        self.signer.show_signature(file.signature)
        nothing = self.tr("Nothing to import") if file.ready else self.tr("Reading…")
        self._detail.say(nothing)
        marks = self._marks(file)
        self._detail.fill(
            [
                (kind, [f"{count:,}", say.size(size), *marks.get(kind, ("", "", ""))])
                for kind in KINDS
                if kind in file.kinds and not file.error
                for count, size in [file.kinds[kind]]
            ]
        )

        self._say_prospects()

    def _say_prospects(self) -> None:
        """What of the chosen file, and of all, is of use here."""
        item = self._tree.currentItem()
        number = self._tree.indexOfTopLevelItem(item) if item is not None else -1
        said = self.prospects.of(self.files[number].path) if number >= 0 else ""
        self.verdicts.setText(said)
        self.verdicts.setVisible(bool(said))
        warned = self._thread_warnings()
        if self.prospects.warning:
            warned.insert(0, self.prospects.warning)
        self._warned.setText("\n".join(warned))
        self.warning.setVisible(bool(warned))

    def _thread_warnings(self) -> list[str]:
        """That files were made for another number of threads than programs there have."""
        facts = self.environment.facts
        told = (carrying.threads(file.made_in, facts) for file in self.chosen)
        return list(dict.fromkeys(said for said in told if said))

    def _marks(self, file: Inspected) -> dict[str, tuple[str, ...]]:
        """For each kind how many are new, there already, and differ."""
        for one in self.compared["files"] if self.compared else ():
            if one["file"] == file.path:
                return {
                    kind["kind"]: tuple(
                        f"{of['entries']:,}" if of["entries"] else "–"
                        for of in (kind["new"], kind["there"], kind["differs"])
                    )
                    for kind in one["kinds"]
                }
        return {}

    def _total(
        self,
        outcome: Literal["new", "there", "differs", "left"],
        what: Literal["entries", "bytes"] = "entries",
    ) -> int:
        found = self.compared["files"] if self.compared else ()
        return sum(one[outcome][what] for one in found)

    def _allow(self) -> None:
        count = sum(file.entries for file in self.chosen)
        if self.compared is not None:
            count = self._total("new")
        self._say_news()
        why = self._why_not()
        self.go.setEnabled(not why)
        self.go.setToolTip(tip(why))
        # While it is being looked at there is no telling.
        waits = not self.ready or bool(self.chosen and self.target.path and not self.known)
        self._page.say_why("" if waits else why)
        self.go.setText(
            self.tr("Import {}").format(say.count(count, "entry", "entries"))
            if count
            else self.tr("Import")
        )

    def _why_not(self) -> str:
        """Why it cannot begin; empty where it can."""
        if not self.ready:
            return self.tr("The files are still being read.")
        if not self.chosen:
            return self.tr("There is nothing to import in these files.")
        if self.target.path is None:
            return self.target.wrong
        if self._odd() and not self.anyway.isChecked():
            return self.tr("It names what PyTorch never writes. Say that you want it all the same.")
        if self._required and (other := [file for file in self.chosen if file.signer is None]):
            said = self.tr("{} is not signed by anybody you trust, and you import nothing else: "
                           "File > Trusted signers.")  # fmt: skip
            return said.format(printable(os.path.basename(other[0].path), 80))
        if self._compare_error is not None:
            return self._compare_error.what
        if self.names.busy or self.environment.waiting:
            return self.tr("The environment is still being asked.")
        if self.compared is not None:
            if not self._total("new"):
                return self.news.text()
            if self.compared["space"]["why"]:
                return self.room.text()
        return ""

    def _say_news(self) -> None:
        news, role, room, room_role = "", "", "", "muted"
        if self.target.path is None:
            news, role = self.target.wrong, "error"
        elif self._compare_error is not None:
            error = self._compare_error
            news, role = f"{error.what} {error.why}".strip(), "error"
        elif self.compared is None:
            if self.ready and self.chosen:
                asking = self.names.busy or self.environment.waiting
                news = self.tr("Comparing with what is there…")
                if asking:
                    news = self.tr("Asking PyTorch there for the names of native objects…")
            role = "muted"
        else:
            news = self._news()
            space = self.compared["space"]
            room, room_role = room_text(self.compared["needed"], space, self.tr)
            if not space["exists"] and not space["why"]:
                room = self.tr("The folder will be made.") + " " + room
        left = self._stays.words(self.tr) if self.compared is not None else ""
        if self.names.error is not None:
            error = self.names.error
            kept = self.tr("Native objects keep their names: {}").format(error.what)
            left = "\n".join(text for text in (kept, left) if text)
        self.left.setText(left)
        self.left.setVisible(bool(left))
        forms.set_role(self.news, role)
        self.news.setText(news)
        forms.set_role(self.room, room_role or "muted")
        self.room.setText(room)

    def _news(self) -> str:
        new, there = self._total("new"), self._total("there")
        differ, bad = self._total("differs"), self._total("left")
        parts = []
        if new:
            size = say.content(self._total("new", "bytes"))
            parts.append(self.tr("{} new ({})").format(f"{new:,}", size))
        else:
            parts.append(self.tr("Nothing is new"))
        if self.compared and (renamed := self.compared["renamed"]):
            objects = say.count(renamed, "object", "objects")
            parts.append(self.tr("{} renamed for the environment").format(objects))
        if there:
            parts.append(self.tr("{} there already").format(f"{there:,}"))
        if differ:
            text = self.tr("{} differ and stay as they are")
            if differ == 1:
                text = self.tr("{} differs and stays as it is")
            parts.append(text.format(f"{differ:,}"))
        if bad:
            parts.append(self.tr("{} cannot be placed").format(f"{bad:,}"))
        return " · ".join(parts)


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def _align(item: QTreeWidgetItem) -> None:
    item.setTextAlignment(1, _RIGHT)
    item.setTextAlignment(2, _RIGHT)


def _align_numbers(tree: QTreeWidget) -> None:
    head = tree.headerItem()
    if head is not None:
        _align(head)
