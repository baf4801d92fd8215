"""Small builders that make a control whole, and choices that the wheel passes over."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from PySide6 import QtCore, QtGui, QtWidgets
from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt, QTimer
from PySide6.QtGui import QAction, QClipboard, QColor, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QBoxLayout, QLabel, QLayout, QMenu, QPushButton, QWidget

from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.widgets import plain
from torchkeeper.gui.widgets.plain import Label

#: What holds two characters in one line; nobody sees it.
_JOINER = "\u2060"
#: Between what an address begins with and its host Qt would break it.
_BEGINS, _JOINED = "://", f"://{_JOINER}"
#: Where a word may be broken that has no other place for it, and no end.
_BREAK = "\u200b"
_LONG = re.compile(r"[^\s/\\:.,;=_-]{20}(?=[^\s/\\:.,;=_-])")
_LAID = re.compile(f"[{_JOINER}{_BREAK}]")
Box = TypeVar("Box", bound=QBoxLayout)
_COPIED, _SELECTED = QClipboard.Mode.Clipboard, QClipboard.Mode.Selection


class Wrapped(Label):
    """No address is broken behind its slashes, and no word widens what is around it; what sees to
    that is neither told nor copied.
    """

    def __init__(self, text: str = "", role: str = "") -> None:
        super().__init__(text, role)
        self.setWordWrap(True)

    def text(self) -> str:
        return _LAID.sub("", super().text().replace(_JOINED, _BEGINS))

    def _laid(self, text: str) -> str:
        return _LONG.sub(rf"\g<0>{_BREAK}", text)

    def setText(self, text: str, /) -> None:
        super().setText(text.replace(_BEGINS, _JOINED))

    def selectedText(self) -> str:
        return _LAID.sub("", super().selectedText())

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        super().keyPressEvent(event)
        if event.matches(QKeySequence.StandardKey.Copy):
            _clean(_COPIED)

    def contextMenuEvent(self, event: QtGui.QContextMenuEvent) -> None:
        super().contextMenuEvent(event)
        menu = QApplication.activePopupWidget()
        if isinstance(menu, QMenu):
            # Its own items copy only after it has told of them.
            menu.triggered.connect(lambda *_: QTimer.singleShot(0, lambda: _clean(_COPIED)))

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if plain and _LAID.search(super().selectedText()):
            self.setSelection(0, 0)  # or Qt would have it dragged away as it is
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QtGui.QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if _LAID.search(super().selectedText()):
            _clean(_SELECTED)


def _clean(which: QClipboard.Mode) -> None:
    clipboard = QGuiApplication.clipboard()
    copied = clipboard.text(which)
    if _LAID.search(copied):
        clipboard.setText(_LAID.sub("", copied), which)


#: The grid everything is laid out on.
GAP = 8
#: Where the text of a check box begins.
CHECK = 26


def label(text: str, role: str = "", *, wrap: bool = False, selectable: bool = False) -> QLabel:
    """A label of plain text, never read as HTML; ``selectable``: with the mouse."""
    made = Wrapped(text, role) if wrap else plain.Label(text, role)
    if selectable:
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made


def tell(made: QLabel, text: str) -> None:
    """Show a text, and no label where there is none."""
    made.setText(text)
    made.setVisible(bool(text))


def keep_room(made: QWidget, lines: int = 0) -> None:
    """Have what comes and goes its room from the start, which is of so many lines at least."""
    policy = made.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    made.setSizePolicy(policy)
    made.setMinimumHeight(lines * made.fontMetrics().lineSpacing())


def kept(settings: QtCore.QSettings, name: str, otherwise: int) -> int:
    """A number in the settings, at least 0; ``otherwise`` where it is missing."""
    try:
        return max(0, int(str(settings.value(name, otherwise))))
    except ValueError:
        return otherwise


def selectable(made: QLabel, *, keys: bool = False) -> None:
    """Have the text of a label be selected by the mouse, and by keys."""
    by = Qt.TextInteractionFlag
    by_keys = by.TextSelectableByKeyboard if keys else by.NoTextInteraction
    made.setTextInteractionFlags(by.TextSelectableByMouse | by_keys)


def repolish(widget: QWidget) -> None:
    """Have the style sheet look again at the properties of a widget."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def set_role(made: QLabel, role: str) -> None:
    if made.property("role") != role:
        made.setProperty("role", role)
        repolish(made)


def reached(control: QWidget) -> QWidget:
    """What gets the keyboard where a control is gone to: a label goes to no other."""
    while (other := control.focusProxy()) is not None:
        control = other
    return control


def lettered(text: str, letter: str) -> str:
    """A text by one of whose letters, held with Alt, something is gone to."""
    return text.replace(letter, f"&{letter}", 1)


def with_free_letter(text: str, top: QWidget) -> str:
    """The same by the first of its letters that nothing in a dialog has; elsewhere without any."""
    if "&" in text or not isinstance(top, QtWidgets.QDialog):
        return text
    some = [one.text() for one in top.findChildren(QLabel) if not one.isHidden()]
    buttons = top.findChildren(QtWidgets.QAbstractButton)
    some += [one.text() for one in buttons if not one.isHidden()]
    taken = {QKeySequence.mnemonic(said).toString()[-1:] for said in some}
    return lettered(text, next((x for x in text if x.isalpha() and x.upper() not in taken), text))


def name_of(control: QWidget, text: str, role: str = "heading") -> QLabel:
    """The label of a control, which is its buddy and its accessible name."""
    name = label(text, role)
    name.setBuddy(reached(control))
    control.setAccessibleName(text.replace("&", ""))
    return name


def field(layout: QBoxLayout, text: str, control: QWidget, help_text: str = "") -> None:
    """A control under its label."""
    add(layout, name_of(control, text), control)
    if help_text:
        control.setAccessibleDescription(help_text)
        layout.addWidget(label(help_text, "muted", wrap=True))


def fact(layout: QtWidgets.QFormLayout, name: str, shown: QLabel) -> None:
    """A line of a list of facts: the name stands beside the first line of what is shown."""
    made = label(name, "muted")
    for one in (made, shown):
        one.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
    shown.setAccessibleName(name)
    layout.addRow(made, shown)


def list_up(where: QtWidgets.QListWidget, texts: Sequence[str]) -> None:
    """Add texts to a list, each with all of it where the pointer rests."""
    for text in texts:
        item = QtWidgets.QListWidgetItem(text)
        item.setToolTip(plain.tip(text))
        where.addItem(item)


def field_height() -> int:
    """How high a field of one line is; for spin boxes, which the style makes a little higher."""
    return QtWidgets.QComboBox().sizeHint().height()


#: The pixels of a button beside its text, as the style sheet has them; and those of the narrowest.
_BESIDE, _NARROWEST = 36, 90


class Button(QPushButton):
    """Enter presses it while it has the focus; Qt does that in dialogs only, and not with all."""

    _held: tuple[str, ...] = ()

    def hold(self, *texts: str) -> None:
        """Have room for each of these from the start, so that no button beside it moves."""
        self._held = texts
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        size = super().sizeHint()
        if self._held:
            font = QtGui.QFont(self.font())
            font.setWeight(font.Weight.DemiBold)  # as the one that goes on has it
            metrics = QtGui.QFontMetrics(font)
            texts = (one.replace("&", "") for one in (*self._held, self.text()))
            wide = max(map(metrics.horizontalAdvance, texts))
            size.setWidth(max(size.width(), wide + _BESIDE))
        # With a least width in the style sheet, a layout would give a button no more than that.
        return size if self.property("link") else size.expandedTo(QSize(_NARROWEST, 0))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)


def button(
    text: str,
    then: Callable[..., object] | None = None,
    hint: str = "",
    *,
    primary: bool = False,
    danger: bool = False,
    enter: bool = True,
) -> Button:
    """A push button. primary: it goes on; danger: it cannot be undone; enter: Enter presses it."""
    made = Button(text)
    if then is not None:
        made.clicked.connect(then)
    if hint:
        made.setToolTip(plain.tip(hint))
    made.setAccessibleName(text.replace("&", "").rstrip("…"))
    made.setProperty("primary", primary)
    made.setProperty("danger", danger)
    if not enter:
        made.setAutoDefault(False)
    return made


def allow(made: QPushButton, why_not: str) -> None:
    """Have a button be of use, or say why it is not."""
    made.setEnabled(not why_not)
    made.setToolTip(plain.tip(why_not))


def weigh(made: QPushButton, *, danger: bool) -> None:
    """Have a button stand out, or red, where it cannot be undone: then no Enter presses it."""
    if made.property("danger") != danger or made.property("primary") == danger:
        made.setProperty("primary", not danger)
        made.setProperty("danger", danger)
        repolish(made)
    made.setAutoDefault(not danger)
    if danger:
        made.setDefault(False)


def icon_button(
    name: str, hint: str, then: Callable[..., object] | None = None
) -> QtWidgets.QToolButton:
    """A small button of an icon only, with its name as tooltip and for screen readers."""
    made = QtWidgets.QToolButton()
    if then is not None:
        made.clicked.connect(then)
    made.setAutoRaise(True)
    made.setAccessibleName(hint)
    made.setToolTip(plain.tip(hint))
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.setProperty("small", True)
    theme.follow(made, lambda: made.setIcon(theme.icon(name)))
    return made


def clearable(edit: QtWidgets.QLineEdit) -> None:
    """A button in a field that empties it, drawn as all icons are."""
    edit.setClearButtonEnabled(True)
    # The name that Qt has for it since it has the button.
    if (action := edit.findChild(QAction, "_q_qlineeditclearaction")) is not None:
        theme.follow(action, lambda: action.setIcon(theme.icon("close", theme.shades().muted)))


def line_edit(hint: str) -> QtWidgets.QLineEdit:
    """A field that says what may stand in it."""
    made = QtWidgets.QLineEdit()
    made.setPlaceholderText(hint)
    return made


def read_only_text(name: str, text: str = "") -> QtWidgets.QPlainTextEdit:
    """A text to be read and copied, which Tab leaves."""
    made = QtWidgets.QPlainTextEdit(text)
    made.setReadOnly(True)
    made.setTabChangesFocus(True)
    made.setAccessibleName(name)
    return made


def progress_bar(name: str) -> QtWidgets.QProgressBar:
    """A bar without a text of its own."""
    made = QtWidgets.QProgressBar()
    made.setTextVisible(False)
    made.setAccessibleName(name)
    return made


def picture(name: str, size: int, colour: str = "muted") -> QLabel:
    """A decorative icon in a colour of the theme."""
    made = plain.Label()
    made.setFixedSize(size, size)

    def paint() -> None:
        scale = made.devicePixelRatioF()
        made.setPixmap(theme.pixmap(name, size, getattr(theme.shades(), colour), scale))

    theme.follow(made, paint)
    return made


#: What stands in a row or a column: a widget, a layout, a space of so many pixels, the room that is
#: left; or one with its stretch, or where it stands.
Part = QWidget | QLayout | int | tuple[QWidget | QLayout, int | Qt.AlignmentFlag] | None
#: Pixels at the left, the top, the right and the bottom.
Margins = tuple[int, int, int, int]
REST = None
TOP = Qt.AlignmentFlag.AlignTop


def add(layout: QBoxLayout, *parts: Part) -> None:
    """Put parts one behind the other."""
    for part in parts:
        shown, how = part if isinstance(part, tuple) else (part, 0)
        at, stretch = Qt.AlignmentFlag(0), how
        if isinstance(how, Qt.AlignmentFlag):  # which is a number to Python, too
            at, stretch = how, 0
        match shown:
            case None:
                layout.addStretch(1)
            case int():
                layout.addSpacing(shown)
            case QWidget():
                layout.addWidget(shown, stretch, at)
            case _:
                layout.addLayout(shown, stretch)


def column(*parts: Part, margin: int | Margins = 0, gap: int = GAP) -> QtWidgets.QVBoxLayout:
    """A vertical layout on the grid."""
    return _filled(QtWidgets.QVBoxLayout(), parts, margin, gap)


def row(*parts: Part, margin: int | Margins = 0, gap: int = GAP) -> QtWidgets.QHBoxLayout:
    """A horizontal layout on the grid."""
    return _filled(QtWidgets.QHBoxLayout(), parts, margin, gap)


def _filled(made: Box, parts: Sequence[Part], margin: int | Margins, gap: int) -> Box:
    made.setContentsMargins(*((margin,) * 4 if isinstance(margin, int) else margin))
    made.setSpacing(gap)
    add(made, *parts)
    return made


def page(layout: QLayout) -> QWidget:
    """A widget of what a layout holds."""
    made = QWidget()
    made.setLayout(layout)
    return made


def split(
    *parts: QWidget, sizes: Sequence[int], upright: bool = False, lined: bool = False
) -> QtWidgets.QSplitter:
    """Parts side by side, or ``upright`` one above the other; ``lined``: with a line between."""
    made = QtWidgets.QSplitter(Qt.Orientation.Vertical if upright else Qt.Orientation.Horizontal)
    made.setObjectName("" if lined else "framed")
    made.setChildrenCollapsible(False)
    for part in parts:
        made.addWidget(part)
    made.setSizes(sizes)
    return made


def stack(*pages: QWidget) -> QtWidgets.QStackedWidget:
    """One of several is shown, at first the first."""
    made = QtWidgets.QStackedWidget()
    for page in pages:
        made.addWidget(page)
    return made


def on_key(
    widget: QWidget, key: QKeySequence.StandardKey | Qt.Key, then: Callable[[], object]
) -> None:
    """Call ``then`` when a key is pressed while a widget itself has the keyboard."""
    shortcut = QShortcut(QKeySequence(key), widget)
    shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
    shortcut.activated.connect(then)


def alert(widget: QWidget) -> None:
    """Have a screen reader say at once what a widget is called."""
    from PySide6.QtGui import QAccessible, QAccessibleEvent

    QAccessible.updateAccessibility(QAccessibleEvent(widget, QAccessible.Event.Alert))


def frame(name: str, layout: QLayout) -> QtWidgets.QFrame:
    """A frame that the style sheet knows by name."""
    made = QtWidgets.QFrame()
    made.setObjectName(name)
    made.setLayout(layout)
    return made


class Wrapping(QWidget):
    """A row of controls no wider than its widest has to be, which it places itself; what is hidden
    takes no room. A layout in Python would own items that Qt deletes when a control goes, and the
    process ends when Python lets go of them as well.
    """

    def __init__(self) -> None:
        super().__init__()
        self._controls: list[QWidget] = []
        ways = QtWidgets.QSizePolicy.Policy
        policy = QtWidgets.QSizePolicy(ways.Preferred, ways.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def addWidget(self, control: QWidget) -> None:
        control.setParent(self)
        self._controls.append(control)
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int, /) -> int:
        return self._place(width, move=False)

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()

    def minimumSizeHint(self) -> QSize:
        sizes = (control.sizeHint() for control in self._shown())
        return functools.reduce(QSize.expandedTo, sizes, QSize(0, 0))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            # One of them is shown or hidden, or says something else.
            self.updateGeometry()
            self._place(self.width(), move=True)
        return super().event(event)

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place(self.width(), move=True)

    def showEvent(self, event: QtGui.QShowEvent) -> None:
        super().showEvent(event)
        self._place(self.width(), move=True)

    def _shown(self) -> list[QWidget]:
        return [control for control in self._controls if not control.isHidden()]

    def _place(self, room: int, *, move: bool) -> int:
        """How high all of it is at this width; ``move``: put it there."""
        x = y = line = 0
        for control in self._shown():
            size = control.sizeHint()
            if line and x + size.width() > room:
                x, y, line = 0, y + line + GAP, 0
            if move:
                control.setGeometry(x, y, size.width(), size.height())
            x += size.width() + GAP
            line = max(line, size.height())
        return y + line


class Compound(QWidget):
    """Controls of which one, the focus proxy, has the name of all."""

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        reached(self).setAccessibleName(name)


# Choices and numbers that the wheel passes over: it is for what is scrolled. Qt's own take each
# turn of it as a choice: whoever scrolls a form with the pointer on one would choose another
# interpreter or folder without noticing.

_Index = QModelIndex | QPersistentModelIndex
#: Pixels of the line between two parts of a list, with what is free around it.
_LINE = 9


class Choice(QtWidgets.QComboBox):
    """One of a list, chosen by a click or a key."""

    def __init__(self, characters: int = 0) -> None:
        """characters: as wide as so many, whatever it holds."""
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        if characters:
            wide = QtWidgets.QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            self.setSizeAdjustPolicy(wide)
            self.setMinimumContentsLength(characters)

    def offer(self, some: Iterable[tuple[str, object]], at: object = None) -> None:
        """Have these, each a text and what it stands for; ``at`` is chosen, else the first."""
        with QtCore.QSignalBlocker(self):
            self.clear()
            for text, value in some:
                self.addItem(text, value)
            self.setCurrentIndex(max(0, self.findData(at)))

    def choose(self, path: str) -> None:
        """Choose a path, adding it where it is not among what is offered."""
        row = self.findData(path)
        if row < 0:
            self.addItem(printable(path), path)
            row = self.count() - 1
        self.setCurrentIndex(row)

    def wheelEvent(self, event: QtGui.QWheelEvent) -> None:
        event.ignore()

    def showPopup(self) -> None:
        # The delegate of combo boxes knows no style sheet: its rows are as low as their text.
        if not isinstance(self.itemDelegate(), QtWidgets.QStyledItemDelegate):
            self.setItemDelegate(_Rows(self))
        super().showPopup()


class _Rows(QtWidgets.QStyledItemDelegate):
    def sizeHint(self, option: QtWidgets.QStyleOptionViewItem, index: _Index) -> QSize:
        wanted = super().sizeHint(option, index)
        return QSize(wanted.width(), _LINE) if _is_line(index) else wanted

    def paint(
        self, painter: QtGui.QPainter, option: QtWidgets.QStyleOptionViewItem, index: _Index
    ) -> None:
        if not _is_line(index):
            super().paint(painter, option, index)
            return
        box, line = option.rect, QColor(theme.shades().line)
        painter.fillRect(box.left(), box.center().y(), box.width(), 1, line)


def _is_line(index: _Index) -> bool:
    return bool(index.data(Qt.ItemDataRole.AccessibleDescriptionRole) == "separator")


class Number(QtWidgets.QSpinBox):
    """A number, changed by its arrows, a key or typing."""

    def __init__(self, least: int = 0, most: int = 99, name: str = "") -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setRange(least, most)
        self.setAccessibleName(name)
        # A style sheet's padding does not reach the field in it.
        self.lineEdit().setTextMargins(6, 0, 0, 0)

    def validate(self, text: str, at: int, /) -> tuple[QtGui.QValidator.State, str, int]:
        # A zero that may not be is not taken: Qt would, and put the old number back later, unseen.
        if self.minimum() > 0 and {sign for sign in text if sign.isdigit()} == {"0"}:
            return QtGui.QValidator.State.Invalid, text, at
        return super().validate(text, at)

    def wheelEvent(self, event: QtGui.QWheelEvent) -> None:
        event.ignore()


#: Pixels around what has the focus, where it is scrolled to.
_AROUND = 12


class Area(QtWidgets.QScrollArea):
    """Room for what may be larger than it."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self.setObjectName("scrolled")
        self.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        # What is in it is reached with Tab.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inside.setObjectName("scrolledInside")
        self.setWidget(inside)


class Yielding(QWidget):
    """What a layout holds, whose lists give way before it is scrolled."""

    def __init__(self, layout: QLayout) -> None:
        super().__init__()
        self.setLayout(layout)

    def heightForWidth(self, width: int, /) -> int:
        layout = self.layout()
        return layout.minimumHeightForWidth(width) if layout is not None else -1


class Scrolled(Area):
    """Scrolled where there is no room for all, to the focus; ``least`` pixels of it are seen."""

    def __init__(self, inside: QWidget, least: int = 160) -> None:
        self._inside, self._least = inside, least
        super().__init__(inside)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._show_focus)

    def needed(self, width: int) -> int:
        """How high all of it is at a width."""
        if (layout := self._inside.layout()) is None:
            return self._least
        layout.activate()
        if layout.hasHeightForWidth():
            return layout.totalHeightForWidth(width)
        return layout.totalSizeHint().height()

    def sizeHint(self) -> QSize:
        wide = self._inside.sizeHint().width()
        return QSize(wide, self.needed(max(wide, self.width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._inside.minimumSizeHint().width(), self._least)

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.updateGeometry()
        self._show_focus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        done = super().eventFilter(watched, event)
        # Asked of Qt: events still come when Python has taken what it kept of this apart.
        if watched is not self.widget():
            return done
        if event.type() == QEvent.Type.LayoutRequest:
            # Whoever shows it may have room for what it says now.
            self.updateGeometry()
        elif event.type() == QEvent.Type.Resize:
            self._show_focus()  # more is said above it by now
        return done

    def _show_focus(self) -> None:
        # Not what the signal hands over: that may be a widget of Qt's own that is being destroyed,
        # and PySide would keep a wrapper of it.
        now = QApplication.focusWidget()
        if now is not None and self.isAncestorOf(now):
            self.ensureWidgetVisible(now, _AROUND, _AROUND)
