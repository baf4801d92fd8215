"""The import dialog: what is inside the files, where it goes, and what of it is new there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from torchkeeper.artifacts.entry import KINDS
from torchkeeper.client import carrying
from torchkeeper.client.signers import signers_file
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import PlaceChoice, Typed, room_text
from torchkeeper.gui.dialogs.copying import Outcome
from torchkeeper.gui.dialogs.eachplace import EachPlace
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.inspected import Inspected, Prospects
from torchkeeper.gui.dialogs.leaving import Stays
from torchkeeper.gui.dialogs.pages import KindTable, TrustNotice
from torchkeeper.gui.dialogs.signers import UnknownSigner
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.bundles import About, Names, Naming
from torchkeeper.gui.jobs.crossing import Ahead
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.places.model import Place, host_of, machine_of
from torchkeeper.gui.verdicts.environments import Environment, Machines
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages import entries as messages
    from torchkeeper.engine.messages.bundles import SignatureParams, SignatureResult
    from torchkeeper.engine.messages.places import ListParams, ListResult

#: As of ``Operations.import_files``.
Start = Callable[
    [
        Sequence[str], str, Naming | None, Sequence[About], Mapping[str, str], Environment | None,
        str,
    ],
    Job,
]  # fmt: skip


class ImportDialog(WorkDialog):
    """Reads every file first; nothing is written before Import is pressed."""

    fits = True

    #: A file was read that can be imported.
    looked = Signal(str)

    def __init__(
        self,
        parent: QWidget,
        engines: Engines,
        files: Sequence[str],
        places: Sequence[Place],
        current: str | None,
        start: Start,
        machines: Machines,
    ) -> None:
        super().__init__(parent, 720, "bundle", "mega-cache")
        self.setWindowTitle(self.tr("Import"))
        self._engines, self._start, self._machines = engines, start, machines
        #: Where the target is, the files are: what is asked of them is asked there.
        self.ahead = Ahead(engines, self)
        self.ahead.changed.connect(self._arrived)
        self.ahead.progress.connect(self._sending)
        #: The machine that the user has said the files may be sent to, to be compared there.
        self._agreed = ""
        self._compare_of = Typed(engines, self)
        self.names = Names(engines, self)
        self.names.changed.connect(lambda: self._compare(soon=False))
        none = self.tr("None: native objects keep the names they have")
        self.environment = EnvironmentChoice(machines.of(current), "import", none)
        self.prospects = Prospects(engines, self.environment, self)
        self.prospects.changed.connect(self._say_prospects)
        self._stays = Stays()
        self.compared: messages.CompareResult | None = None
        self._compare_error: UserError | None = None
        #: What was compared, or is being: the target, the names, and the files.
        self._asked: tuple[str, Naming | None, tuple[str, ...]] | None = None
        self.files = [Inspected(path) for path in dict.fromkeys(files)]
        #: Whether only what trusted signers have signed is imported.
        self._required = False
        #: Whether the environment has yet to name native objects; the target of Import meanwhile.
        self._waits, self._early = False, ""
        Latest(engines, self).call(Listener(result=self._told_signers), lookups.signers)
        self._tree = self._make_tree()
        self._detail = KindTable(self.tr("Contents, by kind"), 4, compared=True)
        self._heading = forms.label("", "heading", wrap=True)
        self._made_in = forms.label("", "muted", wrap=True)
        self.signer = UnknownSigner(engines)
        self.signer.trusted.connect(self._trusts)
        self.verdicts = forms.label("", wrap=True)
        self.verdicts.hide()
        self.target = PlaceChoice(places, current)
        self.target.changed.connect(self._compare)
        self.each = EachPlace(engines, {one.path for one in places if one.read_only})
        self.each.changed.connect(self._each_changed)
        self.environment.changed.connect(self._compare)
        self.environment.changed.connect(self._say_prospects)
        self._lay_out()
        for number in range(len(self.files)):
            self._inspect(number)
        theme.follow(self, self._paint)
        self._tree.setCurrentIndex(self._tree.model().index(0, 0))
        self._show_file()
        self._allow()

    def _make_tree(self) -> lists.Table:
        headings = [self.tr("File"), self.tr("Entries"), self.tr("Size")]
        tree = lists.Table(self.tr("Files to import"), headings)
        lists.columns(tree, (0, 88, 96), 0)
        for file in self.files:
            texts = printable(os.path.basename(file.path)), "", ""
            item = lists.line(texts, numbers=(1, 2))
            item.setToolTip(0, tip(printable(file.path)))
            item.setIcon(0, theme.icon("running", theme.shades().muted))
            tree.addTopLevelItem(item)
        tree.currentItemChanged.connect(lambda *_: self._show_file())
        tree.setFixedHeight(36 + 26 * min(max(len(self.files), 1), 5))
        lists.right(tree, (1, 2))
        return tree

    def _lay_out(self) -> None:
        files = forms.label(self.tr("&Files"), "heading")
        files.setBuddy(self._tree)
        self.news = forms.label("", wrap=True)
        self.look = forms.button(self.tr("&Compare"), self._look_there, enter=False)
        self.room = forms.label("", "muted", wrap=True)
        self.left = forms.label("", "warning", wrap=True)
        self.left.hide()
        # What is to be decided keeps its place while files are read, and is not below the fold.
        body = forms.column(files, self._tree, 4)
        forms.field(body, self.tr("Import &into"), self.target)
        forms.add(body, self.each)
        forms.field(body, self.tr("For the &environment"), self.environment)
        forms.add(body, forms.row((self.news, 1), self.look, gap=12), self.left, self.room, 4)
        forms.add(body, self._heading, self._made_in, self.signer)
        forms.add(body, self.verdicts, (self._detail, 1))
        self._warned = forms.label("", "warning", wrap=True)
        line = forms.row((forms.picture("warning", 16, "warning"), forms.TOP), (self._warned, 1))
        self.warning = forms.page(line)
        self.warning.hide()
        self.notice = TrustNotice(self.tr("You import code that PyTorch will run."))
        self.trust = self.notice.advice
        self.strange = forms.label("", "danger", wrap=True)
        self.anyway = QCheckBox(self.tr("I know what this is: import it an&yway"))
        self.anyway.toggled.connect(self._allow)
        # Never the default: to import is to be pressed on purpose.
        self.go = forms.button(self.tr("I&mport"), self._go, primary=True, enter=False)
        self.go.hold(self._counted(99_999))
        self._page = self.add_choice(body, self.go, enter=False)
        self._page.pin(self.warning, self.notice, self.strange, self.anyway)
        self._say_trust()
        for label in (self.verdicts, self.news, self.room):
            forms.keep_room(label, 1)
        # On a small or magnified screen the page is scrolled, never the buttons.
        self.resize_within(740, 796 + self._tree.height())
        # What is to be decided first is where it goes.
        self.target.setFocus()

    @property
    def chosen(self) -> list[Inspected]:
        """The files that can be imported."""
        return [file for file in self.files if file.good]

    @property
    def _into(self) -> str | None:
        """Where it goes; of what goes to several places the first."""
        going = self.each.going if self.each.on else []
        return going[0]["into"] if going else self.target.path

    @property
    def ready(self) -> bool:
        """Whether every file was read."""
        return all(file.ready for file in self.files)

    @property
    def known(self) -> bool:
        """Whether it is known what of the files is new in the target."""
        return self.compared is not None or self._compare_error is not None

    def done(self, result: int) -> None:
        self.prospects.forget()
        self.ahead.forget()
        super().done(result)

    def _inspect(self, number: int) -> None:
        file = self.files[number]

        def listed(found: ListResult) -> None:
            def told(what: messages.RunnableResult | None) -> None:
                file.end(found, what)
                self._read(number)

            listener = Listener(result=told, failed=lambda _: told(None))
            params: messages.RunnableParams = {"place": file.path}
            Latest(self._engines, self).ask(protocol.RUNNABLE, params, listener)

        def failed(error: UserError) -> None:
            file.fail(error)
            self._read(number)

        listener = Listener(rows=file.add, result=listed, failed=failed, findings=file.add_findings)
        # An engine of its own: a file that brings one down leaves the others alone.
        params: ListParams = {"place": file.path, "signers": signers_file()}
        Latest(self._engines, self).ask(protocol.LIST, params, listener)

    def _read(self, number: int) -> None:
        file = self.files[number]
        if file.good:
            self.looked.emit(file.path)
        item = self._tree.items()[number]
        item.setText(1, "" if file.error else f"{file.entries:,}")
        item.setText(2, "" if file.error else say.size(file.bytes))
        said = self.tr("can be imported") if file.good else self.tr("cannot be imported")
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

    def _told_signers(self, found: lookups.Signers) -> None:
        self._required = found["required"]
        self._allow()

    def _trusts(self) -> None:
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
        Latest(self._engines, self).ask(protocol.SIGNATURE, about, Listener(result=seen))

    def _say_trust(self) -> None:
        """Whom one would trust: whoever made the files, or signers whom one trusts already."""
        signers = {file.signer for file in self.chosen}
        known = sorted(filter(None, signers))
        trust = self.tr("Torchkeeper runs none of it, but a program that uses this cache will. "
                        "Import only files from people you trust.")  # fmt: skip
        vouched = bool(known) and None not in signers
        self.notice.weigh(mild=vouched)
        if vouched:
            trust = self.tr("{}, whom you trust, signed it, and nobody has changed it since.")
            trust = trust.format(say.together(known, 5))
        runs = filter(None, (file.runs() for file in self.chosen))
        self.trust.setText("\n".join([trust, *dict.fromkeys(runs)]))
        odd = self._odd()
        forms.tell(self.strange, "\n".join(dict.fromkeys(odd)))
        self.anyway.setVisible(bool(odd))

    def _odd(self) -> list[str]:
        """What is said of files that nobody vouches for, and that PyTorch has not written."""
        strange = (file for file in self.chosen if file.signer is None)
        return [said for file in strange if (said := file.suspicious())]

    def _paint(self) -> None:
        shades = theme.shades()
        for item, file in zip(self._tree.items(), self.files, strict=True):
            mark = ("done", shades.good) if file.good else ("error", shades.warning)
            item.setIcon(0, theme.icon(*(mark if file.ready else ("queued", shades.muted))))

    def _compare(self, soon: bool = True) -> None:
        """Find out what of the files is new in the target, under the names it would have there."""
        self.each.offer(machine_of(self.target.path or ""))
        self.target.setEnabled(not self.each.on)
        into = self._into
        if into is not None:
            self.environment.turn(self._machines.of(into))
        if self.ready and self.job is None and into is not None:
            machine = machine_of(into)
            may = [file.path for file in self.chosen if machine in ("", self._agreed)]
            self.ahead.send(machine, may)
            there = {self._at(file): file.claims for file in self.chosen if file.claims}
            self.names.ask(self.environment.one if self.ahead.there else None, there)
        self._waits = self.names.busy or self.environment.waiting or self.ahead.busy
        naming, files = self.names.naming, tuple(self.ahead.there.values())
        self._look_each(files, naming)
        asked = (into or "", naming, files)
        if asked == self._asked and self.job is None and not (self._waits or self.each.on):
            return  # only more was found out of the environment
        self.compared, self._compare_error, self._asked = None, self.ahead.error, None
        self._stays.clear()
        able = self.ready and files and self.job is None and not (self._waits or self.each.on)
        if able and into is not None:
            self._asked = asked
            params: messages.CompareParams = {"files": list(files), "into": into}
            if naming is not None:
                params["env"] = naming.python
            failed = partial(self._told, None)
            heard = Listener(None, self._comparing, self._stays.take, self._told, failed)
            before = () if naming is None else naming.before
            self._compare_of.ask(protocol.COMPARE, params, heard, soon=soon, before=before)
        else:
            self._compare_of.forget()
        self._show_file()
        self._allow()

    def _look_each(self, files: Sequence[str], naming: Naming | None) -> None:
        """Ask where each cache goes; before the files are on another machine, which there are."""
        if self.ready and self.job is None:
            there, machine = bool(files), machine_of(self.target.path or "")
            asked = files if there else [file.path for file in self.chosen]
            self.each.look(machine if there else "", asked, naming if there else None)

    def _each_changed(self) -> None:
        """Where the caches go on another machine is asked there: the choice has the files sent."""
        if self.each.on and machine_of(self.target.path or "") not in ("", self._agreed):
            self._look_there()
        else:
            self._arrived()

    def _at(self, file: Inspected) -> str:
        """What a file is called where the target is."""
        return self.ahead.there.get(file.path, file.path)

    def _look_there(self) -> None:
        """Send the files, and compare them there; once more, where that has failed."""
        self._agreed, self._asked = machine_of(self.target.path or ""), None
        self.ahead.forget()
        self._arrived()

    def _arrived(self) -> None:
        self._compare(soon=False)
        self._allow()

    def _sending(self, done: float, total: float | None, _unit: str) -> None:
        if total and self.ahead.busy and (into := self.target.path):
            text = self.tr("Sending it to {}, to compare it with what is there, {} of {}…")
            host = host_of(machine_of(into))
            self.news.setText(text.format(host, say.size(done), say.size(total)))

    def _comparing(self, done: float, total: float | None, unit: str) -> None:
        if unit == "bytes" and total:
            text = self.tr("Comparing with what is there, {} of {}…")
            self.news.setText(text.format(say.size(done), say.size(total)))

    def _told(self, found: messages.CompareResult | None, error: UserError | None = None) -> None:
        self.compared, self._compare_error = found, error
        self._show_file()
        self._allow()

    def _go(self) -> None:
        into = self._into or ""
        self._early = into if self._waits else ""
        self._allow()
        if into and not self._early:
            self._compare_of.forget()
            files = [file.path for file in self.chosen]
            abouts = [
                About(file.path, file.claims, file.signature["manifest"] if file.signature else "")
                for file in self.chosen
                if file.claims
            ]
            there = self.ahead.there if machine_of(into) else {}
            env = self.environment.one
            start = partial(self._start, files)
            how = self.names.naming, abouts, there, env
            if not self.each.on:
                self.follow(start(into, *how, ""))
                return
            # Each place gets a job of its own: one that fails holds up no other.
            jobs = [start(str(row["into"]), *how, row["cache"]) for row in self.each.wanted]
            self.follow(jobs[0])

    def choose_again(self) -> None:
        super().choose_again()
        self._asked = None
        self.ahead.forget()  # they are gone with the job, or with the connection
        self._compare(soon=False)

    @property
    def _current(self) -> Inspected | None:
        number = self._tree.currentIndex().row()
        return self.files[number] if number >= 0 else None

    def _show_file(self) -> None:
        if (file := self._current) is None:
            return
        forms.set_role(self._heading, "error" if file.error else "heading")
        if file.error:
            self._heading.setText(file.error.what)
            self._made_in.setText("\n".join(filter(None, (file.error.why, file.error.remedy))))
        elif not file.ready:
            self._heading.setText(self.tr("Reading the file…"))
            self._made_in.setText(self.tr("Nothing is imported before you press Import."))
        else:
            self._heading.setText(file.title())
            self._made_in.setText(file.origin())
        self.signer.show_signature(file.signature)
        self._detail.say(self.tr("Nothing to import") if file.ready else self.tr("Reading…"))
        marks, rows = self._marks(file), list[tuple[str, list[str]]]()
        for kind in KINDS:
            if kind in file.kinds and not file.error:
                count, size = file.kinds[kind]
                rows.append((kind, [f"{count:,}", say.size(size), *marks.get(kind, [""] * 3)]))
        self._detail.fill(rows)
        self._say_prospects()

    def _say_prospects(self) -> None:
        file = self._current
        forms.tell(self.verdicts, self.prospects.of(file.path) if file is not None else "")
        # Files may be made for another number of threads than programs there have.
        facts = self.environment.facts
        threads = dict.fromkeys(carrying.threads(file.made_in, facts) for file in self.chosen)
        warned = list(filter(None, (self.prospects.warning, *threads)))
        self._warned.setText("\n".join(warned))
        self.warning.setVisible(bool(warned))

    def _marks(self, file: Inspected) -> dict[str, tuple[str, ...]]:
        return {
            kind["kind"]: tuple(
                f"{of['entries']:,}" if of["entries"] else "–"
                for of in (kind["new"], kind["there"], kind["differs"])
            )
            for one in (self.compared["files"] if self.compared else ())
            if one["file"] == self._at(file)
            for kind in one["kinds"]
        }

    def _total(self, outcome: Outcome, what: Literal["entries", "bytes"] = "entries") -> int:
        return sum(one[outcome][what] for one in (self.compared["files"] if self.compared else ()))

    def _allow(self) -> None:
        count = sum(file.entries for file in self.chosen)
        if self.each.on:
            count = self.each.new
        elif self.compared is not None:
            count = self._total("new")
        self._say_news()
        why = self._why_not()
        forms.allow(self.go, why)
        if why or self.names.error or self._early != self._into:
            self._early = ""
        early = self.tr("Torchkeeper imports them once the environment has answered.")
        if self.ahead.busy:
            early = self.tr("Torchkeeper imports them once they are there.")
        forms.tell(self._page.why, early if self._early else why)
        self.go.setText(self._counted(count) if count else self.tr("I&mport"))
        if self._early and not self._waits:
            self._go()

    def _counted(self, count: int) -> str:
        return self.tr("I&mport {}").format(say.count(count, "entry", "entries"))

    def _why_not(self) -> str:
        if not self.ready:
            return self.tr("Torchkeeper is still reading the files.")
        if not self.chosen:
            return self.tr("There is nothing to import in these files.")
        if self._into is None:
            return self.target.wrong
        if self._odd() and not self.anyway.isChecked():
            return self.tr(
                "It names code that PyTorch never writes. Tick the box to import it anyway."
            )
        if self._required and (other := [file for file in self.chosen if file.signer is None]):
            said = self.tr("{} has no signature that you trust, and you require one: File > "
                           "Trusted signers.")  # fmt: skip
            return said.format(printable(os.path.basename(other[0].path), 80))
        if self.each.on:
            return self.each.why_not
        if self._compare_error is not None:
            return self._compare_error.what
        if self.compared is not None:
            if not self._total("new"):
                return self.news.text()
            if self.compared["space"]["why"]:
                return self.room.text()
        return ""

    def _say_news(self) -> None:
        news, role, room, room_role = "", "", "", "muted"
        if self.each.on and not self.ahead.busy and self.ahead.error is None:
            news = self.each.words or self.each.why_not
        elif self.target.path is None:
            news, role = self.target.wrong, "error"
        elif self._compare_error is not None:
            error = self._compare_error
            news, role = f"{error.what} {error.why}".strip(), "error"
        elif self.compared is None:
            role = "muted"
            if self.ready and self.chosen:
                news = self.tr("Comparing with what is there…")
                if self.ahead.busy:
                    news = self.tr("Sending it to {}, to compare it with what is there…")
                    news = news.format(host_of(machine_of(self.target.path)))
                elif self._waits:
                    news = self.tr("Asking PyTorch there for the names of native objects…")
                elif not self.ahead.there:
                    news = self.tr("What of it is new on {} is known once it is there.")
                    news = news.format(host_of(machine_of(self.target.path)))
        else:
            news, space = self._news(), self.compared["space"]
            room, room_role = room_text(self.compared["needed"], space)
            if not space["exists"] and not space["why"]:
                room = self.tr("The folder will be created.") + " " + room
        machine = machine_of(self.target.path or "")
        waits = bool(machine and self.ready and self.chosen and not self._waits)
        self.look.setVisible(waits and self.compared is None and not self._compare_of.busy)
        hint = self.tr("Sends it to {}, where it stays as long as this dialog is open")
        self.look.setToolTip(tip(hint.format(host_of(machine))))
        left = self._stays.words(self.tr) if self.compared is not None else ""
        if self.names.error is not None:
            kept = self.tr("Native objects keep their names: {}").format(self.names.error.what)
            left = "\n".join(filter(None, (kept, left)))
        forms.tell(self.left, left)
        forms.set_role(self.news, role)
        self.news.setText(news)
        forms.set_role(self.room, room_role or "muted")
        self.room.setText(room)

    def _news(self) -> str:
        new, there = self._total("new"), self._total("there")
        differ, bad = self._total("differs"), self._total("left")
        parts = [self.tr("Nothing is new")]
        if new:
            size = say.content(self._total("new", "bytes"))
            parts = [self.tr("{} new ({})").format(f"{new:,}", size)]
        if self.compared and (renamed := self.compared["renamed"]):
            objects = say.count(renamed, "object", "objects")
            parts.append(self.tr("{} renamed for the environment").format(objects))
        if there:
            parts.append(self.tr("{} there already").format(f"{there:,}"))
        if twice := self._total("twice"):
            parts.append(self.tr("{} twice in it").format(f"{twice:,}"))
        if differ == 1:
            parts.append(self.tr("{} differs and stays as it is").format(1))
        elif differ:
            parts.append(self.tr("{} differ and stay as they are").format(f"{differ:,}"))
        if bad:
            parts.append(self.tr("{} cannot be placed").format(f"{bad:,}"))
        return " · ".join(parts)
