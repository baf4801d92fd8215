"""One table of everything the user can do: menus, toolbar and shortcuts are made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QObject
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu

from torchkeeper.gui import theme
from torchkeeper.gui.pages import ENTRIES, PAGES
from torchkeeper.gui.widgets.plain import caption, tip
from torchkeeper.stores.names import Scheme, scheme_of


class Situation(NamedTuple):
    """What the window knows at one moment, when it decides which actions make sense."""

    place: bool = False
    place_added: bool = False
    place_is_folder: bool = False
    scheme: Scheme = scheme_of("")
    place_is_bundle: bool = False
    chosen_server: bool = False
    #: Whether the chosen place has one above or below it that it can change places with.
    place_up: bool = False
    place_down: bool = False
    sidebar: bool = True
    #: What is known of the environment at the keyboard in the sidebar.
    environment: bool = False
    environment_has_torch: bool = False
    environment_added: bool = False
    environment_used: bool = False
    #: Whether a target of fleets is marked in the sidebar.
    target: bool = False
    read_only: bool = False
    shown: bool = False
    #: Whether what is no entry is shown among the others.
    apart: bool = False
    #: Whether what is shown is what the filter says; with a wrong one it is what the last said.
    filter_valid: bool = True
    selected: int = 0
    #: How many entries are selected, where those can be compared: two of one kind, or one.
    comparable: int = 0
    trash: bool = False
    #: Whether anything is in the trash of all places; None where one place is asked about.
    trash_of_all: bool | None = None
    #: Whether entries of the place were put off, since reading them would take long.
    put_off: bool = False
    job: bool = False
    job_active: bool = False
    grouping: str = "none"
    #: Whether the desktop is told of long jobs that have ended.
    notify: bool = True
    #: The page that is shown, and whether there is a way back from it, and forward.
    page: str = ENTRIES
    back: bool = False
    forward: bool = False
    #: Whether the drawer of the jobs is open.
    drawer: bool = False
    #: Whether something came of the chosen job that can be opened.
    job_fruit: bool = False
    #: The path of the place that is shown, or its name where it is a server.
    path: str = ""
    #: What undo is of: purge of 12 entries, 3.4 MB on disk; empty where that is not known.
    undoable: str = ""
    #: What undo does instead.
    offered: str = ""

    @property
    def can_purge(self) -> bool:
        """Whether entries of the place can be removed."""
        return (self.place_is_folder or self.scheme.remote_cache) and not self.read_only

    @property
    def can_change_trash(self) -> bool:
        """Whether there is anything in the trash of the place, which may be changed."""
        return self.trash and not self.read_only


def _shown(page: str) -> Callable[[Situation], bool]:
    return lambda situation: situation.page == page


class Spec(NamedTuple):
    """One action. menu, group: its place. hint: one sentence for the tooltip and the status bar.
    context: the context menus it is in. short: the toolbar's text; empty where it is not on the
    toolbar. chosen: for one of several that exclude each other, whether it is the one. on: for a
    switch, whether it is on. about: the text that says what it is about at the moment, empty where
    that is not known. also: a second shortcut.
    """

    id: str
    text: str
    icon: str
    shortcut: str
    menu: str
    group: int
    hint: str
    context: str = ""
    when: Callable[[Situation], bool] = lambda _: True
    short: str = ""
    chosen: Callable[[Situation], bool] | None = None
    on: Callable[[Situation], bool] | None = None
    about: Callable[[Situation], str] | None = None
    also: str = ""


def _n(text: str) -> str:
    return str(QT_TRANSLATE_NOOP("Actions", text))


#: The translation of a text of the table.
tr = partial(QCoreApplication.translate, "Actions")

MENUS = (
    ("file", _n("&File")),
    ("edit", _n("&Edit")),
    ("cache", _n("&Cache")),
    ("view", _n("&View")),
    ("go", _n("&Go")),
    ("help", _n("&Help")),
)
#: Menus in the View menu.
GROUP_MENU, ONLY_MENU = ("group", _n("&Group by")), ("only", _n("&Show only"))
ENVIRONMENT_MENU = ("environment", _n("En&vironment"))
#: Menus in context menus, by these.
INNER = {"entries": GROUP_MENU, "places": ("list", _n("List of place&s"))}

ACTIONS = (
    Spec("add-folder", _n("&Add folder…"), "folder-add", "Ctrl+O", "file", 0,
         _n("Add a cache folder to the list of places"), "list"),
    Spec("add-server", _n("Add &server or machine…"), "server", "Ctrl+Shift+S", "file", 0,
         _n("Add a Redis server or a folder on another machine; ssh://host alone finds its "
            "caches"), "list"),
    Spec("open-bundle", _n("Open bund&le…"), "box", "", "file", 0,
         _n("Add a bundle to the list of places and show its entries")),
    Spec("read-only", _n("Read-&only"), "", "", "file", 0,
         _n("Protect the place: neither the window nor a command changes it"), "places",
         when=lambda s: s.place, on=lambda s: s.read_only),
    Spec("edit-server", _n("Edi&t server…"), "server", "", "file", 0,
         _n("Change the address, login, certificates or name of the server"), "list",
         when=lambda s: s.chosen_server),
    Spec("enter-password", _n("&Enter password…"), "unlock", "", "file", 0,
         _n("Enter the password of this server and read the server again"), "places",
         when=lambda s: s.scheme.may_want_password),
    Spec("forget-password", _n("For&get password"), "unlock", "", "file", 0,
         _n("Forget the password of the server, in the system's keyring too"), "places",
         when=lambda s: s.chosen_server),
    Spec("rename-server", _n("Re&name server"), "rename", "", "file", 0,
         _n("Change the name of the server in the list; F2 in the list does the same"), "list",
         when=lambda s: s.chosen_server),
    Spec("place-up", _n("Move &up"), "up", "Ctrl+Alt+Up", "file", 0,
         _n("Move the place up by one row"), "list",
         when=lambda s: s.place_up),
    Spec("place-down", _n("&Move down"), "down", "Ctrl+Alt+Down", "file", 0,
         _n("Move the place down by one row"), "list",
         when=lambda s: s.place_down),
    Spec("place-folder", _n("Re&veal in folder"), "folder", "", "file", 0,
         _n("Show the folder or the bundle in the file manager"), "places",
         when=lambda s: s.place and s.scheme.local),
    Spec("remove-place", _n("&Remove place from list"), "folder-remove", "", "file", 0,
         _n("Remove the place from the list; its files stay"), "list",
         when=lambda s: s.place_added),
    Spec("import", _n("&Import…"), "import", "Ctrl+I", "file", 1,
         _n("Inspect bundles or mega-caches and import their entries into a place"), "places",
         short=_n("Import…")),
    Spec("export", _n("E&xport…"), "export", "Ctrl+E", "file", 1,
         _n("Write the selected entries, or all shown entries, to a bundle file"),
         "entries places",
         when=lambda s: s.selected > 0 or (s.shown > 0 and s.filter_valid), short=_n("Export…")),
    Spec("sign", _n("Sign &bundle…"), "sign", "", "file", 1,
         _n("Sign a bundle, so that others see that it is yours"), "places",
         when=lambda s: not (s.place_is_bundle and (s.read_only or s.scheme.elsewhere))),
    Spec("signers", _n("Truste&d signers…"), "shield", "", "file", 1,
         _n("Choose whose signatures you trust, and whether an import needs one")),
    Spec("quit", _n("&Quit"), "quit", "Ctrl+Q", "file", 2,
         _n("Close the window; running jobs stop or go on in the background")),
    Spec("find", _n("&Find"), "find", "Ctrl+F", "edit", 0, _n("Go to the filter")),
    Spec("select-all", _n("Select &all"), "select-all", "Ctrl+A", "edit", 0,
         _n("Select all entries that are shown"), "entries", when=lambda s: s.shown > 0),
    Spec("copy-key", _n("&Copy key"), "copy", "Ctrl+C", "edit", 1,
         _n("Copy the keys of the selected entries"), "entries", when=lambda s: s.selected > 0),
    Spec("copy-path", _n("Cop&y path"), "copy", "Ctrl+Shift+C", "edit", 1,
         _n("Copy the paths of the selected entries"), "entries", when=lambda s: s.selected > 0),
    Spec("paste", _n("Pa&ste"), "import", "Ctrl+V", "edit", 1,
         _n("Open the files, folder or address on the clipboard; on the Compare page, put an entry "
            "on a side")),
    Spec("copy-place", _n("Copy p&lace"), "copy", "", "edit", 1,
         _n("Copy the path or the address of the chosen place; Ctrl+C on the list does the same"),
         "places", when=lambda s: s.place),
    Spec("copy-json", _n("Copy as &JSON"), "copy", "", "edit", 1,
         _n("Copy the selected entries as ls --json prints them, one object a line"), "entries",
         when=lambda s: s.selected > 0),
    Spec("copy-command", _n("Copy as co&mmand"), "copy", "", "edit", 1,
         _n("Copy the command that shows each selected key in a terminal"), "entries",
         when=lambda s: s.selected > 0),
    Spec("compare-two", _n("Compare bot&h"), "compare", "Ctrl+D", "edit", 2,
         _n("Show the differences between the two selected entries, and their cause"),
         "entries", when=lambda s: s.selected == 2),
    Spec("compare-nearest", _n("Compare with &nearest"), "compare", "Ctrl+Shift+D", "edit", 2,
         _n("Find the most similar entry in all places, and show the differences"),
         "entries", when=lambda s: s.comparable == 1),
    Spec("compare-as-a", _n("Compa&re as A"), "compare", "Ctrl+Alt+A", "edit", 2,
         _n("Put the selected entry on side A of a comparison; side B can be from another place"),
         "entries", when=lambda s: s.comparable == 1),
    Spec("compare-as-b", _n("Compare as &B"), "compare", "Ctrl+Alt+B", "edit", 2,
         _n("Put the selected entry on side B of a comparison; side A can be from another place"),
         "entries", when=lambda s: s.comparable == 1),
    Spec("preferences", _n("S&ettings…"), "theme", "Ctrl+,", "edit", 3,
         _n("The theme, notifications, whom you trust, and where Torchkeeper keeps things")),
    Spec("warm", _n("&Warm…"), "warm", "Ctrl+Shift+W", "cache", 0,
         _n("Compile ahead of time into a place"), "places", short=_n("Warm…")),
    Spec("fleet-warm", _n("W&arm on several machines…"), "fleet", "Ctrl+Shift+M", "cache", 0,
         _n("Compile on several machines at once, gather it in one place, and prove it"),
         "places targets"),
    Spec("verify", _n("Verif&y…"), "verify", "Ctrl+Shift+V", "cache", 0,
         _n("Run a recipe on a copy of the cache: does it still hit, and how fast is it?"),
         "places",
         when=lambda s: s.place_is_folder or (s.place_is_bundle and not s.scheme.elsewhere),
         short=_n("Verify…")),
    Spec("prepare", _n("P&repare environment…"), "prepare", "Ctrl+Shift+P", "cache", 0,
         _n("Build the C++ header ahead of the first compile of an environment")),
    Spec("run-program", _n("Ru&n a program…"), "runs", "Ctrl+Shift+X", "cache", 0,
         _n("Run a program unchanged, record what it compiles, and see why a graph was a miss")),
    Spec("copy-to", _n("Copy &to…"), "copy-to", "Ctrl+T", "cache", 0,
         _n("Copy the selected entries, or all shown entries, to another place or a new bundle"),
         "entries places", when=lambda s: s.selected > 0 or (s.shown > 0 and s.filter_valid)),
    Spec("purge", _n("Purge &selected…"), "purge", "Del", "cache", 1,
         _n("Show a preview, then remove the selected entries"), "entries",
         when=lambda s: s.selected > 0 and s.can_purge, short=_n("Purge…")),
    Spec("purge-shown", _n("&Purge all shown…"), "purge", "Ctrl+Shift+Del", "cache", 1,
         _n("Show a preview, then remove all entries that the filter shows"), "entries",
         when=lambda s: s.shown > 0 and s.can_purge and s.filter_valid),
    Spec("clean-up", _n("&Clean up…"), "clean", "Ctrl+Shift+K", "cache", 1,
         _n("Free disk space: remove stale, broken and unused entries of all places"), "places",
         short=_n("Clean up…")),
    Spec("undo", _n("&Undo"), "undo", "Ctrl+Z", "cache", 1,
         _n("Put back what the last purge took, take away what the last import placed, or do what "
            "the bar over the page offers"), "places",
         when=lambda s: bool(s.undoable or s.offered) or s.can_change_trash,
         about=lambda s: caption(s.offered) or (
             s.undoable and tr(_n("&Undo {}")).format(s.undoable))),
    Spec("empty-trash", _n("E&mpty trash…"), "empty", "", "cache", 1,
         _n("Delete the purged entries of this place for good; on the overview, of all places"),
         "places",
         when=lambda s: s.can_change_trash if s.trash_of_all is None else s.trash_of_all),
    Spec("expiry", _n("Set &expiry…"), "queued", "", "cache", 1,
         _n("Set when the server deletes the selected entries"), "entries",
         when=lambda s: s.selected > 0 and s.scheme.keeps_times and not s.read_only),
    Spec("server", _n("Ser&ver…"), "server", "", "cache", 1,
         _n("Show the memory, use and settings of the server, with advice"), "places",
         when=lambda s: s.scheme.remote_cache),
    Spec("cancel-job", _n("Cancel &job"), "cancel", "Ctrl+.", "cache", 2,
         _n("Stop the chosen job at once"), "jobs", when=lambda s: s.job_active),
    Spec("show-log", _n("Show job &log"), "log", "Ctrl+L", "cache", 2,
         _n("Go to the log of the chosen job"), "jobs", when=lambda s: s.job),
    Spec("open-result", _n("&Open result"), "box", "Ctrl+Shift+O", "cache", 3,
         _n("Open the result of the job and select its entries"), "jobs",
         when=lambda s: s.job_fruit),
    Spec("show-in-folder", _n("Show result in &folder"), "folder", "Ctrl+Shift+F", "cache", 3,
         _n("Show the result of the job in the file manager"), "jobs", when=lambda s: s.job_fruit),
    Spec("refresh", _n("Re&fresh"), "refresh", "F5", "view", 0,
         _n("Read the place again"), "entries places", short=_n("Refresh")),
    Spec("read-all", _n("Read a&ll entries"), "refresh", "", "view", 0,
         _n("Also read the entries that the time limit of the place left unread"),
         "entries", when=lambda s: s.put_off),
    Spec("map", _n("Show or hide &map"), "map", "Ctrl+M", "view", 0,
         _n("Show or hide the map of sizes above the table")),
    Spec("apart", _n("Show loc&ks, headers and unknown files"), "lock", "", "view", 0,
         _n("Also show the files that are not entries; totals leave them out"),
         on=lambda s: s.apart),
    Spec("inspector", _n("Show or hide &inspector"), "inspector", "Ctrl+Shift+I", "view", 0,
         _n("Show or hide the details of the selected entry"), short=_n("Inspector")),
    Spec("sidebar", _n("Show or &hide sidebar"), "sidebar", "F9", "view", 0,
         _n("Show or hide the list of pages, places and environments")),
    Spec("environment-use", _n("&Use it"), "done", "", "environment", 0,
         _n("Use the environment that is marked in the sidebar"), "environments",
         when=lambda s: s.environment and not s.environment_used),
    Spec("environment-none", _n("&No environment"), "cancel", "", "environment", 0,
         _n("Work without an environment: verdicts are off"), "environments"),
    Spec("environment-doctor", _n("Check &health"), "doctor", "", "environment", 1,
         _n("Use it, and check its caches and settings"),
         "environments", when=lambda s: s.environment_has_torch),
    Spec("environment-prepare", _n("&Prepare…"), "prepare", "", "environment", 1,
         _n("Build the C++ header ahead of its first compile"), "environments",
         when=lambda s: s.environment_has_torch),
    Spec("environment-ask", _n("&Ask again"), "refresh", "", "environment", 1,
         _n("Start the interpreter and ask it again; this takes some seconds"),
         "environments", when=lambda s: s.environment),
    Spec("environment-copy", _n("&Copy path"), "copy", "", "environment", 2,
         _n("Copy the path of the interpreter"), "environments", when=lambda s: s.environment),
    Spec("environment-remove", _n("&Remove from list"), "folder-remove", "", "environment", 2,
         _n("Remove the interpreter that you added from the list; its files stay"),
         "environments", when=lambda s: s.environment_added),
    Spec("environments", _n("&Environments…"), "machine", "Ctrl+Shift+E", "view", 1,
         _n("The interpreters of the machine that is shown, with their torch and hardware"),
         "environments"),
    Spec("add-interpreter", _n("A&dd interpreter…"), "folder-add", "", "view", 1,
         _n("Add a Python interpreter to the list of environments, and use it"), "environments"),
    Spec("add-target", _n("&Add target…"), "fleet", "", "view", 1,
         _n("Add a machine, a group of them or a cluster to the targets of fleets"), "targets"),
    Spec("remove-target", _n("&Remove target from list"), "folder-remove", "", "view", 1,
         _n("Remove the marked target from the list; nothing changes there"), "targets",
         when=lambda s: s.target),
    Spec("notify", _n("&Notify when a job ends"), "", "", "view", 2,
         _n("Show a notification when a job of over ten seconds ends and the window is not "
            "in front"), on=lambda s: s.notify),
    Spec("only-usable", _n("&Usable"), "verdict-usable", "", "only", 0,
         _n("Show entries that a program with the environment's defaults finds"),
         when=lambda s: s.place),
    Spec("only-conditional", _n("&Conditional"), "verdict-conditional", "", "only", 0,
         _n("Show entries that a program finds if it meets a condition"), when=lambda s: s.place),
    Spec("only-unknown", _n("U&nknown"), "verdict-unknown", "", "only", 0,
         _n("Show entries that do not record whether a program finds them"),
         when=lambda s: s.place),
    Spec("only-unsafe", _n("Unsa&fe"), "verdict-unsafe", "", "only", 0,
         _n("Show entries that PyTorch loads here although they are for another machine"),
         when=lambda s: s.place),
    Spec("only-stale", _n("&Stale"), "verdict-stale", "", "only", 0,
         _n("Show entries that no program finds here"), when=lambda s: s.place),
    Spec("only-broken", _n("&Broken"), "verdict-broken", "", "only", 0,
         _n("Show entries that are damaged or lack something they need"), when=lambda s: s.place),
    Spec("only-any", _n("&All verdicts"), "select-all", "", "only", 1,
         _n("Show entries with any verdict"), when=lambda s: s.place),
    Spec("group-none", _n("&None"), "", "Ctrl+Alt+0", "group", 0,
         _n("Show all entries as one list"), chosen=lambda s: s.grouping == "none"),
    Spec("group-kind", _n("&Kind"), "", "Ctrl+Alt+1", "group", 0,
         _n("Group the entries by kind"), chosen=lambda s: s.grouping == "kind"),
    Spec("group-verdict", _n("&Verdict"), "", "Ctrl+Alt+2", "group", 0,
         _n("Group the entries by verdict"),
         chosen=lambda s: s.grouping == "verdict"),
    Spec("group-torch", _n("&Torch version"), "", "Ctrl+Alt+3", "group", 0,
         _n("Group the entries by the version of torch"),
         chosen=lambda s: s.grouping == "torch"),
    Spec("group-age", _n("&Age"), "", "Ctrl+Alt+4", "group", 0,
         _n("Group the entries by age: today, this week and so on"),
         chosen=lambda s: s.grouping == "age"),
    Spec("group-rank", _n("&Rank"), "", "Ctrl+Alt+5", "group", 0,
         _n("Group the entries by the rank of a server, such as vLLM’s, that has them"),
         chosen=lambda s: s.grouping == "rank"),
    Spec("expand-all", _n("&Expand all groups"), "expand", "Ctrl+Alt+Right", "group", 1,
         _n("Show the entries under all headings"),
         when=lambda s: s.grouping != "none" and s.shown > 0),
    Spec("collapse-all", _n("&Collapse all groups"), "collapse", "Ctrl+Alt+Left", "group", 1,
         _n("Show the headings only"), when=lambda s: s.grouping != "none" and s.shown > 0),
    Spec("overview", _n("&Overview"), "overview", "Ctrl+1", "go", 0,
         _n("What the caches of this machine hold and cost, and what you can remove"),
         on=_shown("overview")),
    Spec("entries", _n("&Entries"), "entries", "Ctrl+2", "go", 0,
         _n("The entries of the chosen place"), on=_shown("entries")),
    Spec("runs", _n("R&uns"), "runs", "Ctrl+3", "go", 0,
         _n("Programs that Torchkeeper ran: hits, misses and their causes"),
         on=_shown("runs"), also="Ctrl+Shift+R"),
    Spec("recipes", _n("&Recipes"), "recipes", "Ctrl+4", "go", 0,
         _n("What to compile ahead of time: your recipes, and the built-in one"),
         on=_shown("recipes"), also="Ctrl+R"),
    Spec("settings", _n("Profi&les"), "settings", "Ctrl+5", "go", 0,
         _n("Profiles of PyTorch's cache settings, and where each value comes from"),
         on=_shown("settings")),
    Spec("doctor", _n("&Health"), "doctor", "Ctrl+6", "go", 0,
         _n("Faults of caches, compilers and settings, and their fixes"), "places",
         on=_shown("doctor"), also="Ctrl+H"),
    Spec("fleet", _n("Flee&t"), "fleet", "Ctrl+7", "go", 0,
         _n("Many machines that warm one place: their nodes, cells and proof"),
         on=_shown("fleet")),
    Spec("compare", _n("&Compare…"), "compare", "", "go", 0,
         _n("The differences between two selected entries; without two, earlier comparisons")),
    Spec("activity", _n("&Activity"), "activity", "Ctrl+J", "go", 0,
         _n("Go to the drawer of jobs, with progress, results and history; in it, close it"),
         on=lambda s: s.drawer),
    Spec("palette", _n("Co&mmand palette…"), "keyboard", "Ctrl+K", "go", 1,
         _n("Find an action, page, place, environment, recipe or setting by its name")),
    Spec("next-part", _n("Next &part of the window"), "next", "F6", "go", 1,
         _n("Go from the sidebar to the bars, the page, the inspector, the toolbar, the jobs")),
    Spec("back", _n("&Back"), "back", "Alt+Left", "go", 1,
         _n("Go back to the previous page"), when=lambda s: s.back),
    Spec("forward", _n("&Forward"), "forward", "Alt+Right", "go", 1,
         _n("Go forward to the next page"), when=lambda s: s.forward),
    Spec("first-steps", _n("&First steps"), "guide", "", "help", 0,
         _n("A guided tour with the built-in recipe")),
    Spec("manual", _n("&Manual"), "manual", "", "help", 0,
         _n("The manual of Torchkeeper, with a search field")),
    Spec("shortcuts", _n("&Keyboard shortcuts"), "keyboard", "F1", "help", 0,
         _n("All shortcuts on one page")),
    Spec("glossary", _n("&Glossary…"), "glossary", "Ctrl+F1", "help", 0,
         _n("The terms of this window: verdict, key factor, mega-cache and others")),
    Spec("explain", _n("&Explain this"), "help", "Shift+F1", "help", 0,
         _n("Explain the control that has the focus; in dialogs, too")),
    Spec("whats-this", _n("&What’s this?"), "help", "Ctrl+Shift+F1", "help", 0,
         _n("Then click on anything to learn what it means")),
    Spec("about", _n("&About Torchkeeper"), "info", "", "help", 0, _n("Version and licence")),
)  # fmt: skip

_OF_SERVERS = ("edit-server", "enter-password", "forget-password", "rename-server", "server",
               "expiry")  # fmt: skip

#: Those for which a place has to be a file.
_OF_BUNDLES = ("sign",)
BY_ID = {spec.id: spec for spec in ACTIONS}
#: Said of an action that the switch of the place keeps from being used.
HELD = _n("This place is read-only. To change it, take File > Read-only off first")
_FILTERED = _n("The filter is not valid. Correct it, or press Esc in it to clear it")
_ON_SERVER = _n("Verify runs PyTorch on a copy of a folder. Copy this server’s entries to a folder "
                "with “Copy to…”, and verify that folder")  # fmt: skip
_SIGNED_HERE = _n("A key signs only what is on this machine. “Export…” signs what comes here")


def spec(ident: str) -> Spec:
    """An action of the table by its id. Raises KeyError where there is none."""
    return BY_ID[ident]


#: By the id of an action, what gives the method that does it: whose it is may be made only then.
Does = Mapping[str, Callable[[], Callable[[], object]]]


class Actions(QObject):
    """The QActions made from the table, for one window."""

    def __init__(self, window: QObject, does: Does, go: Callable[[str], object]) -> None:
        """does: what does each action that goes to no page. go: goes to a page."""
        super().__init__(window)
        self._window, self._does, self.go = window, does, go
        self._made: dict[str, QAction] = {}
        #: Why some are off where that can be helped, by their ids.
        self._held: dict[str, str] = {}
        self._choices: dict[str, QActionGroup] = {}
        #: The context menu that is open; "" for none.
        self.over = ""
        self.situation = Situation()
        theme.follow(self, self._paint)

    def __getitem__(self, ident: str) -> QAction:
        """The action; made when it is first asked for, for most are only in menus."""
        if ident not in self._made:
            self._made[ident] = self._make(BY_ID[ident])
        return self._made[ident]

    def _make(self, spec: Spec) -> QAction:
        action = QAction(tr(spec.text), self._window)
        action.setCheckable(spec.chosen is not None or spec.on is not None)
        if spec.chosen is not None:
            self._choices.setdefault(spec.menu, QActionGroup(self)).addAction(action)
        action.setObjectName(spec.id)
        action.setIconText(tr(spec.short or spec.text).replace("&", ""))
        if spec.shortcut:
            action.setShortcuts([QKeySequence(x) for x in (spec.shortcut, spec.also) if x])
        self._hint(spec, action, "")
        action.triggered.connect(lambda _checked=False: self._do(spec, action))
        if spec.icon:
            action.setIcon(theme.icon(spec.icon))
        self._suit(spec, action)
        return action

    def _do(self, spec: Spec, action: QAction) -> None:
        if spec.id in PAGES:
            # It has switched itself, which says nothing of the page.
            action.setChecked(self.situation.page == spec.id)
            self.go(spec.id)
        else:
            self._does[spec.id]()()

    def _why_off(self, spec: Spec, here: bool) -> str:
        """Why it cannot be used, where that can be helped."""
        now = self.situation
        if now.read_only and spec.when(now._replace(read_only=False)):
            return HELD
        if spec.id == "verify" and now.scheme.remote_cache:
            return _ON_SERVER
        if spec.id == "sign" and now.scheme.elsewhere:
            return _SIGNED_HERE
        return _FILTERED if here and spec.when(now._replace(filter_valid=True)) else ""

    def _suit(self, spec: Spec, action: QAction) -> None:
        # What is about entries alone is for the page that shows them: they are not seen on others.
        here = self.situation.page == ENTRIES or spec.context != "entries"
        able = here and spec.when(self.situation)
        action.setEnabled(able)
        held = "" if able else self._why_off(spec, here)
        if held != self._held.get(spec.id, ""):
            self._hint(spec, action, held)
        if spec.about is not None:
            self._name(spec, action, held)
        if (checked := spec.chosen or spec.on) is not None:
            action.setChecked(checked(self.situation))

    def held(self, ident: str) -> str:
        """What to do about an action that is off, where that can be helped; else nothing."""
        return tr(why) if (why := self._held.get(ident)) else ""

    def update(self, situation: Situation) -> None:
        """Switch each action on or off."""
        if situation != self.situation:
            self.situation = situation
            for ident, action in self._made.items():
                self._suit(BY_ID[ident], action)

    def _name(self, spec: Spec, action: QAction, held: str) -> None:
        text = (spec.about and spec.about(self.situation)) or tr(spec.text)
        if text != action.text():
            action.setText(text)
            action.setIconText(text.replace("&", ""))
            self._hint(spec, action, held)

    def _hint(self, spec: Spec, action: QAction, held: str) -> None:
        """Say what an action does; where it is ``held``, why it cannot."""
        self._held[spec.id] = held
        text = tr(held or spec.hint)
        if not held and action.text() != tr(spec.text):
            text = f"{action.iconText()}: {text}"
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(tip(f"{text} ({keys})" if keys and not held else text))
        action.setStatusTip(text)

    def _paint(self) -> None:
        for ident, action in self._made.items():
            if icon := BY_ID[ident].icon:
                action.setIcon(theme.icon(icon))

    def fill(self, menu: QMenu, specs: Iterable[Spec]) -> None:
        """Add actions to a menu, with a line between groups."""
        group = None
        for spec in specs:
            if group is not None and (spec.menu, spec.group) != group:
                menu.addSeparator()
            group = (spec.menu, spec.group)
            menu.addAction(self[spec.id])

    def menu(self, name: str) -> list[Spec]:
        """The actions of one menu of the menu bar, or of one in it."""
        return [spec for spec in ACTIONS if spec.menu == name]

    def context(self, name: str) -> list[Spec]:
        """The actions of one context menu; those of other kinds of places are left out."""
        server = not self.situation.scheme.is_files or self.situation.chosen_server
        others = [*(() if server else _OF_SERVERS)]
        others += () if self.situation.place_is_bundle else _OF_BUNDLES
        return [spec for spec in ACTIONS if name in spec.context.split() and spec.id not in others]

    def toolbar(self) -> list[Spec]:
        """The actions on the toolbar, the main job first."""
        order = ("warm", "verify", "export", "import", "purge", "clean-up", "refresh", "inspector")
        return sorted((s for s in ACTIONS if s.short), key=lambda s: order.index(s.id))
