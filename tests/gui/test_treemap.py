"""The map of tiles: where they go, what is written on them, and what mouse and keys do."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, QRectF, Qt
from PySide6.QtGui import QAccessible, QColor, QFont, QHelpEvent, QImage
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from tests.gui.test_look import contrast
from torchkeeper.artifacts.entry import KINDS, VERDICTS
from torchkeeper.gui import theme
from torchkeeper.gui.theme import DARK, LIGHT, Shades, Theme
from torchkeeper.gui.treemap import layout
from torchkeeper.gui.treemap import view as painting
from torchkeeper.gui.treemap.layout import MOST, REST, Box, Tile, fold, neighbour, squarify
from torchkeeper.gui.treemap.view import Treemap

ROOM = Box(3.0, 5.0, 800.0, 300.0)
ROOMS = st.builds(
    Box,
    st.floats(-50, 50),
    st.floats(-50, 50),
    st.floats(1, 4000),
    st.floats(1, 4000),
)
SIZES = st.one_of(
    st.floats(0, 1e6),
    st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e-300, 1e300, 1e-9, 2.0**62]),
    st.integers(0, 2**62).map(float),
)


#: Who makes a tile has taken out what cannot be printed (client.words.problems.printable).
NAMES = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=40)


def _overlap(a: Box, b: Box) -> float:
    wide = min(a.right, b.right) - max(a.left, b.left)
    high = min(a.bottom, b.bottom) - max(a.top, b.top)
    return max(0.0, wide) * max(0.0, high)


@settings(max_examples=60, deadline=None)
@given(st.lists(SIZES, max_size=40), ROOMS)
def test_boxes_fill_the_room_and_do_not_overlap(sizes: list[float], room: Box) -> None:
    boxes = squarify(sizes, room)
    assert len(boxes) == len(sizes)
    assert all(math.isfinite(part) for box in boxes for part in box)
    slack = 1e-6 * max(room.width, room.height)
    for box in boxes:
        assert box.width >= 0
        assert box.height >= 0
        assert box.left >= room.left - slack
        assert box.top >= room.top - slack
        assert box.right <= room.right + slack
        assert box.bottom <= room.bottom + slack
    if sizes:
        assert sum(box.area for box in boxes) == pytest.approx(room.area, rel=1e-6)
    for number, box in enumerate(boxes):
        for other in boxes[:number]:
            assert _overlap(box, other) <= 1e-6 * room.area


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40), ROOMS)
def test_areas_are_as_the_sizes(sizes: list[float], room: Box) -> None:
    total = sum(sizes)
    for size, box in zip(sizes, squarify(sizes, room), strict=True):
        part = size / total if total > 0 else 1 / len(sizes)
        assert box.area == pytest.approx(part * room.area, rel=1e-6, abs=1e-6 * room.area)


def test_tiles_are_as_square_as_can_be() -> None:
    # The example of the paper.
    boxes = squarify([6, 6, 4, 3, 2, 2, 1], Box(0, 0, 6, 4))
    worst = max(max(box.width / box.height, box.height / box.width) for box in boxes)
    assert worst <= 3.0
    assert (boxes[0].width, boxes[0].height) == pytest.approx((3, 2))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=60))
def test_arrows_reach_every_tile(sizes: list[float]) -> None:
    boxes = squarify(sorted(sizes, reverse=True), ROOM)
    seen, ahead = {0}, [0]
    while ahead:
        at = ahead.pop()
        for way in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            there = neighbour(boxes, at, *way)
            if there not in seen:
                seen.add(there)
                ahead.append(there)
    large = {n for n, box in enumerate(boxes) if min(box.width, box.height) > 1}
    assert large <= seen


def test_an_arrow_goes_to_what_lies_beside() -> None:
    #  0 0 1
    #  0 0 2
    boxes = [Box(0, 0, 20, 20), Box(20, 0, 10, 10), Box(20, 10, 10, 10)]
    assert neighbour(boxes, 0, 1, 0) in (1, 2)
    assert neighbour(boxes, 1, 0, 1) == 2
    assert neighbour(boxes, 2, -1, 0) == 0
    assert neighbour(boxes, 0, -1, 0) == 0
    assert neighbour(boxes, 1, 0, -1) == 1


def _tiles(count: int, size: int = 1000) -> list[Tile]:
    return [Tile((str(n),), f"entry {n}", size * (count - n)) for n in range(count)]


def test_what_cannot_be_seen_is_one_tile() -> None:
    folded = fold(_tiles(5000), 800 * 300, name="{} smaller")
    assert len(folded.tiles) == MOST + 1
    assert folded.tiles[-1].name == "4,400 smaller"
    assert folded.tiles[-1].key == (REST,)
    assert sum(tile.bytes for tile in folded.tiles) == sum(tile.bytes for tile in _tiles(5000))
    assert len(folded.smaller) == 4400


def test_the_rest_is_what_is_too_small_and_what_was_left_away() -> None:
    rest = Tile(("kind", "…"), "", 50, entries=70)
    tiles = [Tile(("a",), "a", 10**9), Tile(("b",), "b", 3), Tile(("c",), "c", 2)]
    folded = fold(tiles, 800 * 300, rest, "{} smaller")
    assert [tile.name for tile in folded.tiles] == ["a", "72 smaller"]
    assert folded.tiles[-1].key == rest.key
    assert folded.tiles[-1].bytes == 55
    # It is large enough to be met.
    assert folded.sizes[-1] / sum(folded.sizes) * 800 * 300 > 400


def test_the_largest_of_very_many_can_be_seen() -> None:
    rest = Tile(("more",), "499,400 smaller", 499_400 * 1000, 499_400)
    folded = fold([Tile((str(n),), "", 1000) for n in range(MOST)], 800 * 300, rest)
    assert len(folded.tiles) == MOST + 1
    assert folded.shrunk
    assert folded.sizes[-1] == pytest.approx(sum(folded.sizes) / 4)
    small = fold(_tiles(5), 800 * 300, Tile(("more",), "12 smaller", 900, 12))
    assert not small.shrunk
    assert small.sizes[-1] == 900


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 10**15), max_size=80), st.integers(0, 10**15))
def test_no_byte_is_lost(sizes: list[int], left: int) -> None:
    tiles = [Tile((str(n),), "", size) for n, size in enumerate(sorted(sizes, reverse=True))]
    rest = Tile(("more",), "", left, 3) if left % 2 else None
    folded = fold(tiles, 800 * 300, rest)
    assert sum(tile.bytes for tile in folded.tiles) == sum(sizes) + (left if rest else 0)
    # Where nothing takes any room, nothing is drawn.
    count = len(sizes) + (3 if rest else 0) if any(sizes) or rest else 0
    assert sum(t.entries for t in folded.tiles) == count
    assert all(size >= 0 and math.isfinite(size) for size in folded.sizes)


def test_one_that_is_too_small_is_itself() -> None:
    folded = fold([Tile(("a",), "a", 10**9), Tile(("b",), "b", 1)], 800 * 300)
    assert [tile.name for tile in folded.tiles] == ["a", "b"]
    assert folded.smaller == []


def test_what_is_empty_is_counted_and_has_no_tile() -> None:
    locks = [Tile((f"lock-{n}",), "a lock", 0) for n in range(3)]
    large = Tile(("a",), "a", 10**9)
    for some, said in ((locks, "3 smaller"), (locks[:1], "1 smaller")):
        folded = fold([large, *some], 800 * 300, None, "{} smaller", "opens", "empty")
        assert [tile.name for tile in folded.tiles] == ["a", said]
        assert folded.tiles[-1].detail == "empty"
    assert fold(locks, 800 * 300).tiles == []


@pytest.mark.parametrize("shades", [LIGHT, DARK], ids=["light", "dark"])
def test_text_on_every_tile_can_be_read(shades: Shades) -> None:
    every = [layout.shade_of("kind", kind) for kind in (*KINDS, "no such")]
    every += [layout.shade_of("verdict", verdict) for verdict in (*VERDICTS, "")]
    every += [
        layout.shade_of("step", "", number, count) for count in (1, 2, 9) for number in range(count)
    ]
    for shade in (*every, "rest"):
        for depth in range(layout.DEPTHS):
            ground = layout.fill(shades, shade, depth)
            assert contrast(shades.text, ground) >= 4.5, (shade, depth)
    # What is beside each other is told apart.
    kinds = {layout.fill(shades, layout.shade_of("kind", kind)) for kind in KINDS}
    assert len(kinds) == len(KINDS)
    for which in ("usable", "stale"):
        pale = layout.fill(shades, layout.shade_of("verdict", which), layout.DEPTHS - 1)
        assert pale != layout.fill(shades, layout.shade_of("verdict", which), 0)


@settings(max_examples=60, deadline=None)
@given(st.floats(4, 400), st.floats(4, 200), NAMES, st.integers(0, 10**15))
def test_no_text_leaves_its_tile(wide: float, high: float, name: str, size: int) -> None:
    from PySide6.QtGui import QFontMetricsF

    box = QRectF(10, 20, wide, high)
    tile = Tile(("x",), name, size, 12)
    for line in painting.Writer(QFont()).lines(tile, box, "12.5%"):
        metrics = QFontMetricsF(line.font)
        assert line.at.x() + metrics.horizontalAdvance(line.text) <= box.right() - 4
        assert line.at.y() - metrics.ascent() >= box.top()
        assert line.at.y() + metrics.descent() <= box.bottom()
        assert line.text == name or "…" in line.text or line.text[0].isdigit()


@pytest.fixture
def view(qtbot: QtBot) -> Iterator[Treemap]:
    """Five tiles: one on the left, one beside it, three beside that."""
    made = Treemap()
    made.setAccessibleName("Map")
    made.resize(600, 300)
    made.show_tiles(FIVE)
    made.show()
    made.activateWindow()
    made.setFocus()
    qtbot.waitUntil(made.hasFocus)
    yield made
    made.close()
    made.deleteLater()


FIVE = [
    Tile(
        ("fxgraph",), "FX graph", 40_000_000, 1204, layout.shade_of("kind", "fxgraph"), "torch 2.13"
    ),
    Tile(("triton",), "Triton kernel", 30_000_000, 12, layout.shade_of("kind", "triton")),
    Tile(("code",), "Code", 20_000_000, 9, layout.shade_of("kind", "code")),
    Tile(("pgo",), "PGO profile", 6_000_000, 1, layout.shade_of("kind", "pgo")),
    Tile(("lock",), "Lock", 4_000_000, 3, layout.shade_of("kind", "lock")),
]


def _at(view: Treemap, name: str) -> QPoint:
    return view.box_of((name,)).center().toPoint()


def _current(view: Treemap) -> tuple[str, ...]:
    return view.current.key if view.current is not None else ()


def _press(qtbot: QtBot, view: Treemap, *keys: Qt.Key, control: bool = False) -> None:
    modifier = Qt.KeyboardModifier.ControlModifier if control else Qt.KeyboardModifier.NoModifier
    for key in keys:
        qtbot.keyClick(view, key, modifier)  # type: ignore[no-untyped-call]


def _click(
    qtbot: QtBot,
    view: Treemap,
    name: str,
    button: Qt.MouseButton = Qt.MouseButton.LeftButton,
    *,
    control: bool = False,
) -> None:
    modifier = Qt.KeyboardModifier.ControlModifier if control else Qt.KeyboardModifier.NoModifier
    qtbot.mouseClick(view, button, modifier, _at(view, name))  # type: ignore[no-untyped-call]


def test_clicks_select_and_open(qtbot: QtBot, view: Treemap) -> None:
    chosen: list[list[tuple[str, ...]]] = []
    opened: list[tuple[str, ...]] = []
    view.chosen.connect(chosen.append)
    view.opened.connect(opened.append)
    _click(qtbot, view, "triton")
    assert chosen[-1] == [("triton",)]
    _click(qtbot, view, "code", control=True)
    assert chosen[-1] == [("triton",), ("code",)]
    _click(qtbot, view, "triton", control=True)
    assert chosen[-1] == [("code",)] == view.selected
    assert opened == []
    qtbot.mouseDClick(  # type: ignore[no-untyped-call]
        view, Qt.MouseButton.LeftButton, pos=_at(view, "pgo")
    )
    assert opened == [("pgo",)]
    # Told from outside, nobody is told back.
    told = len(chosen)
    view.select([("lock",)])
    assert view.selected == [("lock",)]
    assert len(chosen) == told


def test_a_right_click_selects_what_it_is_about(qtbot: QtBot, view: Treemap) -> None:
    asked: list[QPoint] = []
    view.menu_asked.connect(asked.append)
    view.select([("code",), ("pgo",)])
    _click(qtbot, view, "pgo", Qt.MouseButton.RightButton)
    assert view.selected == [("code",), ("pgo",)]
    _click(qtbot, view, "lock", Qt.MouseButton.RightButton)
    assert view.selected == [("lock",)]
    from PySide6.QtGui import QContextMenuEvent

    where = view.mapToGlobal(QPoint(1, 1))
    QApplication.sendEvent(
        view, QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(1, 1), where)
    )
    assert asked[-1] == _at(view, "lock")


def test_keys_go_from_tile_to_tile(qtbot: QtBot, view: Treemap) -> None:
    def current() -> str:
        assert view.current is not None
        return view.current.key[0]

    chosen: list[list[tuple[str, ...]]] = []
    opened: list[tuple[str, ...]] = []
    ups: list[bool] = []
    view.chosen.connect(chosen.append)
    view.opened.connect(opened.append)
    view.up.connect(lambda: ups.append(True))
    assert current() == "fxgraph"
    seen = [current()]
    for _ in range(4):
        _press(qtbot, view, Qt.Key.Key_Right)
        seen.append(current())
    lefts = [view.box_of((name,)).left() for name in seen]
    assert lefts == sorted(lefts)
    assert len(set(seen)) >= 3
    _press(qtbot, view, Qt.Key.Key_Home)
    assert current() == "fxgraph"
    _press(qtbot, view, Qt.Key.Key_End)
    assert current() == "lock"
    _press(qtbot, view, Qt.Key.Key_Left)
    assert view.box_of((current(),)).right() <= view.box_of(("lock",)).left()
    assert chosen == []
    _press(qtbot, view, Qt.Key.Key_Home, Qt.Key.Key_Space)
    assert chosen == [[("fxgraph",)]]
    _press(qtbot, view, Qt.Key.Key_End)
    _press(qtbot, view, Qt.Key.Key_Space, control=True)
    assert chosen[-1] == [("fxgraph",), ("lock",)]
    _press(qtbot, view, Qt.Key.Key_Return)
    assert opened == [("lock",)]
    _press(qtbot, view, Qt.Key.Key_Backspace)
    assert ups == [True]


def test_up_and_down_stay_among_what_is_above_each_other(qtbot: QtBot, view: Treemap) -> None:
    view.go_to(("code",))
    _press(qtbot, view, Qt.Key.Key_Down)
    assert view.current is not None
    below = view.box_of(view.current.key)
    assert below.top() >= view.box_of(("code",)).bottom() - 1
    _press(qtbot, view, Qt.Key.Key_Up)
    assert view.current is not None
    assert view.box_of(view.current.key).bottom() <= below.top() + 1


def test_the_smaller_ones_are_behind_their_tile(qtbot: QtBot, view: Treemap) -> None:
    opened: list[tuple[str, ...]] = []
    ups: list[bool] = []
    view.opened.connect(opened.append)
    view.up.connect(lambda: ups.append(True))
    rest = Tile(("more",), "", 3_000, 700)
    view.show_tiles(_tiles(700), rest)
    drawn = len(view.tiles)
    hidden = 700 - (drawn - 1)
    assert hidden >= 100
    assert view.tiles[-1].name == f"{hidden + 700:,} smaller"
    _press(qtbot, view, Qt.Key.Key_End, Qt.Key.Key_Return)
    behind = [view.zoomed]
    assert opened == []
    assert view.tiles[0].name == f"entry {drawn - 1}"
    assert view.current == view.tiles[0]
    _press(qtbot, view, Qt.Key.Key_Backspace)
    behind.append(view.zoomed)
    assert behind == [True, False]
    assert ups == []
    assert len(view.tiles) == drawn
    _press(qtbot, view, Qt.Key.Key_Backspace)
    assert ups == [True]
    # Where nothing is behind it but what whoever made it knows, that one is asked.
    view.show_tiles(_tiles(3), Tile(("more",), "12 smaller", 3_000, 12))
    _press(qtbot, view, Qt.Key.Key_End, Qt.Key.Key_Return)
    assert opened == [("more",)]


def test_a_screen_reader_knows_it_for_a_chart(qtbot: QtBot, view: Treemap) -> None:
    known = QAccessible.queryAccessibleInterface(view)
    assert known.role() == QAccessible.Role.Chart
    assert known.text(QAccessible.Text.Name) == "Map"
    _press(qtbot, view, Qt.Key.Key_End)
    for which in (QAccessible.Text.Value, QAccessible.Text.Description):
        assert known.text(which).startswith("Lock, 4.0 MB, 3 entries")
    # One that is gone before the screen reader asks again takes nothing with it.
    for _ in range(3):
        other = Treemap()
        assert QAccessible.queryAccessibleInterface(other).role() == QAccessible.Role.Chart
        other.deleteLater()
        QApplication.sendPostedEvents(other, QEvent.Type.DeferredDelete)
        del other
        gc.collect()
    assert known.role() == QAccessible.Role.Chart


def test_a_screen_reader_hears_the_current_tile(qtbot: QtBot, view: Treemap) -> None:
    _press(qtbot, view, Qt.Key.Key_Home)
    assert view.accessibleDescription() == (
        "FX graph, 40.0 MB, 1,204 entries, 40.0%, torch 2.13, 1 of 5"
    )
    _press(qtbot, view, Qt.Key.Key_Space)
    assert ", selected, 1 of 5" in view.accessibleDescription()
    view.select([], [("fxgraph",)])
    assert ", partly selected, 1 of 5" in view.accessibleDescription()
    _press(qtbot, view, Qt.Key.Key_End)
    assert view.accessibleDescription().startswith("Lock, 4.0 MB, 3 entries")
    view.show_tiles([])
    assert view.accessibleDescription() == "Nothing to show"


@pytest.mark.qt_log_ignore("raise\\(\\)", extend=True)
def test_a_tile_is_named_where_the_pointer_rests(qtbot: QtBot, view: Treemap) -> None:
    view.hint = "A double click opens it"
    at = _at(view, "fxgraph")
    event = QHelpEvent(QEvent.Type.ToolTip, at, view.mapToGlobal(at))
    QApplication.sendEvent(view, event)
    said = QToolTip.text()
    for words in ("FX graph", "40,000,000 bytes", "40.0% of what is shown", "1,204 entries",
                  "torch 2.13", "A double click"):  # fmt: skip
        assert words in said
    QToolTip.hideText()


@pytest.mark.parametrize("tone", [Theme.LIGHT, Theme.DARK])
def test_selection_and_hover_are_seen(qtbot: QtBot, view: Treemap, tone: Theme) -> None:
    def picture() -> QImage:
        QApplication.processEvents()
        return view.grab().toImage()

    before = theme.look().theme
    theme.look().choose(tone)
    view.clearFocus()
    # The pointer is where an earlier test has left it.
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    plain = picture()
    ground = QColor(plain.pixel(_at(view, "triton")))
    # Every tile stands out from what is between them.
    assert ground.name() == layout.fill(theme.shades(), layout.shade_of("kind", "triton"))
    view.select([("triton",)])
    edge = view.box_of(("triton",)).toRect()
    outlines = {
        QColor(picture().pixel(edge.left() + inside, edge.center().y())).name()
        for inside in range(4)
    }
    assert max(contrast(colour, ground.name()) for colour in outlines) >= 4.5
    view.select([])
    assert picture() == plain

    def moved() -> bool:
        # Where it rests already it does not move.
        for at in (QPoint(0, 0), _at(view, "triton")):
            qtbot.mouseMove(view, at)  # type: ignore[no-untyped-call]
        return picture() != plain

    qtbot.waitUntil(moved)
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    qtbot.waitUntil(lambda: picture() == plain)
    theme.look().choose(before)


def test_the_current_tile_stays_when_others_come(qtbot: QtBot, view: Treemap) -> None:
    view.go_to(("code",))
    view.show_tiles([tile._replace(bytes=tile.bytes + 1) for tile in FIVE[1:]])
    assert _current(view) == ("code",)
    view.resize(300, 500)
    assert _current(view) == ("code",)
    # Where it has gone, keys begin anew.
    view.show_tiles(FIVE[:1])
    assert _current(view) == ("fxgraph",)
