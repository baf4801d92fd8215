"""What becomes of what is dropped on the sidebar, or pasted there. While it is dragged only names
are known: what they are is looked up, and again before anything is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QObject

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.places.model import Place, PlacesModel, host_of
from torchkeeper.gui.sidebar.lists import Offer, Onto
from torchkeeper.gui.sidebar.pagelist import PageItem, PageItems
from torchkeeper.gui.table.mimedata import BUNDLES, Carried, no_bundle

if TYPE_CHECKING:
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.flows import Flows

#: Paths that are looked up while they are dragged.
_MOST = 200


class Taking(QObject):
    """The offers of the parts of the sidebar."""

    def __init__(self, context: Context, flows: Flows) -> None:
        super().__init__(context.window)
        self._context, self._flows = context, flows
        #: What paths were found to be, and those that were looked up.
        self._found: dict[str, str] = {}
        self._asked: tuple[str, ...] = ()

    def on_window(self, carried: Carried) -> Offer:
        """Anywhere but on the sidebar: as what it is, and bundles into the place that is shown."""
        if carried.only_rows:
            return Offer(self.tr("Entries go to a place, or to a side of the Compare page"), None)
        page, shown = self._context.pages.current, self._context.places_pane.place
        if page == "settings" and carried.paths:
            text = self.tr("Drop to import {} as settings: you are asked first")
            return Offer(text.format(carried.words), lambda: self._import_settings(carried.paths))
        if page == "recipes" and carried.paths and self._are(carried, "file", "other"):
            return self._on_recipes(carried)  # which says why not
        if (refused := self._refused(carried)) is not None:
            return refused
        if carried.servers or self._are(carried, "folder"):
            text = self.tr("Drop to open {} as a place")
            if len(carried.servers) + len(carried.paths) > 1:
                text = self.tr("Drop to open {} as places")
            return Offer(text.format(self._places(carried)), lambda: self._open_all(carried))
        if self._are(carried, "recipes"):
            text = self.tr("Drop to put {} on the list of recipes")
        elif not self._are(carried, "file"):
            text = self.tr("Drop to open {}")
        elif page == ENTRIES and shown is not None and shown.takes and not shown.server:
            text = self.tr("Drop to import {} into {}: you are asked first")
            return self._imported(text, carried, shown)
        else:
            text = self.tr("Drop to import {}: you are asked into which place")
        return Offer(text.format(carried.words), lambda: self._open_all(carried))

    def _on_recipes(self, carried: Carried) -> Offer:
        if not self._are(carried, "recipes", "folder", "exported"):
            text = self.tr("{} is not a recipe: a recipe is a .toml file").format(carried.words)
            return Offer(text, None)
        text = self.tr("Put {} on the list of recipes").format(carried.words)
        return Offer(text, lambda: self._look(carried.paths, self._take_recipes))

    def on_page(self, carried: Carried, index: QModelIndex) -> Offer:
        """On a page: what it is for; on others, as on the window."""
        item = index.data(PageItems.PageRole)
        ident = item.id if isinstance(item, PageItem) else ""
        if ident == "settings" and carried.paths:
            text = self.tr("Import {} as settings: you are asked first").format(carried.words)
            return Offer(text, lambda: self._import_settings(carried.paths))
        if ident == "recipes" and carried.paths:
            return self._on_recipes(carried)
        return self._open(carried)

    def on_place(self, carried: Carried, index: QModelIndex) -> Offer:
        """Bundles are imported into it; what is none is opened as what it is."""
        place = index.data(PlacesModel.PlaceRole)
        if not isinstance(place, Place):
            return self.on_places(carried)
        if carried.only_rows or carried.servers or not self._are(carried, "file"):
            return self._open(carried, Onto.LIST)
        if place.bundle:
            text = self.tr("{} is a bundle: nothing is imported into it")
        elif place.server:
            text = self.tr("A bundle is imported into a folder: open it, then copy it to {}")
        elif place.read_only:
            text = self.tr("{} is read-only: nothing is imported into it")
        else:
            text = self.tr("Import {} into {}: you are asked first")
            return self._imported(text, carried, place)
        return Offer(text.format(place.title), None)

    def _imported(self, text: str, carried: Carried, place: Place) -> Offer:
        return Offer(
            text.format(carried.words, place.title),
            lambda: self._look(carried.paths, partial(self._import, into=place.path)),
        )

    def on_places(self, carried: Carried, _: object = None) -> Offer:
        """On the list of places: folders and servers are added, and bundles, to be looked at."""
        if carried.paths and not carried.servers and self._are(carried, "file"):
            text = self.tr("Open {} to look at it, as a place").format(carried.words)
            return Offer(text, lambda: self._look(carried.paths, self._add_bundles), Onto.LIST)
        return self._open(carried, Onto.LIST)

    def on_environments(self, carried: Carried, _: object = None) -> Offer:
        """On the environments: interpreters, and the folders of virtual environments."""
        if carried.only_rows:
            return self._open(carried)
        if not carried.paths:
            return Offer(self.tr("A server is not an environment"), None)
        if any(path.endswith((*BUNDLES, ".toml", ".pt2")) for path in carried.paths):
            text = self.tr("{} is not a Python interpreter").format(carried.words)
            return Offer(text, None)
        if machine := self._context.machines.shown.machine:
            text = self.tr("These are the environments of {}, and {} is on this machine")
            return Offer(text.format(host_of(machine), carried.words), None)
        text = self.tr("Add {} to the environments, if it is a Python").format(carried.words)
        return Offer(text, lambda: self._add_environments(carried.paths), Onto.LIST)

    def _open(self, carried: Carried, places: Onto = Onto.ELSEWHERE) -> Offer:
        """As what it is; places: what of the list takes folders and servers."""
        if carried.only_rows:
            text = self.tr("Entries are copied to a place with Copy to…, and compared on Compare")
            return Offer(text, None)
        if (refused := self._refused(carried)) is not None:
            return refused
        if carried.servers or self._are(carried, "folder"):
            text = self.tr("Adds {} to the places").format(self._places(carried))
            if self._are(carried, "folder") and not carried.servers and len(carried.paths) == 1:
                text = self.tr("Adds the folder {} to the places").format(carried.words)
            return Offer(text, lambda: self._open_all(carried), places)
        if self._are(carried, "recipes"):
            text = self.tr("Put {} on the list of recipes").format(carried.words)
        elif self._are(carried, "file"):
            text = self.tr("Import {}: you are asked first").format(carried.words)
        else:
            text = self.tr("Open {}").format(carried.words)
        return Offer(text, lambda: self._open_all(carried), Onto.ELSEWHERE)

    def _places(self, carried: Carried) -> str:
        number = len(carried.servers) + len(carried.paths)
        if number == 1:
            return carried.words
        nouns = ("place", "places") if carried.servers else ("folder", "folders")
        return say.count(number, *nouns)

    def _refused(self, carried: Carried) -> Offer | None:
        """What is said where none of them could be opened or imported; of several, what can is."""
        if carried.servers or not carried.paths or not self._are(carried, "other"):
            return None
        return Offer(no_bundle(carried.paths[0]), None)

    def _are(self, carried: Carried, *whats: str) -> bool:
        """Whether all of the paths are such, as far as is known."""
        if carried.paths != self._asked:
            self._asked = carried.paths
            self._find(carried.paths[:_MOST], lambda _: None)
        return all(self._what(path) in whats for path in carried.paths)

    def _what(self, path: str) -> str:
        """As far as is known; "other" is a file that is called like nothing the window takes."""
        found = self._found.get(path, _by_name(path))
        return "other" if found == "file" and not path.endswith(BUNDLES) else found

    def _look(self, paths: Sequence[str], then: Callable[[dict[str, list[str]]], object]) -> None:
        """Look again what they are, and do something with those that the window takes."""

        def looked(by_what: dict[str, list[str]]) -> None:
            # Beside others, one is refused where these are looked into.
            if list(by_what) == ["file"] and not any(p.endswith(BUNDLES) for p in by_what["file"]):
                odd = by_what.pop("file")
                remedy = self.tr("Import… looks into a file of any name.")
                self._context.tell(UserError(f"{no_bundle(odd[0])}.", "", remedy, code="no-bundle"))
            then(by_what)

        self._find(paths, looked)

    def _find(self, paths: Sequence[str], then: Callable[[dict[str, list[str]]], object]) -> None:
        def looked(found: list[lookups.At]) -> None:
            by_what: dict[str, list[str]] = {}
            for one in found:
                self._found[one.path] = one.what
                by_what.setdefault(one.what, []).append(one.path)
            then(by_what)

        self._found = {path: what for path, what in self._found.items() if path in paths}
        self._context.engines.background(Listener(result=looked), lookups.offered, list(paths))

    def _open_all(self, carried: Carried) -> None:
        if carried.servers:
            self._context.open_paths(carried.servers)
        if carried.paths:
            self._look(carried.paths, self._open_rest)

    def _open_rest(self, by_what: dict[str, list[str]]) -> None:
        if rest := [path for some in by_what.values() for path in some]:
            self._context.open_paths(rest)

    def _import_settings(self, paths: Sequence[str]) -> None:
        from torchkeeper.gui.pages.profiles.page import SettingsPage

        page = self._context.pages.go("settings")
        assert isinstance(page, SettingsPage)
        page.open_files(paths)

    def _import(self, by_what: dict[str, list[str]], into: str) -> None:
        if files := by_what.pop("file", None):
            self._flows.open_import(files, into)
        self._open_rest(by_what)

    def _add_bundles(self, by_what: dict[str, list[str]]) -> None:
        context = self._context
        for path in by_what.pop("file", ()):
            context.places.add(path, bundle=True)
            context.places_pane.choose(path)
            context.pages.go(ENTRIES)
        self._open_rest(by_what)

    def _take_recipes(self, by_what: dict[str, list[str]]) -> None:
        if recipes := [*by_what.pop("recipes", ()), *by_what.pop("folder", ())]:
            self._flows.recipes.open_recipes(recipes)
        self._open_rest(by_what)

    def _add_environments(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._context.environments.add(path)


def _by_name(path: str) -> str:
    name = os.path.basename(path.rstrip("/"))
    if name.endswith(".toml"):
        return "recipes"
    if name.endswith(".pt2"):
        return "exported"
    if name.endswith(BUNDLES):
        return "file"
    # What ends in a number is rather a folder that is called after a version.
    return "other" if os.path.splitext(name)[1][1:2].isalpha() else "folder"
