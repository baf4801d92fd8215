"""The look. Colours come from ``Shades``, whose contrast tests hold; sizes are multiples of 4."""

from __future__ import annotations

import functools
import importlib
import os.path
from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, NamedTuple

from PySide6 import QtCore, QtGui
from PySide6.QtCore import QByteArray, QDir, QObject, QPoint, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QIconEngine, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

# Icons: strokes drawn in ``resources/icons`` that take the colour of the theme.

_colours = {"normal": "#1a1d23", "disabled": "#59616d"}

#: A plain folder, as style sheets need it anyhow; importlib.resources takes long to load.
_FOLDER = os.path.join(importlib.import_module("torchkeeper.resources").__path__[0], "icons")
_SCHEME = "torchkeeper-icons"
QDir.addSearchPath(_SCHEME, _FOLDER)


def address(name: str) -> str:
    """Where a style sheet finds an icon. A path could have blanks or brackets in it."""
    return f"{_SCHEME}:{name}.svg"


@functools.cache
def _source(name: str) -> str:
    with open(os.path.join(_FOLDER, f"{name}.svg"), encoding="utf-8") as file:
        return file.read()


@functools.cache
def _pixmap(name: str, colour: str, size: int, opacity: float, scale: float) -> QPixmap:
    renderer = QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))
    made = QPixmap(round(size * scale), round(size * scale))
    made.fill(Qt.GlobalColor.transparent)
    with QPainter(made) as painter:
        painter.setOpacity(opacity)
        renderer.render(painter, QRectF(0, 0, made.width(), made.height()))
    made.setDevicePixelRatio(scale)
    return made


def pixmap(name: str, size: int, colour: str | None = None, scale: float = 1.0) -> QPixmap:
    """One icon in one size (device-independent) and colour."""
    return _pixmap(name, colour or _colours["normal"], size, 1.0, scale)


#: Engines that Qt has copied: PySide does not give them to it, and they must outlive the call.
_copies: list[QIconEngine] = []


class _Drawn(QIconEngine):
    """Draws an icon when it is shown. colour: empty for that of the theme, as it is then."""

    def __init__(self, name: str, colour: str) -> None:
        super().__init__()
        self._name, self._colour = name, colour

    def clone(self) -> QIconEngine:
        # Asked for only where a shared icon is changed, which is next to never.
        made = _Drawn(self._name, self._colour)
        _copies.append(made)
        return made

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, _state: QIcon.State) -> None:
        picture = self._picture(rect.size(), mode, painter.device().devicePixelRatioF())
        box = QRect(QPoint(), picture.deviceIndependentSize().toSize())
        box.moveCenter(rect.center())
        painter.drawPixmap(box, picture)

    def pixmap(self, size: QSize, mode: QIcon.Mode, _state: QIcon.State) -> QPixmap:
        return self._picture(size, mode, 1.0)

    def scaledPixmap(
        self, size: QSize, mode: QIcon.Mode, _state: QIcon.State, scale: float
    ) -> QPixmap:
        return self._picture(size, mode, scale)

    def _picture(self, size: QSize, mode: QIcon.Mode, scale: float) -> QPixmap:
        side = min(size.width(), size.height())
        if side <= 0:
            return QPixmap()
        if mode == QIcon.Mode.Disabled:
            return _pixmap(self._name, _colours["disabled"], side, 0.5, scale)
        return _pixmap(self._name, self._colour or _colours["normal"], side, 1.0, scale)


def icon(name: str, colour: str | None = None) -> QIcon:
    """An icon in the theme's colours, or in ``colour``, which does not follow the theme."""
    return QIcon(_Drawn(name, colour or ""))


@functools.cache
def app_icon() -> QIcon:
    """The application's own icon; Qt draws it in the sizes that are asked for."""
    return QIcon(address("torchkeeper"))


_tr = functools.partial(QtCore.QCoreApplication.translate, "Theme")


class Theme(StrEnum):
    """What the user chose under View > Theme, or in the settings."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"

    @property
    def called(self) -> str:
        """What it is called in a menu."""
        texts = _tr("Like the &system"), _tr("&Light"), _tr("&Dark")
        return texts[list(Theme).index(self)]


class Shades(NamedTuple):
    """The colours of one theme. kinds: for small marks, never for text. syntax: for the parts of
    sources (gui.inspector.code_edit.PARTS). phases: for bars (gui.matrix.phases.PHASES): those that
    follow each other are dark and light in turn.
    """

    dark: bool
    window: str
    base: str
    raised: str
    text: str
    muted: str
    line: str
    accent: str
    on_accent: str
    selected: str
    selected_quiet: str
    hover: str
    danger: str
    danger_ground: str
    warning: str
    warning_ground: str
    good: str
    good_ground: str
    kinds: dict[str, str]
    syntax: dict[str, str]
    phases: dict[str, str]

    def verdict(self, verdict: str) -> str:
        """The colour of the mark of a verdict, which has a shape of its own as well."""
        return {
            "usable": self.good,
            "conditional": self.accent,
            "unsafe": self.warning,
            "stale": self.warning,
            "broken": self.warning,
        }.get(verdict, self.muted)


#: Each colour in the light theme, and in the dark one.
_COLOURS = {
    "window": ("#f4f5f8", "#1c1f26"),
    "base": ("#ffffff", "#15171c"),
    "raised": ("#fbfbfd", "#1b1e25"),
    "text": ("#1a1d23", "#e8eaee"),
    "muted": ("#59616d", "#a3abb8"),
    "line": ("#d6dae2", "#363c47"),
    "accent": ("#3451d1", "#9db1ff"),
    "on_accent": ("#ffffff", "#10162b"),
    "selected": ("#dbe3ff", "#2a386b"),
    "selected_quiet": ("#e6e9f0", "#2b313c"),
    "hover": ("#eceff6", "#282d37"),
    # What cannot be undone, and code of strangers; nothing else is red.
    "danger": ("#b3261e", "#ff9c94"),
    "danger_ground": ("#fdeceb", "#3a1f20"),
    "warning": ("#8a5300", "#f2bd62"),
    "warning_ground": ("#fbf0dc", "#36290f"),
    "good": ("#1b6e3c", "#86d9a3"),
    "good_ground": ("#e6f4ea", "#1b3326"),
}
_KINDS = {
    "fxgraph": ("#3451d1", "#8ea5ff"),
    "aotautograd": ("#7b3fc4", "#c39bff"),
    "code": ("#0b7a75", "#4fd1c5"),
    "triton": ("#c2410c", "#ff9a5c"),
    "autotune": ("#a06800", "#e8b54a"),
    "pgo": ("#b5256e", "#ff8ac0"),
    "precompile": ("#1d6fa5", "#6cc4f5"),
    "aoti_eager": ("#8a4b2a", "#e0a184"),
    "ondisk": ("#4d7a1f", "#a9d46f"),
    "jit": ("#5b4bb0", "#b3a6f2"),
    "header": ("#5f6b7a", "#9aa6b6"),
    "lock": ("#7a808a", "#8b929d"),
    "unknown": ("#75602a", "#d3bd84"),
}
_SYNTAX = {
    "comment": ("#5d6673", "#a3abb8"),
    "string": ("#1b6e3c", "#86d9a3"),
    "number": ("#9a4a00", "#f2bd62"),
    "keyword": ("#7b3fc4", "#c9a6ff"),
    "name": ("#2f4cc4", "#9db1ff"),
    "special": ("#a8225f", "#ff8ac0"),
}
_PHASES = {
    "dynamo": ("#2743a6", "#5573f0"),
    "pre_grad": ("#c98500", "#ffd166"),
    "joint": ("#6a2f96", "#a45fd6"),
    "partition": ("#1f9c8c", "#86efdc"),
    "post_grad": ("#7a4a1e", "#bd7f45"),
    "codegen": ("#4a90e2", "#a6d3ff"),
    "build": ("#1e5b3a", "#2f9e62"),
    "other": ("#868e9a", "#c6ccd6"),
}


def _shades(dark: bool) -> Shades:
    kinds, syntax, phases = (
        {name: pair[dark] for name, pair in some.items()} for some in (_KINDS, _SYNTAX, _PHASES)
    )
    colours = {name: pair[dark] for name, pair in _COLOURS.items()}
    return Shades(dark, **colours, kinds=kinds, syntax=syntax, phases=phases)


LIGHT, DARK = _shades(False), _shades(True)


def palette(shades: Shades) -> QPalette:
    """The Qt palette of one theme."""
    made, role = QPalette(), QPalette.ColorRole
    for colour, roles in (
        (shades.window, (role.Window,)),
        (shades.base, (role.Base,)),
        (shades.raised, (role.AlternateBase, role.Button, role.ToolTipBase, role.Light)),
        (shades.text, (role.WindowText, role.Text, role.ButtonText, role.ToolTipText)),
        (shades.text, (role.HighlightedText,)),
        (shades.muted, (role.PlaceholderText,)),
        (shades.warning, (role.BrightText,)),
        (shades.selected, (role.Highlight,)),
        (shades.accent, (role.Link, role.LinkVisited, role.Accent)),
        (shades.line, (role.Midlight, role.Mid, role.Dark, role.Shadow)),
    ):
        for which in roles:
            made.setColor(which, QColor(colour))
    made.setColor(QPalette.ColorGroup.Inactive, role.Highlight, QColor(shades.selected_quiet))
    faded = _faded(shades)
    for which in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, which, faded)
    return made


def _faded(shades: Shades) -> QColor:
    made = QColor(shades.muted)
    made.setAlphaF(0.6)
    return made


def _style_sheet(s: Shades) -> str:
    tone = "dark" if s.dark else "light"
    chevron = address(f"chevron-{tone}")
    # The other theme's: it stands on the ground of a menu, not on the accent.
    mark = address("check-light" if s.dark else "check-dark")
    faded = _faded(s)
    dim = f"rgba({faded.red()},{faded.green()},{faded.blue()},{faded.alphaF():.2f})"
    return f"""
QToolTip {{ background: {s.raised}; color: {s.text}; border: 1px solid {s.line}; padding: 4px; }}
QMenuBar {{ background: {s.window}; padding: 2px 4px; }}
QMenuBar::item {{ padding: 4px 8px; border-radius: 4px; }}
QMenuBar::item:selected {{ background: {s.hover}; }}
QMenu {{ background: {s.base}; border: 1px solid {s.line}; padding: 4px; }}
QMenu::item {{ padding: 6px 24px 6px 8px; border-radius: 4px; margin: 0 2px; }}
QMenu::item:selected {{ background: {s.selected}; color: {s.text}; }}
QMenu::item:disabled {{ color: {dim}; }}
QMenu::icon {{ padding-left: 8px; }}
QMenu::indicator {{ width: 14px; height: 14px; margin-left: 6px; }}
QMenu::indicator:checked {{ image: url({mark}); }}
QMenu::right-arrow {{ image: url({address("chevron-right-" + tone)}); width: 12px;
    height: 12px; margin-right: 6px; }}
QMenu::separator {{ height: 1px; background: {s.line}; margin: 4px 8px; }}
QToolBar {{ background: {s.window}; border: none; border-bottom: 1px solid {s.line};
    padding: 8px; spacing: 4px; }}
QToolBar::separator {{ background: {s.line}; width: 1px; margin: 6px 6px; }}
QToolButton {{ padding: 6px 10px; border: 1px solid transparent; border-radius: 6px; }}
QToolButton[small="true"], QToolButton#adder {{ padding: 4px; }}
QToolBar QToolButton {{ padding-right: 2px; }}
QToolButton:hover {{ background: {s.hover}; }}
QToolButton:pressed {{ background: {s.selected_quiet}; }}
QToolButton:focus {{ border-color: {s.accent}; }}
QToolButton:disabled {{ color: {dim}; }}
QPushButton {{ background: {s.raised}; border: 1px solid {s.line}; border-radius: 6px;
    padding: 6px 16px; outline: none; }}
QPushButton:hover {{ background: {s.hover}; }}
QPushButton:pressed {{ background: {s.selected_quiet}; }}
QPushButton:focus {{ border: 1px solid {s.accent}; }}
QPushButton:disabled {{ color: {dim}; background: {s.window}; }}
QPushButton[primary="true"]:enabled {{ background: {s.accent}; color: {s.on_accent};
    border-color: {s.accent}; font-weight: 600; }}
QPushButton[primary="true"]:enabled:focus {{ border: 2px solid {s.text}; padding: 5px 15px; }}
QPushButton[link="true"] {{ background: transparent; border: 1px solid transparent;
    color: {s.accent}; padding: 2px 6px; }}
QPushButton#crumb[link="true"] {{ padding: 2px 3px; }}
QPushButton[link="true"]:hover {{ background: {s.hover}; }}
QPushButton[danger="true"]:enabled {{ color: {s.danger}; border-color: {s.danger}; }}
QPushButton[danger="true"]:enabled:focus {{ border: 2px solid {s.danger}; padding: 5px 15px; }}
QLineEdit, QComboBox, QSpinBox {{ background: {s.base}; border: 1px solid {s.line};
    border-radius: 6px; padding: 5px 8px; min-height: 20px; selection-background-color: {s.accent};
    selection-color: {s.on_accent}; }}
QPushButton[link="true"]:focus, QLineEdit:focus, QComboBox:focus, QSpinBox:focus {{
    border: 1px solid {s.accent}; }}
QLineEdit[wrong="true"] {{ border: 1px solid {s.warning}; }} QCheckBox {{ spacing: 8px; }}
QTreeView::indicator, QListView::indicator, QCheckBox::indicator {{
    border: 1px solid {s.muted}; border-radius: 4px; }}
QCheckBox::indicator {{ width: 16px; height: 16px; background: {s.base}; }}
QTreeView::indicator:checked, QListView::indicator:checked {{ image: url({mark}); }}
QTreeView::indicator:indeterminate {{ background: {s.muted}; }}
QCheckBox::indicator:focus {{ border-color: {s.accent}; }}
QCheckBox::indicator:checked {{ background: {s.accent}; border-color: {s.accent};
    image: url({address("check-" + tone)}); }}
QComboBox::drop-down {{ border: none; width: 24px; }}
QComboBox::down-arrow {{ image: url({chevron}); width: 12px; height: 12px; }}
QSpinBox::up-button, QSpinBox::down-button {{ border: none; width: 20px; background: none; }}
QSpinBox::up-arrow {{ image: url({address("chevron-up-" + tone)}); width: 10px; height: 10px; }}
QSpinBox::down-arrow {{ image: url({chevron}); width: 10px; height: 10px; }}
QComboBox::down-arrow:disabled, QSpinBox::down-arrow:disabled {{
    image: url({address("chevron-off-" + tone)}); }}
QSpinBox::up-arrow:disabled {{ image: url({address("chevron-up-off-" + tone)}); }}
QComboBox QAbstractItemView {{ background: {s.base}; border: 1px solid {s.line}; padding: 4px; }}
QComboBox QAbstractItemView::item {{ min-height: 26px; padding: 0 6px; }}
QTableView, QListView, QPlainTextEdit, QTreeView {{ background: {s.base};
    border: 1px solid {s.line}; border-radius: 3px; outline: none;
    alternate-background-color: {s.raised}; }}
QTableView#entries, QListView#places, QListView#goto, QListView#environments, QListView#targets,
QListView#jobs, QListView#picks, QTableView#rows {{ border: none; border-radius: 0; }}
QPlainTextEdit#code {{ border-color: {s.base}; border-radius: 0; }}
QTextBrowser {{ background: {s.base}; border: none; }}
QAbstractScrollArea::corner {{ background: {s.base}; border: none; }}
QTabWidget::pane {{ border: none; border-top: 1px solid {s.line}; }}
QTabBar {{ qproperty-drawBase: 0; }}
QTabBar::tab {{ color: {s.muted}; padding: 6px 10px; border: 1px solid transparent;
    border-bottom: 2px solid transparent; }}
QTabBar::tab:hover {{ color: {s.text}; }}
QTabBar::tab:selected {{ color: {s.text}; border-bottom: 2px solid {s.accent}; }}
QTabBar::tab:selected:focus {{ border-color: {s.accent}; }}
QTabWidget::tab-bar {{ left: 8px; }}
QListView#places, QListView#goto, QListView#environments, QListView#targets,
QWidget#sideInside, QScrollArea#sideArea {{ background: {s.window}; border: none; }}
QScrollArea#scrolled, QWidget#scrolledInside {{ background: transparent; border: none; }}
QScrollArea#moved {{ border: 1px solid transparent; }}
QScrollArea#moved:focus {{ border: 1px solid {s.accent}; border-radius: 6px; }}
QFrame#sideLine {{ background: {s.line}; border: none; }}
QToolButton#chip {{ padding: 2px 8px; border-color: {s.line}; border-radius: 10px; }}
QToolButton#fold {{ color: {s.muted}; font-weight: 600; padding: 4px 6px; text-align: left; }}
QToolButton#fold:hover {{ color: {s.text}; }}
QToolButton#fold:focus, QToolButton#chip:focus {{ border-color: {s.accent}; }}
QToolButton#fold[aimed="true"] {{ background: {s.hover}; border: 2px solid {s.accent}; }}
QToolButton#adder::menu-indicator {{ image: none; width: 0; }}
QListWidget {{ padding: 4px 0; }}
QListWidget::item {{ padding: 3px 8px; }}
QTableView::item {{ padding: 0 5px; border: none; }}
QTableView:focus, QListView:focus, QPlainTextEdit:focus, QTreeView:focus,
QPlainTextEdit#code:focus {{ border: 1px solid {s.accent}; }}
QTreeView::item {{ padding: 4px 6px; }}
QHeaderView {{ background: {s.raised}; border: none; }}
QHeaderView::section {{ background: {s.raised}; color: {s.muted}; border: none;
    border-bottom: 1px solid {s.line}; padding: 6px 8px; font-weight: 600; }}
QHeaderView::section:hover {{ color: {s.text}; background: {s.hover}; }}
QHeaderView::up-arrow, QHeaderView::down-arrow {{ image: none; width: 0; height: 0; }}
QTableCornerButton::section {{ background: {s.raised}; border: none; }}
QScrollBar:vertical {{ background: transparent; width: 12px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 12px; margin: 0; }}
QScrollBar::handle {{ background: {s.line}; border-radius: 4px; margin: 2px; }}
QScrollBar::handle:vertical {{ min-height: 32px; }}
QScrollBar::handle:horizontal {{ min-width: 32px; }}
QScrollBar::handle:hover {{ background: {s.muted}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: none; }}
QSplitter::handle {{ background: {s.line}; }}
QSplitter::handle:horizontal {{ width: 1px; }}
QSplitter::handle:vertical {{ height: 1px; }}
QSplitter#framed::handle {{ background: transparent; }}
QSplitter#framed::handle:horizontal {{ width: 8px; }}
QSplitter#framed::handle:vertical {{ height: 8px; }}
QStatusBar {{ background: {s.window}; border-top: 1px solid {s.line}; }}
QStatusBar::item {{ border: none; }}
QStatusBar QLabel {{ padding: 4px 8px; }}
QToolButton#count {{ padding: 2px 0 2px 6px; border-radius: 4px; }}
QToolButton#count:checked, QToolButton#chip:checked {{ background: {s.selected}; }}
QToolButton#environment {{ padding-right: 24px; }}
QToolButton#beside {{ padding: 1px 6px 1px 0; border-radius: 4px;
    color: {s.muted}; }}
QToolButton#beside:hover, QToolButton#beside:checked {{ color: {s.text}; }}
QToolButton::menu-indicator {{ image: url({chevron}); width: 12px; height: 12px;
    subcontrol-origin: padding; subcontrol-position: center right; right: 8px; }}
QProgressBar {{ background: {s.selected_quiet}; border: none; border-radius: 3px;
    max-height: 6px; min-height: 6px; }}
QProgressBar::chunk {{ background: {s.accent}; border-radius: 3px; }}
QFrame#pane {{ background: {s.base}; border: none; }}
QFrame#drawer {{ background: {s.base}; border: none; border-top: 2px solid {s.accent}; }}
QFrame#side {{ background: {s.window}; border: none; }}
QFrame#errorBar, QFrame#ownersBar {{ background: {s.raised}; border: none;
    border-bottom: 1px solid {s.warning}; }}
QFrame#noteBar {{ background: {s.raised}; border: none; border-bottom: 1px solid {s.line}; }}
QFrame#guideBar {{ background: {s.selected}; border: none; border-bottom: 1px solid {s.accent}; }}
QFrame#undoBar {{ background: {s.good_ground}; border: none; border-bottom: 1px solid {s.good}; }}
QFrame#notice {{ background: {s.danger_ground}; border: 1px solid {s.danger}; border-radius: 6px; }}
QFrame#problem {{ background: {s.raised}; border: 1px solid {s.warning}; border-radius: 6px; }}
QFrame#hint QPushButton#go {{ padding: 6px 8px; }}
QFrame#card {{ background: {s.base}; border: 1px solid {s.line}; border-radius: 6px; }}
QFrame#hint {{ background: {s.raised}; border: 1px solid {s.line}; border-radius: 6px; }}
QLabel[role="title"] {{ font-size: 15pt; font-weight: 600; }}
QLabel[role="figure"] {{ font-size: 18pt; font-weight: 600; }}
QLabel[role="heading"], QLabel[role="section"] {{ font-weight: 600; }}
QLabel[role="section"], QLabel[role="muted"] {{ color: {s.muted}; }}
QLabel[role="danger"] {{ color: {s.danger}; }}
QLabel[role="error"], QLabel[role="warning"] {{ color: {s.warning}; }}
QLabel[role="good"] {{ color: {s.good}; }}
"""


class Look(QObject):
    """Puts a theme on the application and tells widgets when it changes."""

    changed = Signal()

    #: The application's, once it is made. To look for it among what Qt has made would have PySide
    #: make the types of all that: 5 ms.
    current: ClassVar[Look | None] = None

    def __init__(
        self, app: QApplication, theme: Theme = Theme.SYSTEM, *, dressed: bool = True
    ) -> None:
        """dressed: with the style sheet on, rather than when ``dress`` is called. Under one, all in
        a widget is polished whenever it gets a parent: half of the time that the first window
        takes.
        """
        super().__init__(app)
        Look.current = self
        self._app, self._dressed = app, dressed
        self.shades = LIGHT
        font = app.font()  # no text under 11 pixels, whatever the desktop says
        if 0 < font.pixelSize() < 13:
            font.setPixelSize(13)
        elif 0 < font.pointSizeF() < 10:
            font.setPointSizeF(10)
        app.setFont(font)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._system_changed)
        self.choose(theme)

    def choose(self, theme: Theme) -> None:
        self.theme = theme
        schemes = Qt.ColorScheme
        scheme = {Theme.LIGHT: schemes.Light, Theme.DARK: schemes.Dark}.get(theme, schemes.Unknown)
        # So that the window's own frame follows, where the platform can.
        QGuiApplication.styleHints().setColorScheme(scheme)
        self._apply()

    def dress(self) -> None:
        """Put the style sheet on, if it is not yet."""
        if not self._dressed:
            self._dressed = True
            self._put_on()

    def _system_changed(self) -> None:
        if self.theme is Theme.SYSTEM:
            self._apply()

    def _apply(self) -> None:
        system_dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        dark = self.theme is Theme.DARK or (self.theme is Theme.SYSTEM and system_dark)
        self.shades = DARK if dark else LIGHT
        _colours.update(normal=self.shades.text, disabled=self.shades.muted)
        self._app.setPalette(palette(self.shades))
        if self._dressed:
            self._put_on()
        self.changed.emit()

    def _put_on(self) -> None:
        sheet = _style_sheet(self.shades)
        # Qt would polish every widget once more, which takes a second where all pages are made.
        if sheet != self._app.styleSheet():
            self._app.setStyleSheet(sheet)


def look() -> Look:
    """The application's Look; made on first use."""
    if Look.current is not None:
        return Look.current
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return Look(app)


def shades() -> Shades:
    """The colours in use."""
    return look().shades


class _Follower(QObject):
    """Is a child of what it paints: Qt deletes both together; no signal reaches it from then on."""

    def __init__(self, painted: QObject, repaint: Callable[[], object]) -> None:
        super().__init__(painted)
        self._repaint = repaint

    @Slot()
    def paint(self) -> None:
        # An error in here is told as any bug is, and stops no other follower: each is called by Qt.
        self._repaint()


def follow(painted: QObject, repaint: Callable[[], object], *, now: bool = True) -> None:
    """Call ``repaint`` now and whenever the theme changes, for as long as what it paints lives."""
    if now:
        repaint()
    look().changed.connect(_Follower(painted, repaint).paint)


def rounded(painter: QPainter, box: QRect | QRectF, corner: float, colour: str) -> None:
    """Fill a box that has round corners."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawRoundedRect(box, corner, corner)


@functools.lru_cache(maxsize=64)
def dot(colour: str, scale: float, around: int = 0) -> QPixmap:
    """A small mark of a colour, with so many pixels of nothing around it."""
    size = 10 + 2 * around
    made = QPixmap(round(size * scale), round(size * scale))
    made.setDevicePixelRatio(scale)
    made.fill(Qt.GlobalColor.transparent)
    with QPainter(made) as painter:
        rounded(painter, QRect(around, around, 10, 10), 3, colour)
    return made


def monospace() -> QtGui.QFont:
    """The font for keys, paths and logs."""
    font = QtGui.QFontDatabase.systemFont(QtGui.QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(max(9.0, QApplication.font().pointSizeF() - 0.5))
    return font
