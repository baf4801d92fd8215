"""Recipes in the window: the list, the text with its faults, and choosing some to be warmed."""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, QRect, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, listed, settle, told, type_in
from torchkeeper.client.kept import verified
from torchkeeper.client.recipes import files
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.dialogs.base import ConfirmDialog, Dialog
from torchkeeper.gui.dialogs.programs import ProgramDialog
from torchkeeper.gui.dialogs.recipeedit import RecipeEditor, RecipeForm
from torchkeeper.gui.dialogs.verifying import VerifyDialog
from torchkeeper.gui.dialogs.warming import WarmDialog
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.pages.recipes import known
from torchkeeper.gui.pages.recipes.known import BUILTIN
from torchkeeper.gui.pages.recipes.page import NAME, SOURCE, VARIANTS, RecipesPage
from torchkeeper.gui.window import Window
from torchkeeper.warm.recipes.recipe import without_faults

GOOD = """\
[[callable]]
example = "models.py:small"

[matrix]
batch = [2, 4]
mode = ["default", "max-autotune"]
"""
MODELS = """\
import torch

def small(batch=2):
    return torch.nn.Linear(4, 4), (torch.randn(batch, 4),)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "recipes"
    made.mkdir()
    made.joinpath("small.toml").write_text(GOOD)
    made.joinpath("odd.toml").write_text(GOOD.replace("max-autotune", "max-autotuned"))
    made.joinpath("models.py").write_text(MODELS)
    return made


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def shown(qtbot: QtBot, window: Window) -> RecipesPage:
    """The list, once it is there."""
    window.actions_["recipes"].trigger()
    page = window.pages.page
    assert isinstance(page, RecipesPage)
    qtbot.waitUntil(lambda: page.tree.topLevelItemCount() > 0, timeout=PATIENCE)
    return page


def edited(qtbot: QtBot, window: Window, path: Path) -> RecipeEditor:
    """The text of a recipe, once it is looked at."""
    editor = window.flows.recipes.edit_recipe(str(path))
    qtbot.waitUntil(lambda: editor.looked is not None, timeout=PATIENCE)
    return editor


def drop(window: Window, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    event = QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                       Qt.KeyboardModifier.NoModifier)  # fmt: skip
    window.dropEvent(event)


def names(page: RecipesPage) -> list[str]:
    return [item.text(0) for item in page._items()]


def test_files_and_folders_are_kept_with_what_they_make(
    qtbot: QtBot, open_window: OpenWindow, folder: Path
) -> None:
    window = open_window()
    page = shown(qtbot, window)
    assert names(page) == [known.name_of("builtin")]
    assert page.blank.isVisible()
    # Who has a program and no recipe is told how the one becomes the other.
    assert page.blank.button is not None and "Run a program" in page.blank.text.text()
    click(qtbot, page.blank.button)
    (program,) = window.findChildren(ProgramDialog)
    program.reject()
    page.new.menu().actions()[0].trigger()
    assert any(one.isVisible() for one in window.findChildren(ProgramDialog))
    window.findChildren(ProgramDialog)[-1].reject()
    # So it is where somebody takes a program for a recipe.
    dialog = window.flows.warm([str(folder / "models.py")])
    qtbot.waitUntil(lambda: dialog.recipe.error is not None, timeout=PATIENCE)
    assert dialog.recipe.notice.what.text().endswith("models.py is a program, not a recipe.")
    (run,) = dialog.recipe.notice.remedies.buttons
    click(qtbot, run)
    qtbot.waitUntil(
        lambda: any(one.isVisible() for one in window.findChildren(ProgramDialog)), timeout=PATIENCE
    )
    window.findChildren(ProgramDialog)[-1].reject()
    assert page.go.isEnabled()
    assert not page.remove.isEnabled(), "the built-in one is always there"
    page.add([str(folder)])
    qtbot.waitUntil(lambda: len(names(page)) == 4, timeout=PATIENCE)
    assert names(page)[1:] == ["recipes", "odd", "small"]
    assert page.blank.title.text() == "A folder of recipes", "it has no text of its own"
    assert page.selected() == [str(folder)]
    assert page.go.text() == "&Warm all…"
    page.choose(str(folder / "small.toml"))
    chosen = page.tree.currentItem()
    assert chosen is not None
    assert chosen.text(2) == "4"
    assert page.go.isEnabled()
    assert not page.remove.isEnabled(), "it is there because its folder is"
    qtbot.waitUntil(lambda: page.text.toPlainText() == GOOD, timeout=PATIENCE)
    assert page.text.isVisible()
    assert page.text.isReadOnly()
    assert not page.verify.isEnabled(), "there is no place that it could be measured in"
    # The filter hides what it is not about, and not the folder that it is in.
    assert page.search()
    type_in(qtbot, page.box, "small")
    assert [x.text(0) for x in page._items() if not x.isHidden()] == ["recipes", "small"]
    # What is said at the right is never about what is hidden.
    assert page.selected() == [str(folder / "small.toml")]
    page.box.setText("odd")
    assert page.selected() == [str(folder / "odd.toml")] and page.name.text() == "odd: 1 fault"
    assert page.tree.currentItem() is page.tree.selectedItems()[0]
    page.box.setText("nowhere")
    assert page.selected() == [] and page.name.text() == "" and page.faults.isHidden()
    assert "“nowhere”" in page.blank.text.text() and page.blank.isVisible()
    page.box.setText("nor here")
    assert "“nor here”" in page.blank.text.text()
    assert not any(one.isEnabled() for one in (page.go, page.verify, page.edit, page.remove))
    assert page.blank.button is not None
    click(qtbot, page.blank.button)
    assert page.box.text() == "" and page.selected() == ["builtin"]
    # What is put on the list is seen, whatever is filtered.
    page.box.setText("small")
    page.add([str(folder / "odd.toml")])
    qtbot.waitUntil(lambda: page.selected() == [str(folder / "odd.toml")], timeout=PATIENCE)
    assert page.box.text() == ""
    click(qtbot, page.remove)
    qtbot.waitUntil(lambda: len(names(page)) == 4, timeout=PATIENCE)
    page.box.clear()
    assert not any(x.isHidden() for x in page._items())
    page.choose(str(folder / "odd.toml"))
    assert not page.go.isEnabled()
    assert page.name.text() == "odd: 1 fault"
    item = page.faults.topLevelItem(0)
    assert item is not None
    assert (item.text(0), item.text(1)) == ("6", "matrix.mode[1]")
    assert "max-autotuned" in item.text(2)
    # All of it can be read, in as many lines as it takes.
    faults = page.faults
    asked = faults.fontMetrics().boundingRect(
        QRect(0, 0, faults.columnWidth(2) - 12, 1), Qt.TextFlag.TextWordWrap, item.text(2)
    )
    assert asked.height() > 2 * faults.fontMetrics().height(), "it is longer than a line"
    qtbot.waitUntil(lambda: faults.visualItemRect(item).height() > asked.height())
    qtbot.waitUntil(lambda: faults.viewport().rect().contains(faults.visualItemRect(item)))
    # A fault leads to its line.
    page.faults.itemActivated.emit(item, 0)
    editor = window.findChildren(RecipeEditor)[0]
    qtbot.waitUntil(lambda: editor.text.textCursor().blockNumber() == 5, timeout=PATIENCE)
    editor.close()
    page.choose(str(folder))
    click(qtbot, page.remove)
    qtbot.waitUntil(lambda: len(names(page)) == 1, timeout=PATIENCE)
    assert recipes.listed() == []
    assert folder.joinpath("small.toml").exists()
    page.add([str(folder / "none.toml")])
    qtbot.waitUntil(page.notice.isVisible, timeout=PATIENCE)
    assert "none.toml" in page.notice.what.text()


@pytest.mark.parametrize("magnified", [1.0, 1.5])
def test_names_have_room_before_what_stands_beside_them(
    qtbot: QtBot, open_window: OpenWindow, folder: Path, magnified: float
) -> None:
    shutil.copy(folder / "small.toml", folder / "prefill.toml")
    window = open_window()
    page = shown(qtbot, window)
    page.add([str(folder)])
    qtbot.waitUntil(lambda: len(names(page)) == 5, timeout=PATIENCE)
    tree = page.tree
    # As a font that is larger; the room is what the words do not have then.
    font = tree.font()
    font.setPointSizeF(font.pointSizeF() * magnified)
    tree.setFont(font)
    seen: list[tuple[bool, bool]] = []
    for wide in (1360, 1020, 910):
        window.resize(wide, 700)
        settle(qtbot)
        alone = tree.isColumnHidden(SOURCE) and tree.isColumnHidden(VARIANTS)
        assert alone or tree.sizeHintForColumn(NAME) <= tree.columnWidth(NAME), wide
        assert tree.header().length() <= tree.viewport().width(), "nothing is scrolled to"
        for column in (SOURCE, VARIANTS):
            hidden = tree.isColumnHidden(column)
            assert hidden or tree.sizeHintForColumn(column) <= tree.columnWidth(column)
        seen.append((tree.isColumnHidden(SOURCE), tree.isColumnHidden(VARIANTS)))
    if magnified == 1.0:
        assert seen == [(False, False), (False, True), (True, True)]
    window.resize(1600, 700)
    settle(qtbot)
    assert not tree.isColumnHidden(SOURCE)
    # What the user drags stays so.
    tree.header().resizeSection(SOURCE, 130)
    window.resize(1500, 700)
    settle(qtbot)
    assert tree.columnWidth(SOURCE) == 130


@pytest.mark.slow
def test_enter_does_one_thing(qtbot: QtBot, open_window: OpenWindow, folder: Path) -> None:
    window = open_window()
    page = shown(qtbot, window)
    page.add([str(folder)])
    qtbot.waitUntil(lambda: len(page._items()) == 4, timeout=PATIENCE)

    def opened(path: Path) -> list[type]:
        page.choose(str(path))
        window.activateWindow()
        page.tree.setFocus()
        qtbot.waitUntil(page.tree.hasFocus, timeout=PATIENCE)
        QTest.keyClick(page.tree, Qt.Key.Key_Return)
        some = [x for x in window.findChildren(Dialog) if x.isVisible()]
        for one in some:
            # At once, while what it has asked for is under way.
            one.reject()
        idle(qtbot, window)
        return [type(one) for one in some]

    assert opened(folder / "small.toml") == [WarmDialog]
    assert opened(folder / "odd.toml") == [RecipeEditor]
    assert not window.findChildren(RecipeEditor)


@pytest.mark.slow
def test_recipes_that_are_dropped_on_the_window_are_kept(
    qtbot: QtBot, open_window: OpenWindow, folder: Path
) -> None:
    window = open_window()
    drop(window, folder / "small.toml")
    qtbot.waitUntil(lambda: isinstance(window.pages.page, RecipesPage), timeout=PATIENCE)
    page = window.pages.page
    assert isinstance(page, RecipesPage)
    qtbot.waitUntil(lambda: len(names(page)) == 2, timeout=PATIENCE)
    assert recipes.listed() == [str(folder / "small.toml")]
    # A folder of nothing else is one of recipes; with a cache in it, it is a place.
    drop(window, folder)
    qtbot.waitUntil(lambda: len(names(page)) == 5, timeout=PATIENCE)
    assert recipes.listed() == [str(folder / "small.toml"), str(folder)]
    assert window.places.row_of(str(folder)) < 0
    (folder / "kk").mkdir()
    (folder / "kk" / f"c{'k' * 51}.py").write_text("")
    drop(window, folder)
    listed(qtbot, window, folder)
    # What is measured there begins with what is chosen.
    assert shown(qtbot, window) is page
    page.choose(str(folder / "small.toml"))
    click(qtbot, page.verify)
    [dialog] = window.findChildren(VerifyDialog)
    assert dialog.isVisible()
    dialog.reject()
    idle(qtbot, window)


def test_for_an_exported_program_a_recipe_is_begun(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    program = tmp_path / "model.pt2"
    program.write_bytes(b"PK")
    drop(window, program)
    qtbot.waitUntil(lambda: bool(window.findChildren(RecipeEditor)), timeout=PATIENCE)
    [editor] = window.findChildren(RecipeEditor)
    assert editor.text.toPlainText() == '[[exported]]\nfile = "model.pt2"\n'
    qtbot.waitUntil(lambda: editor.looked is not None, timeout=PATIENCE)
    assert editor.looked is not None
    assert list(editor.looked.variants) == ["model"]
    assert not editor.unsaved, "nothing is lost with it"
    editor.reject()


@pytest.mark.slow
def test_a_text_is_looked_at_while_it_is_written(
    qtbot: QtBot, open_window: OpenWindow, folder: Path
) -> None:
    window = open_window()
    file = folder / "small.toml"
    editor = edited(qtbot, window, file)
    assert editor.makes.title.text() == "It makes 4 variants"
    assert editor.makes.variants.item(0).text() == "small, batch 2, default"
    assert editor.state.text() == "No faults found"
    assert not editor.save.isEnabled()
    editor.text.go_to(5, len("batch = [2, 4") + 1)
    type_in(qtbot, editor.text, ", 0.5")
    qtbot.waitUntil(lambda: editor.state.text() == "1 fault", timeout=PATIENCE)
    item = editor.faults.topLevelItem(0)
    assert item is not None
    assert (item.text(0), item.text(1)) == ("5", "matrix.batch[2]")
    assert set(editor.text._faults) == {5}
    assert not editor.go.isEnabled()
    editor.text.go_to(1)
    editor.faults.itemClicked.emit(item, 0)
    assert editor.text.textCursor().blockNumber() == 4
    # What is saved may have faults; it is written whole.
    click(qtbot, editor.save)
    qtbot.waitUntil(lambda: not editor.changed, timeout=PATIENCE)
    assert file.read_text() == GOOD.replace("[2, 4", "[2, 4, 0.5")
    assert [x.name for x in folder.iterdir() if x.name.startswith(".")] == []
    editor.text.setPlainText(GOOD.replace("[2, 4]", "[8]"))
    qtbot.waitUntil(lambda: editor.makes.title.text() == "It makes 2 variants", timeout=PATIENCE)
    # Nothing is lost unasked.
    editor.text.document().setModified(True)
    window.close()
    assert window.isVisible()
    assert editor.isVisible()
    asked = editor.findChildren(ConfirmDialog)[-1]
    click(qtbot, asked.cancel)
    assert editor.unsaved
    editor.close()
    click(qtbot, editor.findChildren(ConfirmDialog)[-1].go)
    assert not editor.isVisible()
    assert "0.5" in file.read_text()
    # Or it is saved on the way.
    editor = edited(qtbot, window, file)
    editor.text.go_to(1)
    type_in(qtbot, editor.text, "# first")
    editor.reject()
    asked = editor.findChildren(ConfirmDialog)[-1]
    click(qtbot, next(x for x in asked.findChildren(QPushButton) if x.text() == "&Save"))
    qtbot.waitUntil(lambda: not window.findChildren(RecipeEditor), timeout=PATIENCE)
    assert file.read_text().startswith("# first")


def test_what_cannot_be_written_is_told_and_nothing_is_lost(
    qtbot: QtBot, open_window: OpenWindow, folder: Path
) -> None:
    window = open_window()
    file = folder / "small.toml"
    editor = edited(qtbot, window, file)
    editor.text.setPlainText(GOOD + "# more\n")
    shutil.rmtree(folder)
    click(qtbot, editor.save)
    qtbot.waitUntil(editor.notice.isVisible, timeout=PATIENCE)
    assert editor.notice.error is not None
    assert editor.notice.error.code == "recipe-unwritable"
    assert editor.changed
    folder.mkdir()
    click(qtbot, editor.save)
    qtbot.waitUntil(lambda: not editor.changed, timeout=PATIENCE)
    assert file.read_text() == GOOD + "# more\n"
    assert not editor.notice.isVisible()
    qtbot.waitUntil(lambda: recipes.listed() == [str(file)], timeout=PATIENCE)
    editor.close()


def test_the_rest_is_what_is_not_warm_by_name(folder: Path) -> None:
    file, other = folder / "small.toml", folder / "a.toml"
    variant = "small, batch {}, {}"
    other.write_text(GOOD)
    folder.joinpath("odd.toml").unlink()
    warm = [("a", variant.format(*way)) for way in ((2, "default"), (2, "max-autotune"))]
    warm += [("small", variant.format(4, "default")), ("small", "of which nobody knows")]
    file.write_text(GOOD.replace("[2, 4]", "[1, 2, 4]"))
    found = known.wire([str(folder)], warm)
    assert found.paths == [str(other), str(file)]
    assert found.before == [("a", 2), ("small", 1)]
    # Of the first the batch of 4; of the second all but its batch of 4 by default.
    assert found.only == [2, 3, 4, 5, 6, 7, 9]
    file.unlink()
    other.write_text(GOOD.replace("[2, 4]", "[2]"))
    with pytest.raises(UserError) as told:
        known.wire([str(folder)], warm)
    assert told.value.code == "rest-gone"


def test_what_others_write_into_a_recipe_is_not_lost_unasked(
    qtbot: QtBot, open_window: OpenWindow, folder: Path
) -> None:
    window = open_window()
    file = folder / "small.toml"
    # With the ends of lines of Windows, and a space that does not break.
    content = ("# one\u00a0two\n" + GOOD).replace("\n", "\r\n").encode()
    file.write_bytes(content)
    editor = edited(qtbot, window, file)
    assert not editor.changed
    editor.text.go_to(1)
    type_in(qtbot, editor.text, "# mine ")
    theirs = content + b"# theirs\r\n"
    file.write_bytes(theirs)

    def asked() -> ConfirmDialog:
        click(qtbot, editor.save)
        qtbot.waitUntil(lambda: any(x.isVisible() for x in editor.findChildren(ConfirmDialog)),
                        timeout=PATIENCE)  # fmt: skip
        return next(x for x in editor.findChildren(ConfirmDialog) if x.isVisible())

    click(qtbot, asked().cancel)
    assert file.read_bytes() == theirs
    assert editor.unsaved
    click(qtbot, asked().go)
    qtbot.waitUntil(lambda: not editor.changed, timeout=PATIENCE)
    assert file.read_bytes() == b"# mine " + content
    # Or what is in the file wins.
    type_in(qtbot, editor.text, "# more ")
    file.write_bytes(theirs)
    dialog = asked()
    [again] = (x for x in dialog.findChildren(QPushButton) if x.text() == "&Read it again")
    click(qtbot, again)
    qtbot.waitUntil(lambda: "# theirs" in editor.text.toPlainText(), timeout=PATIENCE)
    assert not editor.changed
    editor.close()


@pytest.mark.slow
@pytest.mark.parametrize("source", known.SOURCES)
def test_a_new_recipe_begins_with_an_example(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, source: str
) -> None:
    window = open_window()
    window.flows.recipes.new_recipe(source)
    qtbot.waitUntil(lambda: bool(window.findChildren(RecipeEditor)), timeout=PATIENCE)
    [editor] = window.findChildren(RecipeEditor)
    qtbot.waitUntil(lambda: editor.looked is not None, timeout=PATIENCE)
    assert editor.looked is not None
    assert editor.looked.faults == []
    assert editor.looked.source == source
    click(qtbot, editor.save)
    dialog = next(x for x in editor.findChildren(QFileDialog) if x.isVisible())
    dialog.fileSelected.emit(str(tmp_path / "new.toml"))
    dialog.close()
    qtbot.waitUntil(lambda: editor.path != "", timeout=PATIENCE)
    assert source in tomllib.loads(tmp_path.joinpath("new.toml").read_text())
    qtbot.waitUntil(lambda: recipes.listed() == [str(tmp_path / "new.toml")], timeout=PATIENCE)
    # What it names is there, too, so that it can be warmed as it is.
    if beside := files.BESIDE[source]:
        qtbot.waitUntil(lambda: f"{beside[0]} written" in editor.where.text(), timeout=PATIENCE)
    assert {path.name for path in tmp_path.glob("*.py")} == set(beside)
    editor.close()
    assert not editor.isVisible()


@pytest.mark.slow
def test_a_recipe_lies_beside_the_file_that_was_chosen(
    qtbot: QtBot, open_window: OpenWindow, folder: Path
) -> None:
    window = open_window()
    window.flows.recipes.new_recipe(known.FORM)
    [form] = window.findChildren(RecipeForm)
    form.reference.setText("old.module:small")
    click(qtbot, form.browse)
    [dialog] = form.findChildren(QFileDialog)
    dialog.filesSelected.emit([str(folder / "models.py")])
    dialog.close()
    assert form.reference.text() == "models.py:small"
    assert form.reference.selectedText() == "small"
    click(qtbot, form.go)
    [editor] = window.findChildren(RecipeEditor)
    qtbot.waitUntil(lambda: editor.looked is not None, timeout=PATIENCE)
    click(qtbot, editor.save)
    [dialog] = editor.findChildren(QFileDialog)
    assert dialog.directory().path() == str(folder)
    assert [Path(name).name for name in dialog.selectedFiles()] == ["small.toml"]
    dialog.close()
    # One that lies somewhere names it from there, as long as it is below.
    form = RecipeForm(editor, print, GOOD, without_faults(tomllib.loads(GOOD)), str(folder.parent))
    form._name_file([str(folder / "models.py")])
    assert form.reference.text() == "recipes/models.py:small"
    form._name_file(["/elsewhere/models.py"])
    assert form.reference.text() == "/elsewhere/models.py:small"
    editor._close_surely()


@pytest.mark.parametrize(
    ("variants", "called", "name"),
    [(["small, batch 2"], "", "small.toml"), (["add.Tensor"], "", "add.toml"),
     (["train.py"], "", "train.toml"), ([], "", "recipe.toml"), (["../.."], "", "recipe.toml"),
     (["x"], "a small / model", "a-small-model.toml")],
)  # fmt: skip
def test_what_a_file_may_be_called(variants: list[str], called: str, name: str) -> None:
    assert known.Looked([], variants, called=called).file_name == name


def test_a_form_becomes_a_text(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    window.flows.recipes.new_recipe(known.FORM)
    [form] = window.findChildren(RecipeForm)
    assert not form.go.isEnabled(), "nothing is named yet"
    type_in(qtbot, form.reference, "models.py:small")
    assert form.go.isEnabled()
    assert not form.inputs.isEnabled(), "an example has its inputs"
    form.kind.setCurrentIndex(1)
    form.inputs.setPlainText("[batch, 64] float32\n[batch, 64\n3")
    assert form.wrong.isVisible()
    assert not form.go.isEnabled()
    form.inputs.setPlainText("[batch, 64] float32\n[]\n3\n0.5\ntrue\nmean")
    form.sizes.setText("batch = 1, 8; other")
    assert "other" in form.wrong.text()
    form.sizes.setText("batch = 1, 8;")
    form.device.setEditText("cpu")
    for box in (*form.modes.values(), form.dtypes["bfloat16"]):
        box.setChecked(True)
    form.dynamic.setCurrentIndex(1)
    form.gradients.setCurrentIndex(1)
    click(qtbot, form.go)
    [editor] = window.findChildren(RecipeEditor)
    qtbot.waitUntil(lambda: editor.looked is not None, timeout=PATIENCE)
    assert editor.looked is not None
    assert editor.looked.faults == []
    assert len(editor.looked.variants) == 8
    assert tomllib.loads(editor.text.toPlainText()) == {
        "callable": [{"factory": "models.py:small", "inputs": [
            {"shape": ["batch", 64], "dtype": "float32"}, {"shape": []}, 3, 0.5, True, "mean"]}],
        "matrix": {"batch": [1, 8], "mode": [
            "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]},
        "compile": {"dtype": "bfloat16", "device": "cpu", "dynamic": False, "backward": True},
    }  # fmt: skip
    # It is worth asking about.
    editor.reject()
    assert editor.isVisible()
    click(qtbot, editor.findChildren(ConfirmDialog)[-1].go)


KEPT = """\
# Of ours.
about = "it"

[[callable]]
factory = "models.py:small"  # the small one
args = { width = 2 }
inputs = [
    # What comes in.
    { shape = ["batch", 4], dtype = "float32" },
    { shape = [4], dtype = "int64", fill = "randint", low = 0, high = 9 },
    "mean",  # how
]

[matrix]
batch = [2, 4]  # small
dtype = ["bfloat16", "float32"]

[compile]
grad = false
options = { epilogue_fusion = true }
"""


@pytest.mark.slow
def test_a_recipe_is_changed_in_the_form_and_nothing_is_lost(
    qtbot: QtBot, open_window: OpenWindow, folder: Path
) -> None:
    file = folder / "kept.toml"
    file.write_text(KEPT)
    window = open_window()
    dialog = shown(qtbot, window)
    dialog.add([str(file)])
    qtbot.waitUntil(lambda: dialog.selected() == [str(file)], timeout=PATIENCE)
    dialog.fill_in.trigger()
    dialog.close()
    [editor] = window.findChildren(RecipeEditor)
    qtbot.waitUntil(lambda: bool(editor.findChildren(RecipeForm)), timeout=PATIENCE)
    [form] = editor.findChildren(RecipeForm)
    assert form.reference.text() == "models.py:small"
    assert form.inputs.toPlainText().splitlines() == [
        "[batch, 4] float32",
        '{ shape = [4], dtype = "int64", fill = "randint", low = 0, high = 9 }',
        "mean",
    ]
    assert form.sizes.text() == "batch = 2, 4"
    assert form.form.dtypes == ["bfloat16", "float32"]
    assert form.gradients.currentData() == "no-grad"
    # As it is, it stays as it is.
    click(qtbot, form.go)
    assert not editor.changed
    click(qtbot, editor.form)
    form = editor.findChildren(RecipeForm)[-1]
    form.reference.setText("models.py:large")
    form.inputs.setPlainText(form.inputs.toPlainText().replace("mean", "sum\n3"))
    form.sizes.setText("batch = 2, 8; seq = 16")
    form.dtypes["bfloat16"].setChecked(False)
    form.gradients.setCurrentIndex(1)
    form.fullgraph.setChecked(True)
    click(qtbot, form.go)
    before, after = KEPT.splitlines(), editor.text.toPlainText().splitlines()
    assert [line for line in after if line not in before] == [
        'factory = "models.py:large"  # the small one', '    "sum",  # how', "    3,",
        "batch = [2, 8]  # small", "seq = [16]", 'dtype = "float32"', "fullgraph = true",
        "backward = true",
    ]  # fmt: skip
    assert [line for line in before if line not in after] == [
        'factory = "models.py:small"  # the small one', '    "mean",  # how',
        "batch = [2, 4]  # small", 'dtype = ["bfloat16", "float32"]', "grad = false",
    ]  # fmt: skip
    # It is one step back.
    editor.text.undo()
    assert editor.text.toPlainText() == KEPT
    editor.reject()


SEVERAL = """\
[[callable]]
factory = "models.py:first"
inputs = [{ shape = ["batch", 4] }]

[[callable]]
function = "models.py:second"  # in two ways
compile = { mode = "max-autotune", grad = false, options = { a = 1 } }
calls = [
    { inputs = [{ shape = [4, 16] }] },  # short
    { inputs = [{ shape = [8, 16] }], keywords = { scale = 2.0 }, grad = true },
]

[matrix]
batch = [2, 4]

[compile]
backward = true
device = "cpu"
"""


def test_of_several_callables_each_is_shown_and_changed(qtbot: QtBot) -> None:
    taken: list[str] = []
    form = RecipeForm(
        None, lambda text, _: taken.append(text), SEVERAL, without_faults(tomllib.loads(SEVERAL))
    )
    qtbot.addWidget(form)
    form.show()
    assert [form.which.itemText(n) for n in range(form.which.count())] == [
        "1  first", "2  second, max-autotune, no grad, options, 2 calls",
    ]  # fmt: skip
    assert form.gradients.currentData() == "backward"
    form.reference.setText("models.py:third")
    form.inputs.setPlainText("[batch, 4")
    form.which.setCurrentIndex(1)
    assert form.which.currentIndex() == 0, "nobody knows what that is"
    assert form.wrong.isVisible()
    form.inputs.setPlainText("[batch, 8]")
    form.which.setCurrentIndex(1)
    assert form.reference.text() == "models.py:second"
    assert not form.inputs.isEnabled()
    assert form.inputs.toPlainText() == "1: [4, 16]\n2: [8, 16], scale = 2.0, grad = true"
    assert form.form.modes == ["max-autotune"]
    assert form.gradients.currentData() == "no-grad"
    assert "For this one alone: mode and grad." in form.about.text()
    assert "callable.compile.options" in form.about.text()
    # What all have cannot be taken from one.
    text = SEVERAL.replace('"cpu"\n', '"cpu"\nmode = "default"\n')
    other = RecipeForm(None, print, text, without_faults(tomllib.loads(text)))
    qtbot.addWidget(other)
    other.show()
    other.which.setCurrentIndex(1)
    other.modes["max-autotune"].setChecked(False)
    click(qtbot, other.go)
    assert other.isVisible()
    assert "applies to all callables" in other.wrong.text()
    # What it says of itself is changed there; what it does not, for all.
    form.gradients.setCurrentIndex(form.gradients.findData("forward"))
    form.device.setEditText("cuda")
    click(qtbot, form.go)
    assert taken == [
        SEVERAL.replace("first", "third")
        .replace('"batch", 4]', '"batch", 8]')
        .replace("grad = false, options = { a = 1 }", "options = { a = 1 }, backward = false")
        .replace('"cpu"', '"cuda"')
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "why"),
    [('[exported]\nfile = "a.pt2"\n', "The form is for a callable"),
     ('[[callable]]\nfunction = "m"\n', "Correct the faults")],
)  # fmt: skip
def test_what_the_form_cannot_show_is_for_the_text(
    qtbot: QtBot, open_window: OpenWindow, folder: Path, text: str, why: str
) -> None:
    folder.joinpath("other.toml").write_text(text)
    editor = edited(qtbot, open_window(), folder / "other.toml")
    assert not editor.form.isEnabled()
    assert why in editor.form.toolTip()
    editor.reject()


@pytest.mark.slow
def test_what_a_recipe_makes_is_said_before_it_is_warmed(
    qtbot: QtBot, open_window: OpenWindow, folder: Path
) -> None:
    window = open_window()
    recipes.add(str(folder))
    dialog = window.flows.warm([str(folder / "small.toml")])
    qtbot.waitUntil(lambda: dialog.recipe.made is not None, timeout=PATIENCE)
    assert dialog.recipe.said.text() == "4 variants"
    assert dialog.recipe.variants.count() == 4
    qtbot.waitUntil(lambda: dialog.recipe.combo.findText("recipes", Qt.MatchFlag.MatchStartsWith)
                    >= 0, timeout=PATIENCE)  # fmt: skip
    row = dialog.recipe.combo.findText("recipes", Qt.MatchFlag.MatchStartsWith)
    dialog.recipe.combo.setCurrentIndex(row)
    dialog.recipe.combo.activated.emit(row)
    qtbot.waitUntil(dialog.recipe.notice.isVisible, timeout=PATIENCE)
    assert "odd.toml, line 6" in dialog.recipe.notice.what.text()
    qtbot.waitUntil(lambda: not dialog.go.isEnabled(), timeout=PATIENCE)
    folder.joinpath("odd.toml").unlink()
    dialog.recipe.choose([str(folder)])
    qtbot.waitUntil(lambda: dialog.recipe.made is not None, timeout=PATIENCE)
    assert not dialog.recipe.notice.isVisible()
    if len(os.sched_getaffinity(0)) > 1:
        qtbot.waitUntil(dialog.jobs_at_once.isEnabled, timeout=PATIENCE)
    # Where it goes then has to be a whole path, and nothing is replaced unasked.
    then = dialog.then
    then.bundle.setChecked(True)
    then.target.file.setText("out.torchcache")
    qtbot.waitUntil(lambda: then.target.check.text().startswith("Give the whole path"))
    there = folder / "there.torchcache"
    there.write_bytes(b"x")
    then.target.file.setText(str(there))
    qtbot.waitUntil(then.target.replace.isVisible, timeout=PATIENCE)
    assert not dialog.go.isEnabled()
    then.target.replace.setChecked(True)
    qtbot.waitUntil(lambda: then.then == (str(there), ""))
    then.target.file.setText(str(folder / "none" / "x.torchcache"))
    qtbot.waitUntil(lambda: "There is no folder" in then.target.check.text(), timeout=PATIENCE)
    assert not dialog.go.isEnabled()
    then.target.file.setText(str(folder / "x.torchcache"))
    qtbot.waitUntil(lambda: then.then == (str(folder / "x.torchcache"), ""), timeout=PATIENCE)
    assert not dialog.then.publish.isEnabled(), "there is no server"
    dialog.reject()


@pytest.mark.slow
@pytest.mark.usefixtures("torch_that_waits")
def test_of_several_variants_all_runs_of_a_verification_are_prepared(
    qtbot: QtBot, open_window: OpenWindow, folder: Path
) -> None:
    dialog = open_window().flows._verify(str(folder), recipes=[str(folder / "small.toml")])
    box = dialog.runs["prepared"]
    for one in dialog.runs.values():
        one.setChecked(True)
    qtbot.waitUntil(lambda: not box.isEnabled(), timeout=PATIENCE)
    assert dialog.chosen == ["cold", "mega", "warm"]
    assert "With several variants" in box.toolTip()
    dialog.recipe.choose([BUILTIN])
    qtbot.waitUntil(box.isEnabled, timeout=PATIENCE)
    box.setChecked(True)
    assert dialog.chosen == ["cold", "mega", "warm", "prepared"]
    dialog.reject()


@pytest.mark.slow
@pytest.mark.usefixtures("torch_that_waits")
def test_what_will_go_wrong_is_said_before_it_is_warmed(
    qtbot: QtBot, open_window: OpenWindow, folder: Path
) -> None:
    window = open_window()
    file = folder / "small.toml"
    file.write_text(GOOD.replace("models.py", "gone.py"))
    dialog = window.flows.warm([str(file)])
    qtbot.waitUntil(dialog.foreseen.isVisible, timeout=PATIENCE)
    assert dialog.foreseen.said.text().startswith("4 variants would fail:\n")
    assert "gone.py" in dialog.foreseen.said.text()
    assert dialog.go.isEnabled(), "what is foreseen may be wrong"
    dialog.recipe.choose([])
    qtbot.waitUntil(lambda: not dialog.foreseen.isVisible(), timeout=PATIENCE)
    dialog.reject()


@pytest.mark.torch
@pytest.mark.slow
def test_a_recipe_is_warmed_and_goes_into_a_bundle(
    qtbot: QtBot, open_window: OpenWindow, folder: Path, tmp_path: Path, torch_python: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    folder.joinpath("odd.toml").unlink()
    text = GOOD.replace(', "max-autotune"', "") + "\n[compile]\nportable = true\n"
    bad = '\n[[callable]]\nexample = "models.py:bad"\n'
    file = folder / "small.toml"
    file.write_text(text + bad)
    models = folder / "models.py"
    wrong = "\ndef bad(batch=2):\n    return torch.nn.Linear(4, 4), (torch.randn(batch, 5),)\n"
    models.write_text(MODELS + wrong)
    place, bundle = tmp_path / "place", tmp_path / "out.torchcache"
    place.mkdir()
    window = open_window(place)
    dialog = window.flows.warm([str(file)])
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    dialog.then.bundle.setChecked(True)
    dialog.then.target.file.setText(str(bundle))
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    click(qtbot, dialog.go)
    [job] = window.jobs.jobs
    qtbot.waitUntil(lambda: not job.active, timeout=240_000)
    assert [variant.state for variant in job.variants.rows] == ["done", "done", "failed", "failed"]
    assert job.variants.rows[0].phases
    drawer = window.following.drawer
    assert told(window).startswith("Warmed, but 2 variants are not.")
    variants = drawer.detail.variants
    assert variants is not None
    assert not variants.detail.notice.isHidden()
    assert variants.detail.log.toPlainText()
    assert not bundle.exists(), "not every variant is warm"
    # What failed is warmed again, and nothing else, wherever it stands now.
    models.write_text(MODELS + wrong.replace("batch, 5", "batch, 4"))
    file.write_text(bad + text)
    click(qtbot, drawer.bad)
    again: Job = window.jobs.jobs[0]
    assert again is not job
    qtbot.waitUntil(lambda: not again.active, timeout=240_000)
    assert again.state is State.DONE, list(again.log)
    assert [(variant.index, variant.state) for variant in again.variants.rows] == [
        (0, "done"),
        (1, "done"),
    ]
    qtbot.waitUntil(bundle.exists, timeout=PATIENCE)
    idle(qtbot, window)
    assert [x.kind for x in window.jobs.jobs] == ["export", "warm", "warm"]
    qtbot.waitUntil(lambda: str(file) in verified.last_warmed(), timeout=PATIENCE)
    assert verified.last_warmed()[str(file)][1:] == (str(place), 4, 0)
