"""What an engine tells of one entry, checked; the words for it, and the view that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

from PySide6 import QtGui
from PySide6.QtCore import QCoreApplication, QRectF, QSize, Qt, QUrl, Signal
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from torchkeeper.artifacts.entry import VERDICTS, Entry, counted, entry_from_json, tallied
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import not_looked_at, printable
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui import theme
from torchkeeper.gui.inspector.sources import Text
from torchkeeper.gui.table.rows import verdict_words
from torchkeeper.gui.widgets.plain import Read, tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages import entries as messages

_tr = partial(QCoreApplication.translate, "Details")

#: The kind of entry that each list of needed keys names.
_NEEDS = (("fx_keys", "fxgraph"), ("code_keys", "code"), ("triton_keys", "triton"))
#: Values of one fact that are shown; the rest is counted.
_SHOWN = 12
_GRAPHS = ("graph", "backward_graph")
#: The kinds of which one tells the time of the other as well.
_OVERLAPPING = ("fxgraph", "aotautograd")
_LABELS = 108
#: Pixels around what is in a cell; headings stand as far in.
_PADDING = 3


@dataclass(frozen=True)
class Need:
    """An entry that another needs, or is needed by: its kind and key."""

    kind: str
    key: str


@dataclass(frozen=True)
class Detail:
    """One entry in full, without its long texts."""

    entry: Entry
    facts: Mapping[str, object]
    files: list[messages.EntryFile]
    needs: list[Need]
    graphs: list[Text]
    sources: list[Text]
    factors: int


def detail_of(told: messages.Detail) -> Detail:
    """A Detail from what an engine says. Raises ValueError as ``entry_from_json``."""
    texts = [Text(x["name"], _title(x["name"]), x["chars"]) for x in told["texts"]]
    found = [(kind, told["needs"].get(name, ())) for name, kind in _NEEDS]
    needs = [Need(kind, key) for kind, keys in found for key in dict.fromkeys(keys)]
    graphs = [text for text in texts if text.name in _GRAPHS]
    sources = [text for text in texts if text.name not in _GRAPHS]
    entry = entry_from_json(told["entry"])
    return Detail(entry, told["facts"], told["files"], needs, graphs, sources, told["factors"])


@dataclass(frozen=True)
class Relatives:
    """What an entry needs, and what needs it, in the whole place."""

    needs: list[Need]
    needed_by: list[Need]
    unread: int = 0


def relatives_of(told: messages.Related) -> Relatives:
    needs = [Need(*one) for one in (*told["needs"], *told["missing"])]
    return Relatives(needs, [Need(*one) for one in told["needed_by"]], told.get("unread", 0))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _title(name: str) -> str:
    shown = printable(name)
    stem, dot, ending = shown.partition(".")
    return {
        "graph": _tr("Forward graph"),
        "backward_graph": _tr("Backward graph"),
        "source": _tr("Generated module"),
        "config": _tr("Chosen configuration"),
        "metadata": _tr("Metadata"),
    }.get(name) or (f"{stem[:8]}….{ending}" if dot and len(stem) > 16 else shown)


@dataclass(frozen=True)
class Value:
    """A value of a fact. ``need`` is the entry to go to; fixed: in the fixed-width font."""

    text: str
    need: Need | None = None
    fixed: bool = False
    muted: bool = False


@dataclass(frozen=True)
class Section:
    """Facts under a title; not ``labelled``, they have the whole width."""

    title: str
    rows: list[tuple[str, list[Value]]] = field(default_factory=list)
    labelled: bool = True

    def add(self, label: str, *values: Value | str | None) -> None:
        """A fact, unless there is nothing to say."""
        made = [Value(x) if isinstance(x, str) else x for x in values if x]
        if made:
            self.rows.append((label, made))


def sections(
    entry: Entry,
    detail: Detail | None,
    listed: dict[Need, str],
    related: Relatives | None = None,
    *,
    server: bool = False,
) -> list[Section]:
    """All facts; without ``detail`` those that the row of the table tells. listed: the names of
    entries in the place, of those that are needed or need this one. related: what looking through
    the place has brought, once it is known. server: whether the place is one.
    """
    facts = detail.facts if detail else {}
    found = [_what(entry, facts), _made(entry, facts), _disk(entry, server)]
    needs = related.needs if related else detail.needs if detail else []
    found.append(_needs(_tr("Needs"), needs, listed))
    if related:
        needed_by = _needs(_tr("Needed by"), related.needed_by, listed)
        if related.unread:
            needed_by.add(_tr("Not known"), Value(not_looked_at(related.unread), muted=True))
        found.append(needed_by)
    return [section for section in found if section.rows]


def _what(entry: Entry, facts: Mapping[str, object]) -> Section:
    # Loaded here: the window starts without it.
    from torchkeeper.client.words.explaining import WORDED, tensor, told

    section = Section("")
    section.add(_tr("Function"), _text(facts.get("function"), fixed=True))
    section.add(_tr("Functions"), *_several(facts.get("functions")))
    section.add(_tr("Direction"), _text(facts.get("direction")))
    section.add(_tr("Main ops"), ", ".join(printable(str(op)) for op in _list(facts.get("ops"))))
    for fact in told(entry.kind, facts):
        section.add(_tr(fact.label), *_several(fact.values, fixed=fact.fixed))
    if "inputs" not in WORDED.get(entry.kind, ()):
        section.add(_tr("Inputs"), *_several([tensor(str(x)) for x in _list(facts.get("inputs"))]))
    section.add(_tr("Device"), printable(entry.device or ""))
    if entry.compile_s is not None:
        text = _tr("{} with its graphs") if entry.kind == "aotautograd" else "{}"
        section.add(_tr("Compile time"), text.format(say.seconds(entry.compile_s)))
    section.add(_tr("Guards"), _text(facts.get("guards"), fixed=True))
    section.add(_tr("Missing files"), *_several(facts.get("missing")))
    return section


def _made(entry: Entry, facts: Mapping[str, object]) -> Section:
    section, made = Section(_tr("Made with")), facts.get("made_in")
    made = made if isinstance(made, dict) else {}
    section.add(_tr("Torch"), _text(made.get("torch") or entry.torch or facts.get("torch")))
    section.add(_tr("Torch commit"), _text(str(made.get("torch_git") or "")[:12], fixed=True))
    section.add(_tr("Triton"), _text(facts.get("triton")))
    section.add(_tr("CUDA"), _text(made.get("cuda")))
    section.add(_tr("GPUs"), *_several(made.get("gpus"), fixed=False))
    if isinstance(made.get("threads"), int):
        section.add(_tr("CPU threads"), f"{made['threads']:,}")
    return section


def _needs(title: str, needs: Sequence[Need], listed: dict[Need, str]) -> Section:
    section, gone = Section(title), Value(_tr("not in this place"), muted=True)
    for kind in dict.fromkeys(need.kind for need in needs):
        keys = [need for need in needs if need.kind == kind]
        values = []
        for need in keys[:_SHOWN]:
            key, name = printable(need.key), listed.get(need)
            short = f"{key[:12]}…{key[-8:]}" if len(key) > 24 else key
            keyed = Value(short, fixed=True, muted=True)
            values += [keyed, gone] if name is None else [Value(name, need), keyed]
        section.add(kind_words(kind), *values, *_rest(len(keys)))
    return section


def _disk(entry: Entry, server: bool) -> Section:
    from torchkeeper.artifacts.layout import inner_cache

    section = Section(_tr("On the server") if server else _tr("On disk"))
    exact = _tr("{} bytes").format(f"{entry.size:,}")
    section.add(_tr("Content"), exact if entry.size < 1000 else f"{say.size(entry.size)} ({exact})")
    section.add(_tr("Files"), f"{entry.files:,}")
    if entry.mtime is not None:
        section.add(_tr("Last change"), f"{say.when(entry.mtime)} ({say.ago(entry.mtime)})")
    if entry.expires is not None:
        at = f"{say.when(entry.expires)} ({say.until(entry.expires)})"
        section.add(_tr("Expires"), at if entry.expires else _tr("never"))
    if entry.used is not None:
        section.add(_tr("Last used"), f"{say.when(entry.used)} ({say.ago(entry.used)})")
    if inside := inner_cache(entry.path):
        # One of several caches in the place: of a rank of vLLM, say.
        section.add(_tr("Cache inside"), Value(printable(inside, 4096), fixed=True))
    section.add(_tr("Owner"), printable(entry.owner or "", 80))
    section.add(_tr("Path"), Value(printable(entry.path, 4096), fixed=True))
    section.add(_tr("SHA-256"), _text(entry.sha256, fixed=True))
    return section


def _text(value: object, *, fixed: bool = False) -> Value | None:
    return Value(printable(value, 1000), fixed=fixed) if isinstance(value, str) and value else None


def _several(values: object, *, fixed: bool = True) -> list[Value]:
    texts = [printable(x) for x in _list(values) if isinstance(x, str)]
    return [*(Value(x, fixed=fixed) for x in texts[:_SHOWN]), *_rest(len(texts))]


def _rest(count: int) -> list[Value]:
    more = Value(_tr("and {} more").format(f"{count - _SHOWN:,}"), muted=True)
    return [more] if count > _SHOWN else []


class _Sums(dict[str, tuple[int, int]]):
    def count(self, name: str, size: int) -> None:
        entries, whole = self.get(name, (0, 0))
        self[name] = entries + 1, whole + size


class Counts:
    """Adds up a large selection a piece at a time. The compile time of entries of AOTAutograd has
    that of their graphs in it, so that both kinds together are for an engine to add up
    (``overlapping``).
    """

    def __init__(self) -> None:
        self.size = self.files = self.broken = self.orphans = 0
        #: How many entries there are of each, and their bytes.
        self.kinds, self.torches, self.verdicts = _Sums(), _Sums(), _Sums()
        self._others = 0.0
        self._graphs: dict[str, float] = dict.fromkeys(_OVERLAPPING, 0.0)
        self._timed: list[Entry] = []

    def add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.kinds.count(entry.kind, entry.size)
            self.size += entry.size
            self.files += entry.files
            self.broken += entry.broken
            self.orphans += entry.orphan is not None
            if entry.verdict is not None:
                self.verdicts.count(entry.verdict, entry.size)
            if entry.compile_s is not None:
                if entry.kind in self._graphs:
                    self._graphs[entry.kind] += entry.compile_s
                    self._timed.append(entry)
                else:
                    self._others += entry.compile_s
            if entry.torch is not None:
                self.torches.count(entry.torch, entry.size)

    @property
    def held(self) -> str:
        """How many entries there are, and what else, in words."""
        return say.held(counted({kind: count for kind, (count, _) in self.kinds.items()}))

    @property
    def overlapping(self) -> list[Entry]:
        """The entries whose time an engine has to add up; none where it is simply their sum."""
        return self._timed if all(self._graphs.values()) else []

    def compile_s(self, together: float | None = None) -> float | None:
        """Seconds of compiling; the overlapping ones took ``together``. None while unknown."""
        if not self.overlapping:
            together = sum(self._graphs.values())
        return None if together is None else self._others + together

    def sections(self, together: float | None = None, *, failed: bool = False) -> list[Section]:
        """The words for it. together: as of ``compile_s``; failed: nobody will know that."""
        kinds = Section(_tr("By kind"))
        for kind, (count, size) in sorted(self.kinds.items(), key=lambda x: -x[1][1]):
            kinds.add(kind_words(kind), f"{say.held(tallied(count, kind))} · {say.size(size)}")
        whole = Section("")
        whole.add(_tr("Content"), say.size(self.size))
        whole.add(_tr("Files"), f"{self.files:,}")
        seconds = self.compile_s(together)
        if seconds is None:
            waiting = _tr("not known") if failed else _tr("being added up…")
            whole.add(_tr("Compile time"), Value(waiting, muted=True))
        elif seconds:
            whole.add(_tr("Compile time"), say.seconds(seconds))
        whole.add(_tr("Broken"), f"{self.broken:,}" if self.broken else "")
        whole.add(_tr("Orphans"), f"{self.orphans:,}" if self.orphans else "")
        here = Section(_tr("By verdict"))
        for verdict in VERDICTS:
            if verdict in self.verdicts:
                here.add(verdict_words(verdict), _counted(*self.verdicts[verdict]))
        made = Section(_tr("By torch"))
        for torch, some in sorted(self.torches.items(), key=lambda x: -x[1][0])[:_SHOWN]:
            made.add(printable(torch), _counted(*some))
        return [section for section in (whole, here, kinds, made) if section.rows]


def _counted(entries: int, size: int) -> str:
    return f"{say.count(entries, 'entry', 'entries')} · {say.size(size)}"


class FactsView(Read):
    """Built of tables, never of HTML: what comes from a cache stays plain text."""

    #: A needed entry was clicked, or chosen with Return.
    followed = Signal(object)
    #: A link was gone to, at this many pixels from the top, in a view that is shown whole.
    reached = Signal(int)

    def __init__(self, name: str, *, whole: bool = False, margin: int = 12) -> None:
        """whole: as high as its text, in something else that scrolls."""
        super().__init__()
        self._whole = whole
        self._drawing = False
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setWordWrapMode(QtGui.QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(margin)
        self._sections: list[Section] = []
        self._needs: list[Need] = []
        self.anchorClicked.connect(self._follow)
        if whole:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.document().documentLayout().documentSizeChanged.connect(lambda *_: self._fit())
            self.cursorPositionChanged.connect(self._go)
        theme.follow(self, self._draw)

    def show_sections(self, sections: Sequence[Section]) -> None:
        """Show these facts; the place of reading stays when they are the same."""
        if list(sections) != self._sections:
            self._sections = list(sections)
            self._draw()

    def _draw(self) -> None:
        at = self.verticalScrollBar().value()
        self._needs = []
        self._drawing = True
        self.clear()
        cursor = QtGui.QTextCursor(self.document())
        for section in self._sections:
            self._heading(cursor, section.title)
            self._table(cursor, section)
            cursor.movePosition(QtGui.QTextCursor.MoveOperation.End)
        self.moveCursor(QtGui.QTextCursor.MoveOperation.Start)
        self.verticalScrollBar().setValue(at)
        self._drawing = False
        self._fit()

    def _fit(self) -> None:
        if self._whole and not self._drawing:
            self.setFixedHeight(max(1, ceil(self.document().size().height())))

    def _go(self) -> None:
        if self.hasFocus() and not self._drawing:
            self.reached.emit(self.cursorRect().center().y())

    def _heading(self, cursor: QtGui.QTextCursor, title: str) -> None:
        look, block = QtGui.QTextCharFormat(), QtGui.QTextBlockFormat()
        look.setForeground(QtGui.QColor(theme.shades().muted))
        look.setFontWeight(600)
        if not title:
            # Qt wants a line over a table; this one has no height to speak of.
            block.setLineHeight(1, QtGui.QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        cursor.setBlockFormat(block)
        cursor.insertText(title, look)

    def _table(self, cursor: QtGui.QTextCursor, section: Section) -> None:
        form = QtGui.QTextTableFormat()
        form.setBorderStyle(QtGui.QTextFrameFormat.BorderStyle.BorderStyle_None)
        form.setBorder(0)
        form.setCellPadding(_PADDING)
        form.setBottomMargin(12 if section.labelled else 0)
        form.setCellSpacing(0)
        form.setWidth(QtGui.QTextLength(QtGui.QTextLength.Type.PercentageLength, 100))
        widths = [QtGui.QTextLength(QtGui.QTextLength.Type.VariableLength, 0)]
        if section.labelled:
            widths.insert(0, QtGui.QTextLength(QtGui.QTextLength.Type.FixedLength, _LABELS))
        form.setColumnWidthConstraints(widths)
        table = cursor.insertTable(len(section.rows), len(widths), form)
        # What stands first is on one line with what is over and under this.
        edge = QtGui.QTextTableCellFormat()
        edge.setLeftPadding(0)
        muted = QtGui.QTextCharFormat()
        muted.setForeground(QtGui.QColor(theme.shades().muted))
        for row, (label, values) in enumerate(section.rows):
            first: QtGui.QTextTableCell = table.cellAt(row, 0)
            first.setFormat(edge)
            if section.labelled:
                first.firstCursorPosition().insertText(label, muted)
            into = table.cellAt(row, len(widths) - 1).firstCursorPosition()
            for number, value in enumerate(values):
                if number:
                    into.insertBlock(QtGui.QTextBlockFormat())
                into.insertText(value.text, self._look(value))

    def _look(self, value: Value) -> QtGui.QTextCharFormat:
        shades = theme.shades()
        look = QtGui.QTextCharFormat()
        if value.fixed:
            look.setFont(theme.monospace())
        look.setForeground(QtGui.QColor(shades.muted if value.muted else shades.text))
        if value.need is not None:
            look.setAnchor(True)
            look.setAnchorHref(f"need:{len(self._needs)}")
            look.setForeground(QtGui.QColor(shades.accent))
            look.setFontUnderline(True)
            look.setToolTip(tip(printable(value.need.key)))
            self._needs.append(value.need)
        return look

    def _follow(self, url: QUrl) -> None:
        number = url.path()
        if url.scheme() == "need" and number.isdigit() and int(number) < len(self._needs):
            self.followed.emit(self._needs[int(number)])


class Chip(QWidget):
    """A kind, with its mark."""

    def __init__(self) -> None:
        super().__init__()
        self._kind = "unknown"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.follow(self, self.update)

    def show_kind(self, kind: str) -> None:
        self._kind = kind
        self.setAccessibleName(self.tr("Kind: {}").format(kind_words(kind)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(kind_words(self._kind)) + 34, metrics.height() + 8)

    def paintEvent(self, _: QtGui.QPaintEvent) -> None:
        shades = theme.shades()
        painter = QtGui.QPainter(self)
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QtGui.QColor(shades.line))
        painter.setBrush(QtGui.QColor(shades.raised))
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        mark = QRectF(11, box.center().y() - 4.5, 9, 9)
        theme.rounded(painter, mark, 3, shades.kinds.get(self._kind, shades.muted))
        painter.setPen(QtGui.QColor(shades.text))
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.rect().adjusted(26, 0, -6, 0), flags, kind_words(self._kind))
