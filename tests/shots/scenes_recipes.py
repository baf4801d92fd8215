"""Pictures of recipes: the list, their text, and choosing some to be warmed."""

from __future__ import annotations

from tests.shots import sample_recipes
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.dialogs.recipeedit import RecipeForm
from torchkeeper.gui.pages.recipes.page import RecipesPage
from torchkeeper.gui.places.model import EXPORTED_TO


def _choose(page: RecipesPage, path: str) -> None:
    turn(0.1)
    page.choose(path)


def _recipes(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    page = window.show_page("recipes")
    assert isinstance(page, RecipesPage)
    _choose(page, sample_recipes.FOLDER)
    stage.take("recipes", window)
    _choose(page, f"{sample_recipes.FOLDER}/decode.toml")
    stage.take("recipes-one", window)
    _choose(page, "/home/ada/vision/resnet.toml")
    stage.take("recipes-faulty", window)
    page.box.setText("decode")
    stage.take("recipes-filtered", window)
    page.box.setText("encode")
    stage.take("recipes-none-match", window)
    page.box.clear()
    _choose(page, "/home/ada/old/recipes")
    stage.take("recipes-gone", window)
    engines.no_recipes = True
    page.refresh()
    stage.take("recipes-empty", window)
    why = {"file": "/home/ada/.config/torchkeeper/recipes.json", "why": "it is not JSON"}
    engines.failing["recipes"] = user_error("recipes-unreadable", why)
    page.refresh()
    stage.take("recipes-failed", window)
    stage.close(window)


def _editor(stage: Stage) -> None:
    window = stage.window(SampleEngines())
    form = RecipeForm(window, lambda *_: None)
    form.kind.setCurrentIndex(1)
    form.reference.setText("models.llm:Decoder")
    form.inputs.setPlainText("[batch, 1, 4096] bfloat16\n[batch, cached, 4096] bfloat16")
    form.sizes.setText("batch = 1, 8, 32; cached = 512, 2048")
    for box in (form.modes["default"], form.modes["max-autotune"], form.fullgraph):
        box.setChecked(True)
    stage.dialog("recipe-form", form)
    editor = window.flows.recipes.edit_recipe(f"{sample_recipes.FOLDER}/decode.toml", form=True)
    turn(5.0, lambda: bool(editor.findChildren(RecipeForm)))
    stage.dialog("recipe-form-again", editor.findChildren(RecipeForm)[-1])
    stage.dialog("recipe-good", editor)
    editor = window.flows.recipes.edit_recipe("/home/ada/vision/resnet.toml", 20)
    turn(0.1)
    stage.dialog("recipe-faulty", editor)
    stage.close(window)


def _warm(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines, settings={EXPORTED_TO: "/home/ada/bundles"})
    window.places.add("redis://cache.example:6379/0")
    dialog = window.flows.warm([sample_recipes.FOLDER])
    turn(0.1)
    dialog.then.bundle.setChecked(True)
    dialog.then.publish.setChecked(True)
    turn(5.0, dialog.go.isEnabled)
    stage.dialog("warm-recipes", dialog)
    problem = {"code": "device-missing", "params": {"device": "cuda:1", "found": "cuda:0, cpu"}}
    engines.variants = [{"problem": problem}, {"problem": problem}, {"problem": None}]
    stage.dialog("warm-foreseen", window.flows.warm([sample_recipes.FOLDER]), 0.3)
    stage.close(window)


SCENES = {"recipes": _recipes, "editor": _editor, "warm-recipes": _warm}
