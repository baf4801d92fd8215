"""The inspector says of a place of vLLM's what its keys are, and what makes two different."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, listed, settle
from tests.gui.test_inspector import choose, open_inspector
from tests.shots import sample_vllm
from tests.vllm import tree
from torchkeeper.artifacts.entry import Entry
from torchkeeper.engine.messages.verdicts import VllmRow
from torchkeeper.gui.inspector import vllm
from torchkeeper.gui.inspector.details import FactsView
from torchkeeper.gui.jobs.model import Selection
from torchkeeper.gui.pages.comparing.page import ComparePage
from torchkeeper.gui.table.rows import RANK, cell_text
from torchkeeper.gui.window import Window

PORT = "VLLM_P2P_SIDE_CHANNEL_PORT"


def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two keys: the second has one rank, and another port."""
    one = tree(tmp_path, {"VLLM_USE_DEEP_GEMM": "0"}, ranks=("rank_0_0", "rank_1_0"))
    next(one.glob("rank_1_0/*/*_16_16_*")).unlink()
    return one, tree(tmp_path, {"VLLM_USE_DEEP_GEMM": "0", PORT: "5601"})


def factors(window: Window, key: Path, rank: str = "rank_0_0") -> Entry:
    path = f"{key.name}/{rank}/backbone/cache_key_factors.json"
    return next(x for x in window.entries.shown() if x.path == path)


def said(qtbot: QtBot, view: FactsView, text: str) -> str:
    qtbot.waitUntil(lambda: text in view.toPlainText() and view.isVisible(), timeout=PATIENCE)
    return view.toPlainText()


def test_a_place_of_vllm_says_what_its_keys_are(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    one, other = two(tmp_path)
    window = open_inspector(qtbot, open_window, one.parent)
    text = said(qtbot, window.inspector.keys, other.name)
    assert "llama" in text
    assert "config_hash" in text
    assert "VLLM_USE_DEEP_GEMM: false" in text
    assert "rank_0_0 backbone" in text
    assert "2 for 1 to 8,192, 1 for size 16" in text
    assert "Only rank_0_0 has artifact_compile_range_16_16_subgraph_0." in text
    assert text.count(f"Only {PORT} differs (") == 1
    assert "it is in the key and cannot change code." in text
    # Of what is selected it is said, too; and none of it stays when that is something else.
    inspector = choose(qtbot, window, factors(window, other))
    text = said(qtbot, inspector.facts, f"{PORT}: 5601")
    assert one.name not in text
    start = f"{one.name}/rank_1_0/backbone/artifact_"
    piece = next(x for x in window.entries.shown() if x.path.startswith(start))
    choose(qtbot, window, piece)
    assert "Model\nllama" in said(qtbot, inspector.facts, f"Key of vLLM’s: {one.name}")
    window.table.select({factors(window, one).identity, factors(window, other).identity})
    assert f"Only {PORT} differs (" in said(qtbot, inspector.several, PORT)
    window.table.clearSelection()
    said(qtbot, inspector.keys, other.name)
    # And it follows what happens there.
    shutil.rmtree(other)
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: other.name not in inspector.keys.toPlainText(), timeout=PATIENCE)
    said(qtbot, inspector.keys, one.name)
    shutil.rmtree(one)
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(inspector.blank.isVisible, timeout=PATIENCE)


def test_ranks_are_told_apart(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    one, other = two(tmp_path)
    window = open_window(one)
    settle(qtbot)
    header = window.table.horizontalHeader()
    assert not header.isSectionHidden(RANK)
    assert [entry.kind for entry in window.entries.shown()].count("precompile") == 5
    texts = {cell_text(entry, RANK) for entry in window.entries.shown()}
    assert texts == {"rank_0_0", "rank_1_0"}
    window.actions_["group-rank"].trigger()
    qtbot.waitUntil(lambda: window.entries.grouping == "rank")
    groups = window.entries.groups
    assert [group.title for group in groups] == ["rank_0_0", "rank_1_0"]
    assert groups[0].spoken.startswith("Rank rank_0_0, 4 entries, ")
    # Above the keys, each rank is of one; in a rank, there is nothing to tell apart.
    window.open_paths([str(one.parent)])
    listed(qtbot, window, one.parent)
    settle(qtbot)
    groups = window.entries.groups
    assert [group.title for group in groups] == sorted(
        [f"rank_0_0 · {one.name}", f"rank_1_0 · {one.name}", f"rank_0_0 · {other.name}"],
        key=lambda title: title.split(" · ")[::-1],
    )
    window.open_paths([str(one / "rank_0_0")])
    listed(qtbot, window, one / "rank_0_0")
    settle(qtbot)
    assert header.isSectionHidden(RANK)
    # A bundle says it by its entries.
    bundle = tmp_path / "pod.torchcache"
    made = window.operations.export(str(one.parent), Selection(), str(bundle), secrets="allow")
    qtbot.waitUntil(lambda: not made.active, timeout=PATIENCE)
    window.places.add(str(bundle), bundle=True)
    window.places_pane.choose(str(bundle))
    listed(qtbot, window, bundle)
    settle(qtbot)
    assert not header.isSectionHidden(RANK)


def test_a_key_is_one_row_of_the_sidebar(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two(tmp_path / "vllm")
    monkeypatch.setenv("VLLM_CACHE_ROOT", str(tmp_path / "vllm"))
    window = open_window()
    rows = {x.path: x for x in window.places.places if x.reason == "vllm"}
    assert set(rows) == {str(one), str(other)}
    assert rows[str(one)].ranks == ("rank_0_0", "rank_1_0")
    assert rows[str(one)].about == "vLLM · 2 ranks"
    assert rows[str(other)].about == "vLLM · 1 rank"
    index = window.places.index(window.places.row_of(str(one)))
    assert "rank_0_0 and rank_1_0" in index.data(Qt.ItemDataRole.ToolTipRole)


@pytest.mark.parametrize(
    "what", ["cache_key_factors.json", "artifact_compile_range_16_16_subgraph_0"]
)
def test_two_keys_are_compared_on_the_page(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, what: str
) -> None:
    one, other = two(tmp_path)
    window = open_window(one.parent)
    settle(qtbot)

    def of(key: Path, rank: str = "rank_0_0") -> Entry:
        start = f"{key.name}/{rank}/backbone/{what}"
        return next(x for x in window.entries.shown() if x.path == start)

    window.table.select({of(one).identity, of(other).identity})
    settle(qtbot)
    window.actions_["compare-two"].trigger()
    page = window.pages.of("compare")
    assert isinstance(page, ComparePage)
    qtbot.waitUntil(lambda: page.found is not None, timeout=PATIENCE)
    assert page.sentence.text().startswith(f"Only {PORT} differs (")
    assert page.sentence.text().endswith("it is in the key and cannot change code")
    # The cards tell apart what has one name.
    made = {page.a.made.text(), page.b.made.text()}
    assert made == {f"rank_0_0 · {key.name} · torch_compile_cache" for key in (one, other)}
    [(factor, a, b)] = page.tree.texts()
    assert (factor, {a, b}) == (PORT, {"5710", "5601"})
    heading = page.tree.topLevelItem(0)
    assert heading is not None and heading.text(0) == "Key of vLLM (1)"
    # Ranks of a key differ in nothing that it is made of.
    if what == "cache_key_factors.json":
        window.show_page("entries")
        window.table.select({of(one).identity, of(one, "rank_1_0").identity})
        settle(qtbot)
        window.actions_["compare-two"].trigger()
        qtbot.waitUntil(lambda: page.sentence.text().startswith("The factors"), timeout=PATIENCE)
        assert page.sentence.text() == "The factors that are recorded do not differ"


def test_of_other_places_it_says_nothing(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, clean_291: Path
) -> None:
    one, other = two(tmp_path)
    window = open_inspector(qtbot, open_window, one.parent)
    said(qtbot, window.inspector.keys, other.name)
    window.open_paths([str(clean_291)])
    listed(qtbot, window, clean_291)
    settle(qtbot)
    assert window.inspector.blank.isVisible()
    assert vllm.is_place("ssh://host/home/ada/.cache/vllm/torch_compile_cache/0a1b2c3d4e/rank_0_0")
    assert vllm.is_place("/home/ada/.cache/vllm/")
    assert not any(map(vllm.is_place, ("", "/", "/home/ada/vllm/src", str(clean_291))))


def test_what_strangers_wrote_has_a_bound() -> None:
    [row, *_] = sample_vllm.rows()
    env = {f"VLLM_{'x' * 200}_{number}\x1b[2J": '"y"' for number in range(500)}
    many: list[VllmRow] = [
        {**row, "folder": f"{key}\n" * 99, "rank": f"<b>{rank}" * 99, "model": "m\r" * 500,
         "env": {**env, "VLLM_A": str(key)}}
        for key in range(20) for rank in range(40)
    ]  # fmt: skip
    found = vllm.sections(many)
    assert [one.title for one in found][-1] == ""
    assert found[-1].rows[0][1][0].text == "and 16 more"
    assert len(found) == 5
    for section in found:
        assert len(section.rows) < 40
        texts = [section.title, *(label for label, _ in section.rows)]
        texts += [value.text for _, some in section.rows for value in some]
        assert all(len(text) < 1000 and text.isprintable() for text in texts)
        assert all(len(some) <= 13 for _, some in section.rows)
