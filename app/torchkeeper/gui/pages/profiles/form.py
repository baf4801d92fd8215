"""The form: all settings in groups, with a filter. Fields are made one by one when needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QGridLayout, QSizePolicy, QToolButton, QWidget

from torchkeeper.client.words import say, tongue
from torchkeeper.client.words.findingwords import said
from torchkeeper.gui import theme
from torchkeeper.gui.idle import IdleTasks
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.pages.profiles.editors import editor_of
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.settings.finding import SEVERITIES, Finding
from torchkeeper.settings.known import GROUPS, SETTINGS, Setting

#: Pixels of the column with the editors, and of the mark beside a field.
_EDITORS = 288
_MARK = 4
#: Findings that are told under a field; the list has all.
_MOST = 3


class Mark(QWidget):
    """A bar at the side: a colour of the theme, or nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.role = ""
        self.setFixedWidth(_MARK)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        theme.follow(self, self.update, now=False)

    def show_role(self, role: str) -> None:
        """The colour, by its name in the theme; "" for none."""
        if role != self.role:
            self.role = role
            self.update()

    def paintEvent(self, _: QPaintEvent) -> None:
        if self.role:
            with QPainter(self) as painter:
                colour = getattr(theme.shades(), self.role)
                theme.rounded(painter, self.rect(), _MARK / 2, colour)


class Field(QWidget):
    """A setting, and the editor of its variable."""

    #: Somebody has changed it: the variable, and its text or None.
    changed = Signal(str, object)

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting = setting
        self._found: list[Finding] = []
        self._told: list[QWidget] = []
        self._absent = False
        self.mark = Mark()
        self.name = forms.label(setting.name, selectable=True)
        self.does = forms.label(tongue.tr(setting.does), "muted", wrap=True)
        self.editor = editor_of(setting)
        self.editor.changed.connect(self._edited)
        self.name.setBuddy(self.editor.focusProxy() or self.editor)
        self.reset = forms.icon_button("undo", "", self._reset)
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        self.own = forms.label("", "muted")
        self.findings = forms.column(gap=2)
        self._lay_out()
        self.use_version(None)

    def _lay_out(self) -> None:
        self.editor.setFixedWidth(_EDITORS)
        edited = forms.row(self.editor, (self.reset, forms.TOP), gap=4)
        grid = QGridLayout()
        grid.setContentsMargins(0, 6, 0, 6)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(2)
        grid.addWidget(self.mark, 0, 0, 3, 1)
        # Long names have no room beside the editor in a narrow window.
        grid.addWidget(self.name, 0, 1, 1, 2)
        grid.addLayout(forms.column(self.does, forms.REST, gap=2), 1, 1)
        grid.addLayout(forms.column(edited, self.own, forms.REST, gap=2), 1, 2)
        grid.addLayout(self.findings, 2, 1, 1, 2)
        grid.setColumnStretch(1, 1)
        self.setLayout(grid)

    @property
    def text(self) -> str | None:
        """What its variable is set to; None where it is not."""
        return self.editor.text

    def show_text(self, text: str | None) -> None:
        """Show what it is; nobody has changed it then."""
        self.editor.show_text(text)
        self._say()

    def use_version(self, version: str | None) -> None:
        """Whose defaults are shown."""
        self.editor.use_version(version)
        absent = words.absent(self.setting, version)
        self.own.setText(absent or words.own(self.setting, version))
        self._absent = bool(absent)
        leave = self.tr("Leave it to PyTorch: {}")
        self.reset.setToolTip(tip(leave.format(words.own(self.setting, version))))
        self.reset.setAccessibleName(self.tr("Reset {}").format(self.setting.name))
        self._say()

    def show_findings(self, found: Sequence[Finding]) -> None:
        """Say what is wrong with it, the worst first."""
        if list(found) != self._found:
            self._found = list(found)
            for widget in self._told:
                self.findings.removeWidget(widget)
                widget.deleteLater()
            self._told = [_line(one) for one in self._found[:_MOST]]
            for widget in self._told:
                self.findings.addWidget(widget)
            self._say()

    def _edited(self) -> None:
        self._say()
        self.changed.emit(self.setting.name, self.text)

    def _reset(self) -> None:
        self.editor.show_text(None)
        self.editor.setFocus()
        self._edited()

    def _say(self) -> None:
        is_set = self.text is not None
        self.reset.setVisible(is_set)
        differs = is_set and self.own.text() != words.owner(self.setting)
        self.own.setVisible(differs or self._absent)
        forms.set_role(self.name, "heading" if is_set else "")
        worst = min((SEVERITIES.index(one.severity) for one in self._found), default=2)
        self.mark.show_role(("warning", "warning", "accent" if is_set else "")[worst])
        state = self.tr("Set in this profile.") if is_set else self.tr("Left to PyTorch.")
        told = [said(one).what for one in self._found[:_MOST]]
        self.editor.describe(self.setting.name, " ".join([self.does.text(), state, *told]))


def _line(one: Finding) -> QWidget:
    icon, role = words.MARKS[one.severity]
    text = forms.label(said(one).what, role, wrap=True)
    return forms.page(forms.row((forms.picture(icon, 16, role), forms.TOP), (text, 1), gap=6))


#: Pixels that are seen of it at least.
_LEAST = 44
#: What most people set, which is first, and alone open at first.
EVERYDAY = "everyday"
_EVERYDAY = (
    "TORCHINDUCTOR_FX_GRAPH_CACHE",
    "TORCHINDUCTOR_AUTOGRAD_CACHE",
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE",
    "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE",
    "TORCHINDUCTOR_REDIS_URL",
)


class Section(QWidget):
    """The settings of one group under a heading that opens and closes them."""

    changed = Signal(str, object)

    def __init__(self, name: str, settings: Sequence[Setting]) -> None:
        super().__init__()
        self.settings = settings
        self.fields: dict[str, Field] = {}
        self._values: Mapping[str, str] = {}
        self._found: Mapping[str, list[Finding]] = {}
        #: Of torch and of Triton.
        self._versions: tuple[str | None, str | None] = None, None
        self._title = words.group(name)
        #: Which are shown; None for all.
        self._some: set[str] | None = None
        self._making = IdleTasks(self)
        #: Whether somebody has opened it, apart from what a filter opens.
        self.open = name == EVERYDAY
        self.heading = QToolButton()
        self.heading.setText(self._title)
        self.heading.setAutoRaise(True)
        self.heading.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.heading.setIconSize(QSize(14, 14))
        self.heading.setProperty("small", True)
        self.heading.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        font = self.heading.font()
        font.setBold(True)
        self.heading.setFont(font)
        self.heading.clicked.connect(self._toggle)
        self.count = forms.label("", "muted")
        self.rows = forms.column(margin=(4, 0, 0, 8), gap=4)
        self.body = forms.page(self.rows)
        line = forms.row(self.heading, self.count, forms.REST)
        self.setLayout(forms.column(line, self.body, gap=2))
        theme.follow(self, self._paint)
        self._show(self.open)

    @property
    def whole(self) -> bool:
        """Whether all its fields are made, or none is wanted yet."""
        return self._making.over

    def show_values(self, values: Mapping[str, str]) -> None:
        self._values = values
        for name, field in self.fields.items():
            if field.text != values.get(name):
                field.show_text(values.get(name))
        self._say()

    def show_findings(self, found: Mapping[str, list[Finding]]) -> None:
        self._found = found
        for name, field in self.fields.items():
            field.show_findings(found.get(name, []))
        self._say()

    def use_versions(self, torch: str | None, triton: str | None) -> None:
        """Whose defaults are shown."""
        self._versions = torch, triton
        for field in self.fields.values():
            field.use_version(self._versions[field.setting.name.startswith("TRITON")])

    def filter(self, some: set[str] | None) -> None:
        """Show only these; None: all, as far as it is open."""
        self._some = some
        seen = any(some is None or one.name in some for one in self.settings)
        self.setVisible(seen)
        self._show(self.open if some is None else seen)
        for name, field in self.fields.items():
            field.setVisible(some is None or name in some)

    def field(self, name: str) -> Field:
        """The field of one of its settings; it is open then."""
        self.open = True
        self._show(True)
        self._make(next(one for one in self.settings if one.name == name))
        field = self.fields[name]
        field.show()
        return field

    def _toggle(self) -> None:
        self.open = not self.body.isVisibleTo(self)
        self._show(self.open)

    def _show(self, on: bool) -> None:
        if on and len(self.fields) < len(self.settings) and self._making.over:
            # What a filter asks for is seen first.
            some = self._some or set()
            for setting in sorted(self.settings, key=lambda one: one.name not in some):
                self._making.add(partial(self._make, setting))
            self._making.start()
        self.body.setVisible(on)
        state = self.tr("open") if on else self.tr("closed")
        self.heading.setAccessibleName(f"{self._title}, {state}")
        self._paint()

    def _make(self, setting: Setting) -> None:
        if setting.name in self.fields:
            return
        before = self.settings[: self.settings.index(setting)]
        at = sum(one.name in self.fields for one in before)
        field = Field(setting)
        field.use_version(self._versions[setting.name.startswith("TRITON")])
        field.show_text(self._values.get(setting.name))
        field.show_findings(self._found.get(setting.name, []))
        field.changed.connect(self.changed)
        self.fields[setting.name] = field
        self.rows.insertWidget(at, field)
        field.setVisible(self._some is None or setting.name in self._some)
        # They are reached in the order in which they stand.
        if at and (above := self.fields.get(before[-1].name)) is not None:
            QWidget.setTabOrder(above.reset, field.editor.focusProxy() or field.editor)

    def _paint(self) -> None:
        shown = self.body.isVisibleTo(self)
        self.heading.setIcon(theme.icon("open-group" if shown else "closed-group"))

    def _say(self) -> None:
        names = {one.name for one in self.settings}
        some = sum(name in names for name in self._values)
        found = list({id(x): x for name in names for x in self._found.get(name, [])}.values())
        bad = [one for one in found if one.severity != "advice"]
        set_here = self.tr("{} set").format(some) if some else ""
        self.count.setText(" · ".join(filter(None, (set_here, words.counted(bad)))))
        grave = any(one.severity == "error" for one in bad)
        forms.set_role(self.count, "error" if grave else "warning" if bad else "muted")


class Form(QWidget):
    """All settings. ``values`` is what a profile sets; all else is left to PyTorch."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self.sections: dict[str, Section] = {}
        self.box = forms.line_edit(self.tr("Filter settings"))
        self.box.setAccessibleName(self.tr("Filter settings"))
        forms.clearable(self.box)
        self.only = QCheckBox(self.tr("&Only what is set"))
        self.none = forms.label(self.tr("No setting matches."), "muted")
        self.none.setContentsMargins(8, 16, 8, 16)
        self.none.hide()
        self._rows = forms.column(self.none, forms.REST, margin=(0, 0, 12, 0), gap=4)
        self.area = forms.Area(forms.page(self._rows))
        # It is scrolled: a low window stays one, whatever is said above.
        self.area.setMinimumHeight(_LEAST)
        self.setLayout(forms.column(forms.row((self.box, 1), self.only, gap=16), (self.area, 1)))
        self.box.textChanged.connect(self._filter)
        self.only.toggled.connect(self._filter)

    def slices(self) -> Iterator[None]:
        """Make the groups, one in a slice."""

        def group(one: Setting) -> str:
            return EVERYDAY if one.name in _EVERYDAY else one.group

        for name in (EVERYDAY, *GROUPS):
            if some := [one for one in SETTINGS if group(one) == name]:
                section = self.sections[name] = Section(name, some)
                section.changed.connect(self._edited)
                self._rows.insertWidget(len(self.sections) - 1, section)
                yield

    def show_values(self, values: Mapping[str, str]) -> None:
        """Show what a profile sets; nobody has changed it then."""
        self.values = dict(values)
        for section in self.sections.values():
            section.show_values(self.values)
        if self.only.isChecked():
            self._filter()

    def apply(self, changes: Mapping[str, str | None]) -> None:
        """Change some, as if somebody had."""
        values = {**self.values, **changes}
        self.show_values({name: text for name, text in values.items() if text is not None})
        self.changed.emit()

    def show_findings(self, found: Sequence[Finding]) -> None:
        by: dict[str, list[Finding]] = {}
        for one in found:
            for name in one.settings:
                by.setdefault(name, []).append(one)
        for section in self.sections.values():
            section.show_findings(by)

    def use_versions(self, torch: str | None, triton: str | None) -> None:
        """Whose defaults are shown: those of the newest that is known, for None."""
        for section in self.sections.values():
            section.use_versions(torch, triton)

    def field(self, name: str) -> Field | None:
        """The field of a setting, which is seen then."""
        of = (x for x in self.sections.values() if any(one.name == name for one in x.settings))
        return section.field(name) if (section := next(of, None)) else None

    def go_to(self, name: str) -> None:
        if name not in self._wanted():
            self.box.clear()
            self.only.setChecked(False)
        if (field := self.field(name)) is not None:
            field.editor.setFocus(Qt.FocusReason.ShortcutFocusReason)
            # Not before what was opened for it has its place.
            QTimer.singleShot(0, field, lambda: self.area.ensureWidgetVisible(field, 0, 24))

    def _edited(self, name: str, text: str | None) -> None:
        # One that is there keeps its place, in which it is written.
        if text is None:
            self.values.pop(name, None)
        else:
            self.values[name] = text
        for section in self.sections.values():
            section.show_values(self.values)
        self.changed.emit()

    def _wanted(self) -> set[str]:
        words_ = self.box.text().casefold().split()
        return {
            one.name
            for one in SETTINGS
            if (not self.only.isChecked() or one.name in self.values)
            and all(word in f"{one.name} {tongue.tr(one.does)} {words.group(one.group)}".casefold()
                    for word in words_)
        }  # fmt: skip

    def _filter(self, *_: object) -> None:
        sought = bool(self.box.text().strip())
        some = self._wanted() if sought or self.only.isChecked() else None
        for section in self.sections.values():
            section.filter(some)
        self.none.setVisible(some is not None and not some)
        nothing = self.tr("This profile sets nothing: PyTorch's defaults apply.")
        self.none.setText(self.tr("No setting matches.") if sought else nothing)
        if some is not None and sought:
            self.box.setAccessibleDescription(say.count(len(some), "setting", "settings"))
