"""What the window knows of recipes; what waits for disks is called in a thread that may."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QListWidget, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.places.model import host_of
from torchkeeper.gui.widgets import forms

if TYPE_CHECKING:
    from torchkeeper.client.kept.verified import Warmed
    from torchkeeper.client.recipes.files import Fault
    from torchkeeper.warm.recipes.tables import Tables
    from torchkeeper.warm.shapes import SentRecipe

_tr = partial(QCoreApplication.translate, "Recipes")

#: What is in no name of a file, here.
_ODD = re.compile(r"[^\w-]+")
#: How a request names the recipe that comes with Torchkeeper (warm/recipes/recipe.py).
BUILTIN = "builtin"


@dataclass(frozen=True)
class Known:
    """A recipe. path: of its file, or BUILTIN. faults: what is wrong with what it says; error: why
    it cannot be read at all. variants: 0 where either is the case. machine: another one that it
    was recorded on; "" without.
    """

    path: str
    name: str
    about: str = ""
    source: str = ""
    variants: int = 0
    faults: Sequence[Fault] = ()
    error: UserError | None = None
    warmed: Warmed | None = None
    machine: str = ""

    @property
    def good(self) -> bool:
        """Whether it can be warmed."""
        return not self.faults and self.error is None


@dataclass(frozen=True)
class Listed:
    """What is on the list: a file, with its one recipe, or a folder, with all in it."""

    path: str
    folder: bool
    recipes: Sequence[Known] = ()
    error: UserError | None = None


@dataclass(frozen=True)
class Looked:
    """What a text comes to: its faults, or the names of the variants that it makes. source: what
    these are of. data: its tables, where there are no faults. called: what it calls itself.
    """

    faults: Sequence[Fault]
    variants: Sequence[str] = ()
    source: str = ""
    data: Tables | None = field(default=None, repr=False)
    called: str = ""

    @property
    def file_name(self) -> str:
        """What its file may be called: as the first of what it compiles."""
        said = self.called or (self.variants[0] if self.variants else "")
        first = os.path.splitext(said.partition(",")[0])[0]
        return f"{_ODD.sub('-', first).strip('-')[:60] or 'recipe'}.toml"


@dataclass(frozen=True)
class Made:
    """The variants that recipes make: recipe, name and source. wire: the recipes of a request."""

    variants: Sequence[tuple[str, str, str]]
    recipes: int
    wire: Sequence[str | SentRecipe] = field(default=(), repr=False)


class Wired(NamedTuple):
    """Recipes as a request has them, and the file of each, or BUILTIN. Where variants are left out:
    only: the indexes of the others, and before: for each path what its recipe is called and how
    many of its variants are left out; else both are None.
    """

    recipes: Sequence[str | SentRecipe]
    paths: list[str]
    only: list[int] | None = None
    before: list[tuple[str, int]] | None = None


def listed(
    add: Sequence[str] = (), remove: Sequence[str] = (), unless: bool = False
) -> list[Listed]:
    """The list, after some were put on it, ``unless`` a folder of it has them, and some taken off.
    Raises UserError as ``client.recipes.files.add`` and ``remove``.
    """
    from torchkeeper.client.kept import verified
    from torchkeeper.client.recipes import files as recipes

    kept = recipes.listed() if add and unless else []
    for path in add:
        if not any(path.startswith(one.rstrip("/") + "/") for one in kept):
            recipes.add(path)
    for path in remove:
        recipes.remove(path)
    before = verified.last_warmed()
    builtin = Known(BUILTIN, BUILTIN, source=BUILTIN, variants=1, warmed=before.get(BUILTIN))
    found = [Listed(BUILTIN, False, [builtin])]
    for path in recipes.listed():
        folder = os.path.isdir(path)
        try:
            files = recipes.files(path)
        except UserError as e:
            found.append(Listed(path, folder, error=e))
        else:
            found.append(Listed(path, folder, [_known(one, before) for one in files]))
    return found


def _known(path: str, before: dict[str, Warmed]) -> Known:
    from torchkeeper.client.recipes import files as recipes
    from torchkeeper.warm.recipes.recipe import checked, many

    stem = os.path.splitext(os.path.basename(path))[0]
    warmed = before.get(path)
    try:
        data, faults = recipes.looked_at(recipes.text_in(path))
    except UserError as e:
        return Known(path, stem, error=e, warmed=warmed)
    if data is None or faults:
        return Known(path, stem, faults=faults, warmed=warmed)
    one = checked(data, stem, os.path.dirname(path))
    machine = str(data.get("machine", ""))
    about = one.name, one.about, one.source, many(one)
    return Known(path, *about, warmed=warmed, machine=machine)


def looked(text: str, path: str) -> Looked:
    """What a recipe's text comes to; path: where it lies or will lie."""
    from torchkeeper.client.recipes import files as recipes
    from torchkeeper.warm.recipes.recipe import checked, variants_of, without_faults

    data, faults = recipes.looked_at(text)
    called = str((data or {}).get("name") or "")
    if data is None or faults:
        return Looked(faults, called=called)
    stem = os.path.splitext(os.path.basename(path))[0] or "recipe"
    one = checked(data, stem, os.path.dirname(path) or "/")
    names = [variant.name for variant in variants_of([one])]
    return Looked([], names, one.source, without_faults(data), called)


def example(source: str) -> str:
    from torchkeeper.client.recipes import files as examples

    return examples.text(source)


def save_beside(source: str, folder: str, text: str) -> list[str]:
    """The Python files that were written beside an example that was saved, where its ``text`` still
    names them and there are none of these names. Raises UserError("recipe-unwritable").
    """
    from torchkeeper.client.recipes import files as examples

    stems = (os.path.splitext(name)[0] for name in examples.BESIDE[source])
    if not any(re.search(rf"\b{stem}\b", text) for stem in stems):
        return []
    try:
        return examples.write_beside(source, folder)[0]
    except OSError as e:
        why = e.strerror or str(e)
        raise user_error("recipe-unwritable", {"file": e.filename or folder, "why": why}) from e


def text(path: str) -> str:
    """The text of a file. Raises UserError."""
    from torchkeeper.client.recipes import files as recipes

    return recipes.text_in(path)


def save(path: str, text: str, before: str | None = None) -> None:
    """Write a recipe, whole or not at all. before: what is to be there now, if anything is; None:
    whatever it is. Raises UserError("recipe-changed" | "recipe-unwritable").
    """
    from torchkeeper.client.kept import whole

    path = os.path.realpath(path)
    if before is not None and _is_other(path, before):
        raise user_error("recipe-changed", {"file": path})
    try:
        mode: int | None = None
        with contextlib.suppress(FileNotFoundError):
            mode = stat.S_IMODE(os.stat(path).st_mode)
        whole.write_text(path, text, mode)
    except (OSError, UnicodeEncodeError) as e:
        why = getattr(e, "strerror", None) or str(e)
        raise user_error("recipe-unwritable", {"file": path, "why": why}) from e


def _is_other(path: str, before: str) -> bool:
    from torchkeeper.client.recipes import files as recipes

    try:
        # What is gone is nothing that could be lost.
        return os.path.lexists(path) and recipes.text_in(path) != before
    except UserError:
        return True


def made(names: Sequence[str]) -> Made:
    """The variants of recipes, files and folders. Raises UserError."""
    from torchkeeper.client.recipes import files as recipes

    sent = recipes.wire(names)
    return Made(*_variants(sent), sent)


def wire(names: Sequence[str], warm: Sequence[tuple[str, str]] | None = None) -> Wired:
    """Recipes as a request has them. warm: the variants, each as its recipe and its name, that are
    to be left out: by name, because a recipe that was corrected may number its variants in another
    way. Raises UserError, "rest-gone" where no others are left.
    """
    from torchkeeper.client.recipes import files as recipes

    paths = recipes.chosen(names)
    sent = recipes.wire(paths)
    if warm is None:
        return Wired(sent, paths)
    left_out, (variants, _) = set(warm), _variants(sent)
    only = [n for n, (recipe, name, _) in enumerate(variants) if (recipe, name) not in left_out]
    if not only:
        raise user_error("rest-gone", {})
    before = Counter({recipe: 0 for recipe, *_ in variants})
    before.update(recipe for recipe, name, _ in variants if (recipe, name) in left_out)
    return Wired(sent, paths, only, list(before.items()))


def _variants(sent: Sequence[str | SentRecipe]) -> tuple[list[tuple[str, str, str]], int]:
    """The variants of recipes as a request has them: recipe, name, source; and how many."""
    from torchkeeper.artifacts.entry import Problem
    from torchkeeper.warm.recipes.recipe import of_request, variants_of

    try:
        every = of_request(sent)
        variants = variants_of(every)
    except Problem as e:
        raise user_error(e.code, e.params) from e
    return [(variant.recipe, variant.name, variant.source) for variant in variants], len(every)


def keep_warmed(counts: Sequence[tuple[str, int, int]], place: str) -> None:
    """Note that recipes were warmed (``client.kept.verified.keep_warmed``)."""
    from torchkeeper.client.kept import verified

    verified.keep_warmed(counts, place)


def last_into(listed: Sequence[Listed], place: str) -> str:
    """The recipe that was last warmed into a place; "" where none was."""
    known = (one for found in listed for one in found.recipes)
    warmed = [
        (one.warmed.at, one.path) for one in known if one.warmed and one.warmed.place == place
    ]
    return max(warmed, default=(0.0, ""))[1]


def counted(job: Job) -> dict[str, tuple[str, int, int]]:
    """Of each recipe of a job its file, or BUILTIN, and its warm and other variants, if known."""
    # Of one that warms the rest, what was warm before counts, too.
    found = {recipe: [count, 0] for recipe, count in job.asked.get("before") or ()}
    for variant in job.variants.rows:
        found.setdefault(variant.recipe, [0, 0])[not variant.good] += 1
    paths = job.asked.get("paths") or []
    if len(paths) != len(found):
        return {}
    told = zip(found.items(), paths, strict=True)
    return {recipe: (path, warm, bad) for (recipe, (warm, bad)), path in told}


def file_of(job: Job, recipe: str) -> str:
    """The file of a recipe; empty where it has none."""
    path, *_ = counted(job).get(recipe, ("", 0, 0))
    return "" if path == BUILTIN else path


#: The sources a recipe can be made for, in the order in which they are offered.
SOURCES = ("callable", "script", "exported", "eager", "triton")
FORM = "form"


def purpose() -> str:
    return _tr(
        "A recipe says what to compile ahead of time and in which ways: a model or function, a "
        "script, an exported program, eager operators, or Triton kernels. It is a TOML file that "
        "lies beside the model."
    )


def builtin_help() -> str:
    """What there is in the built-in recipe."""
    return _tr(
        "An op, an MLP trained at two batch sizes, and an attention block, forward and backward."
    )


def instead_of_text(paths: Sequence[str], alone: bool) -> tuple[str, str]:
    """Title and more of what has no text to show; ``alone``: there is only the built-in recipe."""
    if list(paths) != [BUILTIN]:
        if len(paths) > 1:
            return _tr("Several recipes are chosen"), _tr(
                "Warm all compiles everything that is chosen, one after another. Choose one alone "
                "to see its text."
            )
        return _tr("A folder of recipes"), _tr(
            "The list shows every recipe in it, also one that you add later. Warm all compiles "
            "them one after another. Choose one to see its text."
        )
    if alone:
        return _tr("No recipe of your own yet"), _tr(
            "Run a program of your own, and save what it compiled as a recipe. Or create one with "
            "New, from a form or an example; add files or a folder; or drop them here."
        )
    return _tr("It comes with Torchkeeper"), _tr(
        "It needs no model of yours: warm it to see what a cache then holds, and verify it to see "
        "how much faster a program starts. It has no file, so there is nothing to edit."
    )


def missing() -> str:
    """What stands for what it compiles where it is not there any more."""
    return _tr("missing")


def source_title(source: str) -> str:
    """What is compiled, by the kind of its source."""
    return {
        BUILTIN: _tr("Built in"),
        "callable": _tr("Callable"),
        "script": _tr("Script"),
        "exported": _tr("Exported program"),
        "eager": _tr("Eager operators"),
        "triton": _tr("Triton kernels"),
    }.get(source, printable(source, 40))


def name_of(path: str, name: str = "") -> str:
    """What a recipe, a file or a folder is called."""
    if path == BUILTIN:
        return _tr("Built in: a first look")
    return printable(name or os.path.basename(path.rstrip("/")) or path, 120)


def recorded_on(machine: str) -> str:
    """Where a recipe was recorded that a machine has told."""
    return _tr("recorded on {}").format(host_of(machine))


def warmed_text(one: Known) -> str:
    """When it was last warmed, and whether all of it was."""
    if (last := one.warmed) is None:
        return _tr("never")
    ago, failed = say.ago(last.at, time.time()), f"{last.failed:,}"
    whole = f"{last.done + last.failed:,}"
    return _tr("{}, {} of {} failed").format(ago, failed, whole) if last.failed else ago


#: Variants that are named.
_VARIANTS = 1000


class Makes(QWidget):
    """How many there are, of what, and what each is called."""

    def __init__(self) -> None:
        super().__init__()
        self.title = forms.label("", "heading", wrap=True)
        self.source = forms.label("", "muted", wrap=True)
        self.variants = QListWidget()
        self.variants.setAccessibleName(self.tr("Variants that it makes"))
        self.variants.setUniformItemSizes(True)
        self.variants.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self.variants.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        whole = forms.column(self.title, self.source, (self.variants, 1), margin=(12, 0, 0, 0))
        whole.addStretch(0)
        self.setLayout(whole)

    def show_looked(self, looked: Looked) -> None:
        """Show what a text comes to."""
        self.variants.clear()
        self.variants.setVisible(bool(looked.variants))
        if looked.faults:
            self.title.setText(self.tr("Variants"))
            self.source.setText(self.tr("They appear here when the recipe has no faults."))
            return
        count = say.count(len(looked.variants), "variant", "variants")
        self.title.setText(self.tr("It makes {}").format(count))
        self.source.setText(source_title(looked.source))
        forms.list_up(self.variants, [printable(name, 200) for name in looked.variants[:_VARIANTS]])
        if len(looked.variants) > _VARIANTS:
            self.variants.addItem(
                self.tr("and {} more").format(f"{len(looked.variants) - _VARIANTS:,}")
            )
