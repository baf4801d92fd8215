"""Writing recipes and putting them on the list: each dialog is loaded when it is first opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QDir, QObject, Signal

from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.pages.recipes import known as known_recipes
from torchkeeper.gui.pages.recipes.words import FORM

if TYPE_CHECKING:
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.dialogs.recipeedit import RecipeEditor
    from torchkeeper.gui.pages.recipes.page import RecipesPage

#: Where the folder of the last recipe is remembered.
_RECIPES_IN = "recipes/folder"


class RecipeFlows(QObject):
    """Edits recipes and begins new ones."""

    #: Recipes, by their files and folders, are to be warmed.
    warm = Signal(list)

    def __init__(self, context: Context) -> None:
        super().__init__(context.window)
        self._context = context

    @property
    def page(self) -> RecipesPage | None:
        """The page with the list, where somebody has looked at it."""
        from torchkeeper.gui.pages.recipes.page import RecipesPage

        return next((x for x in self._context.pages.made() if isinstance(x, RecipesPage)), None)

    def edit_recipe(self, path: str, line: int = 1, *, form: bool = False) -> RecipeEditor:
        """Edit the text of a recipe; one that is being edited already is shown. form: open the
        form on it, too.
        """
        from torchkeeper.gui.dialogs.recipeedit import RecipeEditor

        editors = self._context.window.findChildren(RecipeEditor)
        editor = next((one for one in editors if one.isVisible() and one.path == path), None)
        if editor is None:
            window, engines = self._context.window, self._context.engines
            return self._edit(RecipeEditor(window, engines, path, line=line, form=form))
        editor.go_to_line(line)
        if form:
            editor.fill_in()
        editor.activateWindow()
        return editor

    def new_recipe(self, source: str) -> None:
        """Write a recipe of a source, beginning with its example; ``FORM``: with a form."""
        from torchkeeper.gui.dialogs.recipeform import RecipeForm

        context = self._context
        if source == FORM:
            RecipeForm(
                context.window,
                lambda text, folder: self._begin_recipe(text, written=True, folder=folder),
                folder=self._recipes_folder(),
            ).open()
            return
        listener = Listener(
            result=lambda text: self._begin_recipe(text, example=source),
            failed=context.tell,
        )
        context.engines.background(listener, known_recipes.example, source)

    def new_recipe_for(self, programs: Sequence[str]) -> None:
        """Begin a recipe for exported programs, beside the first of them."""
        from torchkeeper.gui.pages.recipes.forming import text_for

        folder = os.path.dirname(os.path.abspath(programs[0]))
        self._begin_recipe(text_for(programs, folder), folder=folder)

    def _recipes_folder(self) -> str:
        return str(self._context.settings.value(_RECIPES_IN) or "") or QDir.homePath()

    def _begin_recipe(
        self, text: str, *, written: bool = False, folder: str = "", example: str = ""
    ) -> None:
        """written: whether somebody would miss it. folder: where it is to be; "" for where the last
        one was. example: the source that it is an example of.
        """
        from torchkeeper.gui.dialogs.recipeedit import RecipeEditor

        context, folder = self._context, folder or self._recipes_folder()
        window, engines = context.window, context.engines
        editor = RecipeEditor(window, engines, text=text, folder=folder, example=example)
        editor.text.document().setModified(written)
        self._edit(editor)

    def _edit(self, editor: RecipeEditor) -> RecipeEditor:
        editor.saved.connect(self._recipe_saved)
        editor.warm.connect(lambda path: self.warm.emit([path]))
        editor.show()
        return editor

    def _recipe_saved(self, path: str) -> None:
        context = self._context
        context.settings.setValue(_RECIPES_IN, os.path.dirname(path))
        if (page := self.page) is not None:
            page.saved(path)
        else:
            listener = Listener(failed=context.tell)
            context.engines.background(listener, known_recipes.listed, [path], unless=True)

    def open_recipes(self, paths: Sequence[str]) -> None:
        """Put recipes on the list, and show it."""
        self._context.pages.go("recipes")
        if (page := self.page) is not None:
            page.add(paths)
