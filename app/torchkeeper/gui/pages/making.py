"""How each page, and the drawer, is made when it is first shown, and what is done about what it
asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.gui.context import late
from torchkeeper.gui.pages import ENTRIES

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint
    from PySide6.QtWidgets import QMainWindow, QWidget

    from torchkeeper.gui.activity.drawer import Drawer
    from torchkeeper.gui.chrome.head import Head
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.flows import Flows
    from torchkeeper.gui.pages.page import Page
    from torchkeeper.gui.places.discovery import Discovery


class Making(NamedTuple):
    """flows: made when they are first asked for. menu: opens a menu of that name over a widget."""

    window: QMainWindow
    context: Context
    discovery: Discovery
    head: Head
    flows: Callable[[], Flows]
    menu: Callable[[str, QWidget, QPoint], None]

    def makers(self) -> dict[str, Callable[[], QWidget]]:
        """By the ids of the pages."""
        return {
            "overview": self._overview, "compare": self._compare, "runs": self._runs,
            "recipes": self._recipes, "settings": self._settings, "doctor": self._doctor,
            "fleet": self._fleet,
        }  # fmt: skip

    def _overview(self) -> Page:
        from torchkeeper.gui.pages.overview.page import OverviewPage

        page = OverviewPage(self.context, self.discovery)
        page.filtered.connect(late(lambda: self._filter))
        page.cleaning.connect(late(lambda: self.flows().clean_up_places))
        page.emptying.connect(late(lambda: self.flows().empty_trashes))
        return page

    def _filter(self, place: str, text: str) -> None:
        self.context.places_pane.choose(place)
        self.context.pages.go(ENTRIES)
        self.head.box.setText(text)

    def _compare(self) -> Page:
        from torchkeeper.gui.pages.comparing.page import ComparePage

        page = ComparePage(self.context)
        page.going.connect(late(lambda: self.flows().results.go_to))
        return page

    def _runs(self) -> Page:
        from torchkeeper.gui.pages.runs import RunsPage

        page = RunsPage(self.context.engines, self.context.jobs)
        page.running.connect(late(lambda: self.flows().run_program))
        page.cancelled.connect(late(lambda: self.context.operations.cancel))
        page.going.connect(late(lambda: self.flows().results.go_to_key))
        recipes = late(lambda: self.flows().recipes.save_run)
        page.saving.connect(recipes)
        page.warming.connect(lambda run: recipes(run, warm=True))
        page.comparing.connect(late(lambda: self.flows().compare_keys))
        return page

    def _recipes(self) -> Page:
        from torchkeeper.gui.pages.recipes.page import RecipesPage

        page = RecipesPage(self.context.engines, self.context.settings, self.context.listing)
        page.editing.connect(
            lambda path, line, form: self.flows().recipes.edit_recipe(path, line, form=form)
        )
        page.beginning.connect(late(lambda: self.flows().recipes.new_recipe))
        page.running.connect(late(lambda: self.flows().run_program))
        page.warming.connect(late(lambda: self.flows().warm))
        page.spreading.connect(late(lambda: self.flows().fleet.warm))
        page.verifying.connect(late(lambda: self.flows().verify))
        return page

    def _settings(self) -> Page:
        from torchkeeper.gui.pages.profiles.page import SettingsPage

        context = self.context
        page = SettingsPage(context.engines, context.settings, lambda: context.environments)
        page.wanted.connect(lambda: context.pages.go("settings"))
        return page

    def _doctor(self) -> Page:
        from torchkeeper.gui.pages.doctor.page import DoctorPage

        return DoctorPage(self.context)

    def _fleet(self) -> Page:
        from torchkeeper.gui.pages.fleet.page import FleetPage

        context, flow = self.context, self.flows().fleet
        page = FleetPage(context.engines, context.jobs, flow.targets, flow.here)
        page.warming.connect(flow.warm)
        page.cancelled.connect(late(lambda: context.operations.cancel))
        page.again.connect(flow.again)
        page.proving.connect(flow.prove)
        page.reporting.connect(flow.save_report)
        page.opening.connect(flow.open_place)
        return page

    def drawer(self) -> Drawer:
        """The drawer of the jobs."""
        from torchkeeper.gui.activity.drawer import Drawer

        flows = self.flows()
        made = Drawer(self.context, self.window, flows.results.may_ask)
        seen = made.list.viewport()
        made.list.customContextMenuRequested.connect(lambda at: self.menu("jobs", seen, at))
        made.opening.connect(flows.results.open)
        made.revealing.connect(flows.results.reveal)
        made.asking.connect(flows.results.ask_again)
        made.verifying.connect(flows.verify_warmed)
        made.warming.connect(flows.warm_rest)
        made.detail.edit.connect(flows.recipes.edit_recipe)
        made.detail.after.prepare.connect(flows.prepare)
        return made
