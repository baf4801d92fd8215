"""One table of everything the user can do. Menus, toolbar, context menus and the list of
shortcuts are all made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QObject
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu

from torchkeeper.gui import theme
from torchkeeper.gui.pages.table import ENTRIES, PAGES
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.scheme import Scheme


class Situation(NamedTuple):
    """What the window knows at one moment, when it decides which actions make sense."""

    place: bool = False
    place_added: bool = False
    place_is_folder: bool = False
    #: What the name of the place tells of it.
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
    #: Whether the chosen job has a dialog, and whether something came of it that can be opened.
    job_dialog: bool = False
    job_fruit: bool = False
    #: The path of the place that is shown, or its name where it is a server.
    path: str = ""
    #: What undo puts back: 12 entries (3.4 MB); empty where that is not known.
    undoable: str = ""

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


def _always(_: Situation) -> bool:
    return True


class Spec(NamedTuple):
    """One action. ``menu`` and ``group`` are its place.

    hint: one sentence for the tooltip and the status bar.
    context: the context menus it is in.
    short: the toolbar's text; empty where it is not on the toolbar.
    chosen: for one of several that exclude each other, whether it is the one.
    on: for a switch, whether it is on.
    about: what it is about at the moment, and the text that has it; empty where that is not known.
    also: a second shortcut.
    """

    id: str
    text: str
    icon: str
    shortcut: str
    hint: str
    when: Callable[[Situation], bool]
    menu: str
    group: int
    context: tuple[str, ...] = ()
    short: str = ""
    chosen: Callable[[Situation], bool] | None = None
    on: Callable[[Situation], bool] | None = None
    about: tuple[str, Callable[[Situation], str]] | None = None
    also: str = ""


_N = QT_TRANSLATE_NOOP


def _n(text: str) -> str:
    return str(_N("Actions", text))


MENUS = (
    ("file", _n("&File")),
    ("edit", _n("&Edit")),
    ("cache", _n("&Cache")),
    ("view", _n("&View")),
    ("go", _n("&Go")),
    ("help", _n("&Help")),
)

#: A menu in the View menu.
GROUP_MENU = ("group", _n("&Group by"))
#: Others.
ONLY_MENU = ("only", _n("&Show only"))
ENVIRONMENT_MENU = ("environment", _n("En&vironment"))

ACTIONS = (
    Spec("add-folder", _n("&Add folder…"), "folder-add", "Ctrl+O",
         _n("Put a cache folder on the list of places"),
         _always, "file", 0, ("places",)),
    Spec("add-server", _n("Add &server…"), "server", "Ctrl+Shift+S",
         _n("Put a Redis server on the list of places"),
         _always, "file", 0, ("places",)),
    Spec("open-bundle", _n("Open bund&le…"), "box", "",
         _n("Put a bundle on the list of places, to look at what is in it"),
         _always, "file", 0),
    Spec("read-only", _n("Read-&only"), "", "",
         _n("Have nothing in the place changed, by the window or by a command"),
         lambda s: s.place, "file", 0, ("places",),
         on=lambda s: s.read_only),
    Spec("edit-server", _n("Edi&t server…"), "server", "",
         _n("Change the address, login, certificates or name of the server"),
         lambda s: s.chosen_server, "file", 0, ("places",)),
    Spec("enter-password", _n("&Enter password…"), "unlock", "",
         _n("Give the password of the server that is shown, and read it again"),
         lambda s: s.scheme.may_want_password, "file", 0, ("places",)),
    Spec("forget-password", _n("For&get password"), "unlock", "",
         _n("Forget the password of the server, in the system's keyring too"),
         lambda s: s.chosen_server, "file", 0, ("places",)),
    Spec("rename-server", _n("Re&name server"), "rename", "",
         _n("Call the server otherwise on the list; F2 on the list does the same"),
         lambda s: s.chosen_server, "file", 0, ("places",)),
    Spec("place-up", _n("Move &up"), "up", "Ctrl+Alt+Up",
         _n("Have the place that you added stand one higher on the list"),
         lambda s: s.place_up, "file", 0, ("places",)),
    Spec("place-down", _n("&Move down"), "down", "Ctrl+Alt+Down",
         _n("Have the place that you added stand one lower on the list"),
         lambda s: s.place_down, "file", 0, ("places",)),
    Spec("place-folder", _n("Re&veal in folder"), "folder", "",
         _n("Show the folder or the bundle in the file manager"),
         lambda s: s.place and s.scheme.local, "file", 0, ("places",)),
    Spec("remove-place", _n("&Remove place from list"), "folder-remove", "",
         _n("Take the place off the list; nothing on the disk changes"),
         lambda s: s.place_added, "file", 0, ("places",)),
    Spec("import", _n("&Import…"), "import", "Ctrl+I",
         _n("Look into bundles or mega-caches and put their entries into a place"),
         _always, "file", 1, ("places",), _n("Import…")),
    Spec("export", _n("E&xport…"), "export", "Ctrl+E",
         _n("Write the selected entries, or all that are shown, into one bundle file"),
         lambda s: s.selected > 0 or (s.shown > 0 and s.filter_valid),
         "file", 1, ("entries",), _n("Export…")),
    Spec("sign", _n("Sign &bundle…"), "sign", "",
         _n("Put your signature into a bundle, so that others see that it is yours"),
         lambda s: not (s.place_is_bundle and s.read_only),
         "file", 1, ("places",)),
    Spec("signers", _n("Truste&d signers…"), "shield", "",
         _n("Whose signatures you trust, and whether to import nothing else"),
         _always, "file", 1),
    Spec("quit", _n("&Quit"), "quit", "Ctrl+Q",
         _n("Close the window; what is still running goes on in the background, or stops"),
         _always, "file", 2),
    Spec("find", _n("&Find"), "find", "Ctrl+F",
         _n("Go to the filter"),
         _always, "edit", 0),
    Spec("select-all", _n("Select &all"), "select-all", "Ctrl+A",
         _n("Select all entries that are shown"),
         lambda s: s.shown > 0, "edit", 0, ("entries",)),
    Spec("copy-key", _n("&Copy key"), "copy", "Ctrl+C",
         _n("Copy the keys of the selected entries"),
         lambda s: s.selected > 0, "edit", 1, ("entries",)),
    Spec("copy-path", _n("Cop&y path"), "copy", "Ctrl+Shift+C",
         _n("Copy the paths of the selected entries"),
         lambda s: s.selected > 0, "edit", 1, ("entries",)),
    Spec("paste", _n("Pa&ste"), "import", "Ctrl+V",
         _n("Open the files, the folder or the address on the clipboard, as if they were dropped "
            "here; on the Compare page, put an entry on a side"),
         _always, "edit", 1),
    Spec("copy-place", _n("Copy p&lace"), "copy", "",
         _n("Copy the path or the address of the chosen place; Ctrl+C on the list does the same"),
         lambda s: s.place, "edit", 1, ("places",)),
    Spec("copy-json", _n("Copy as &JSON"), "copy", "",
         _n("Copy the selected entries as ls --json prints them, one object a line"),
         lambda s: s.selected > 0, "edit", 1, ("entries",)),
    Spec("copy-command", _n("Copy as co&mmand"), "copy", "",
         _n("Copy the command that shows each selected key in a terminal"),
         lambda s: s.selected > 0, "edit", 1, ("entries",)),
    Spec("compare-two", _n("Compare bot&h"), "compare", "Ctrl+D",
         _n("Show what differs between the two selected entries, and which of it is the cause"),
         lambda s: s.selected == 2, "edit", 2, ("entries",)),
    Spec("compare-nearest", _n("Compare with &nearest"), "compare", "Ctrl+Shift+D",
         _n("Find the entry that is most like the selected one, in all places, and show what "
            "differs"),
         lambda s: s.comparable == 1, "edit", 2, ("entries",)),
    Spec("compare-as-a", _n("Compa&re as A"), "compare", "Ctrl+Alt+A",
         _n("Put the selected entry on side A of a comparison; side B may be of another place"),
         lambda s: s.comparable == 1, "edit", 2, ("entries",)),
    Spec("compare-as-b", _n("Compare as &B"), "compare", "Ctrl+Alt+B",
         _n("Put the selected entry on side B of a comparison; side A may be of another place"),
         lambda s: s.comparable == 1, "edit", 2, ("entries",)),
    Spec("warm", _n("&Warm…"), "warm", "Ctrl+Shift+W",
         _n("Compile ahead of time into a place"),
         _always, "cache", 0, ("places",), _n("Warm…")),
    Spec("verify", _n("Verif&y…"), "verify", "Ctrl+Shift+V",
         _n("Measure what a fresh process finds in the place: hits, rebuilt objects, and how many "
            "times as fast as cold"),
         lambda s: s.place_is_folder or s.place_is_bundle,
         "cache", 0, ("places",), _n("Verify…")),
    Spec("prepare", _n("P&repare environment…"), "prepare", "Ctrl+Shift+P",
         _n("Build the header that the first compile of an environment builds otherwise"),
         _always, "cache", 0),
    Spec("copy-to", _n("Copy &to…"), "copy-to", "Ctrl+T",
         _n("Copy the selected entries, or all that are shown, to another place or a new bundle"),
         lambda s: s.selected > 0 or (s.shown > 0 and s.filter_valid),
         "cache", 0, ("entries",)),
    Spec("purge", _n("Purge &selected…"), "purge", "Del",
         _n("Show what would go, then remove the selected entries"),
         lambda s: s.selected > 0 and s.can_purge,
         "cache", 1, ("entries",), _n("Purge…")),
    Spec("purge-shown", _n("P&urge all shown…"), "purge", "Ctrl+Shift+Del",
         _n("Show what would go, then remove every entry the filter shows"),
         lambda s: s.shown > 0 and s.can_purge and s.filter_valid,
         "cache", 1, ("entries",)),
    Spec("clean-up", _n("&Clean up…"), "clean", "Ctrl+Shift+K",
         _n("Show what is dead in the place and how much that frees: stale, broken, unused"),
         lambda s: s.place_is_folder or s.scheme.remote_cache,
         "cache", 1, ("places",), _n("Clean up…")),
    Spec("undo", _n("Undo &purge"), "undo", "Ctrl+Z",
         _n("Put back what the last purge of this place moved to the trash"),
         lambda s: s.can_change_trash, "cache", 1, ("places",),
         about=(_n("Undo &purge of {}"), lambda s: s.undoable)),
    Spec("empty-trash", _n("Empty tras&h…"), "empty", "",
         _n("Delete for good what was purged from this place"),
         lambda s: s.can_change_trash, "cache", 1, ("places",)),
    Spec("expiry", _n("Set &expiry…"), "queued", "",
         _n("Say when the server drops the selected entries by itself, if ever"),
         lambda s: s.selected > 0 and s.scheme.keeps_times and not s.read_only,
         "cache", 1, ("entries",)),
    Spec("server", _n("Ser&ver…"), "server", "",
         _n("How full the server is, how it is used, and what that means"),
         lambda s: s.scheme.remote_cache, "cache", 1, ("places",)),
    Spec("cancel-job", _n("Cancel &job"), "cancel", "Ctrl+.",
         _n("Stop the chosen job at once"),
         lambda s: s.job_active, "cache", 2, ("jobs",)),
    Spec("show-log", _n("Show job &log"), "log", "Ctrl+L",
         _n("Go to the log of the chosen job"),
         lambda s: s.job, "cache", 2, ("jobs",)),
    Spec("show-result", _n("Show job progress &and result"), "info", "Ctrl+Shift+L",
         _n("How far the chosen export, import or copy is, or what came of it"),
         lambda s: s.job_dialog, "cache", 3, ("jobs",)),
    Spec("open-result", _n("&Open result"), "box", "Ctrl+Shift+O",
         _n("Open what the job wrote, with the entries that it put there selected"),
         lambda s: s.job_fruit, "cache", 3, ("jobs",)),
    Spec("show-in-folder", _n("Show result in &folder"), "folder", "Ctrl+Shift+F",
         _n("Show what came of the job in the file manager"),
         lambda s: s.job_fruit, "cache", 3, ("jobs",)),
    Spec("refresh", _n("Re&fresh"), "refresh", "F5",
         _n("Read the place again"),
         _always, "view", 0, ("entries", "places"), _n("Refresh")),
    Spec("read-all", _n("Read a&ll entries"), "refresh", "",
         _n("Read also what takes longer than the place is given for its size on the disk"),
         lambda s: s.put_off, "view", 0, ("entries",)),
    Spec("map", _n("Show or hide &map"), "map", "Ctrl+M",
         _n("Show or hide the map of what takes how much room, over the table"),
         _always, "view", 0),
    Spec("apart", _n("Show loc&ks, headers and unknown files"), "lock", "",
         _n("Show also what is no entry, and is counted apart"),
         _always, "view", 0, on=lambda s: s.apart),
    Spec("inspector", _n("Show or hide &inspector"), "inspector", "Ctrl+Shift+I",
         _n("Show or hide what there is to know of the selected entry"),
         _always, "view", 0),
    Spec("sidebar", _n("Show or &hide sidebar"), "sidebar", "F9",
         _n("Show or hide the list of pages, places and environments"),
         _always, "view", 0),
    Spec("environment-use", _n("&Use for verdicts"), "done", "",
         _n("Have verdicts be about the environment that is marked in the sidebar"),
         lambda s: s.environment and not s.environment_used,
         "environment", 0, ("environments",)),
    Spec("environment-none", _n("&No verdicts"), "cancel", "",
         _n("Ask no environment what is of use in it"),
         _always, "environment", 0, ("environments",)),
    Spec("environment-doctor", _n("Doctor &for it"), "doctor", "",
         _n("Have verdicts be about it, and look for what is wrong with what it uses"),
         lambda s: s.environment_has_torch,
         "environment", 1, ("environments",)),
    Spec("environment-prepare", _n("&Prepare…"), "prepare", "",
         _n("Build the header that its first compile builds otherwise"),
         lambda s: s.environment_has_torch,
         "environment", 1, ("environments",)),
    Spec("environment-ask", _n("&Ask again"), "refresh", "",
         _n("Start the interpreter and ask it anew what it is, which takes seconds"),
         lambda s: s.environment, "environment", 1, ("environments",)),
    Spec("environment-copy", _n("&Copy path"), "copy", "",
         _n("Copy the path of the interpreter"),
         lambda s: s.environment, "environment", 2, ("environments",)),
    Spec("environment-remove", _n("&Remove from list"), "folder-remove", "",
         _n("Take the interpreter that you added off the list; nothing on the disk changes"),
         lambda s: s.environment_added,
         "environment", 2, ("environments",)),
    Spec("environments", _n("&Environments…"), "machine", "Ctrl+Shift+E",
         _n("The interpreters on this machine, their torch and what else decides"),
         _always, "view", 1, ("environments",)),
    Spec("add-interpreter", _n("A&dd interpreter…"), "folder-add", "",
         _n("Put a Python on the list of those that verdicts can be about"),
         _always, "view", 1, ("environments",)),
    Spec("notify", _n("&Notify when a job ends"), "", "",
         _n("Tell the desktop when a job of more than ten seconds has ended and the window is not "
            "in front"),
         _always, "view", 2, on=lambda s: s.notify),
    Spec("only-usable", _n("&Usable"), "verdict-usable", "",
         _n("Show what a program with the environment's defaults finds"),
         lambda s: s.place, "only", 0),
    Spec("only-conditional", _n("&Conditional"), "verdict-conditional", "",
         _n("Show what a program finds if it meets a condition"),
         lambda s: s.place, "only", 0),
    Spec("only-unknown", _n("U&nknown"), "verdict-unknown", "",
         _n("Show what does not record whether a program finds it"),
         lambda s: s.place, "only", 0),
    Spec("only-unsafe", _n("Unsa&fe"), "verdict-unsafe", "",
         _n("Show what PyTorch takes here although it is for another machine"),
         lambda s: s.place, "only", 0),
    Spec("only-stale", _n("&Stale"), "verdict-stale", "",
         _n("Show what no program finds here"),
         lambda s: s.place, "only", 0),
    Spec("only-broken", _n("&Broken"), "verdict-broken", "",
         _n("Show what is damaged, or lacks something it needs"),
         lambda s: s.place, "only", 0),
    Spec("only-any", _n("&All verdicts"), "select-all", "",
         _n("Show entries whatever their verdict"),
         lambda s: s.place, "only", 1),
    Spec("group-none", _n("&None"), "", "Ctrl+Alt+0",
         _n("Show all entries as one list"),
         _always, "group", 0, chosen=lambda s: s.grouping == "none"),
    Spec("group-kind", _n("&Kind"), "", "Ctrl+Alt+1",
         _n("Put the entries of each kind under a heading"),
         _always, "group", 0, chosen=lambda s: s.grouping == "kind"),
    Spec("group-verdict", _n("&Verdict"), "", "Ctrl+Alt+2",
         _n("Put usable, conditional, unknown, stale and broken entries under headings"),
         _always, "group", 0, chosen=lambda s: s.grouping == "verdict"),
    Spec("group-torch", _n("&Torch version"), "", "Ctrl+Alt+3",
         _n("Put the entries of each version of torch under a heading"),
         _always, "group", 0, chosen=lambda s: s.grouping == "torch"),
    Spec("group-age", _n("&Age"), "", "Ctrl+Alt+4",
         _n("Put the entries of today, this week and so on under headings"),
         _always, "group", 0, chosen=lambda s: s.grouping == "age"),
    Spec("expand-all", _n("&Expand all groups"), "expand", "Ctrl+Alt+Right",
         _n("Show the entries under all headings"),
         lambda s: s.grouping != "none" and s.shown > 0, "group", 1),
    Spec("collapse-all", _n("&Collapse all groups"), "collapse", "Ctrl+Alt+Left",
         _n("Show the headings only"),
         lambda s: s.grouping != "none" and s.shown > 0, "group", 1),
    Spec("overview", _n("&Overview"), "overview", "Ctrl+1",
         _n("What the caches of this machine hold and cost, and what of it could go"),
         _always, "go", 0, on=_shown("overview")),
    Spec("entries", _n("&Entries"), "entries", "Ctrl+2",
         _n("What the chosen place holds"),
         _always, "go", 0, on=_shown("entries")),
    Spec("compare", _n("&Compare"), "compare", "Ctrl+3",
         _n("What makes two entries different, and which of it is the cause"),
         _always, "go", 0, on=_shown("compare")),
    Spec("runs", _n("R&uns"), "runs", "Ctrl+Shift+R",
         _n("The programs that “torchkeeper run” ran: hits, misses, and what differed"),
         _always, "go", 0, on=_shown("runs"), also="Ctrl+4"),
    Spec("recipes", _n("&Recipes"), "recipes", "Ctrl+R",
         _n("What can be compiled ahead of time: your own recipes, and the one that comes with it"),
         _always, "go", 0, on=_shown("recipes"), also="Ctrl+5"),
    Spec("settings", _n("&Settings"), "settings", "Ctrl+,",
         _n("What steers PyTorch's caches: profiles of it, what is wrong with them, and where "
            "each value comes from"),
         _always, "go", 0, on=_shown("settings"), also="Ctrl+6"),
    Spec("doctor", _n("&Doctor"), "doctor", "Ctrl+H",
         _n("What is wrong with caches, with what compiles and with the settings, and a way to "
            "mend it"),
         _always, "go", 0, ("places",), on=_shown("doctor"), also="Ctrl+7"),
    Spec("activity", _n("&Activity"), "activity", "Ctrl+J",
         _n("Jobs: how far they are, what they say, what came of them, and those of before"),
         _always, "go", 0, on=_shown("activity"), also="Ctrl+8"),
    Spec("next-part", _n("Next &part of the window"), "next", "F6",
         _n("Go from the sidebar to the bars, the page, the inspector, the toolbar, the jobs"),
         _always, "go", 1),
    Spec("back", _n("&Back"), "back", "Alt+Left",
         _n("Show the page that was shown before"),
         lambda s: s.back, "go", 1),
    Spec("forward", _n("&Forward"), "forward", "Alt+Right",
         _n("Show the page again from which you came back"),
         lambda s: s.forward, "go", 1),
    Spec("first-steps", _n("&First steps"), "guide", "",
         _n("A guide through a whole round, on the recipe that comes with Torchkeeper"),
         _always, "help", 0),
    Spec("shortcuts", _n("&Keyboard shortcuts"), "keyboard", "F1",
         _n("All shortcuts on one page"),
         _always, "help", 0),
    Spec("ideas", _n("&Ideas…"), "ideas", "Ctrl+F1",
         _n("What the words of this window mean: verdict, key factor, mega-cache and others"),
         _always, "help", 0),
    Spec("explain", _n("&Explain this"), "help", "Shift+F1",
         _n("Say what the control means that has the keyboard; in dialogs, too"),
         _always, "help", 0),
    Spec("whats-this", _n("&What’s this?"), "help", "Ctrl+Shift+F1",
         _n("Then click on anything to learn what it means"),
         _always, "help", 0),
    Spec("about", _n("&About Torchkeeper"), "info", "",
         _n("Version and licence"),
         _always, "help", 0),
)  # fmt: skip

#: Actions that make sense for a server alone.
_OF_SERVERS = frozenset({"edit-server", "enter-password", "forget-password", "rename-server",
                         "server", "expiry"})  # fmt: skip

_BY_ID = {spec.id: spec for spec in ACTIONS}


#: Said of an action that the switch of the place keeps from being used.
_HELD = _n("This place is read-only. To change it, take File > Read-only off first")


def spec(ident: str) -> Spec:
    """An action of the table by its id. Raises KeyError where there is none."""
    return _BY_ID[ident]


def tr(text: str) -> str:
    """The translation of a text of the table."""
    return QCoreApplication.translate("Actions", text)


#: By the id of an action, what gives the method that does it: whose it is may be made only then.
Does = Mapping[str, Callable[[], Callable[[], object]]]


class Actions(QObject):
    """The QActions made from the table, for one window."""

    def __init__(self, window: QObject, does: Does, go: Callable[[str], object]) -> None:
        """does: what does each action that goes to no page. go: goes to a page."""
        super().__init__(window)
        self._window, self._does, self._go = window, does, go
        self._made: dict[str, QAction] = {}
        #: Those that are off for no other reason than that the place is read-only.
        self._held: set[str] = set()
        self._choices: dict[str, QActionGroup] = {}
        self._situation = Situation()
        theme.follow(self, self._paint)

    @property
    def situation(self) -> Situation:
        """What the window knew when it last decided which actions make sense."""
        return self._situation

    def __getitem__(self, ident: str) -> QAction:
        """The action; made when it is first asked for, for most are only in menus."""
        if ident not in self._made:
            self._made[ident] = self._make(_BY_ID[ident])
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
        self._hint(spec, action, False)
        action.triggered.connect(lambda _checked=False: self._do(spec, action))
        if spec.icon:
            action.setIcon(theme.icon(spec.icon))
        self._suit(spec, action)
        return action

    def _do(self, spec: Spec, action: QAction) -> None:
        if spec.id in PAGES:
            # It has switched itself, which says nothing of the page.
            action.setChecked(self._situation.page == spec.id)
            self._go(spec.id)
        else:
            self._does[spec.id]()()

    def _suit(self, spec: Spec, action: QAction) -> None:
        # What is about entries alone is for the page that shows them: they are not seen on others.
        here = self._situation.page == ENTRIES or spec.context != ("entries",)
        action.setEnabled(here and spec.when(self._situation))
        held = self._situation.read_only and not action.isEnabled()
        held = held and spec.when(self._situation._replace(read_only=False))
        if held != (spec.id in self._held):
            self._hint(spec, action, held)
        if spec.about is not None:
            self._name(spec, action, held)
        checked = spec.chosen or spec.on
        if checked is not None:
            action.setChecked(checked(self._situation))

    def held(self, ident: str) -> str:
        """What to do about an action that is off because the place is read-only; else nothing."""
        return tr(_HELD) if ident in self._held else ""

    def update(self, situation: Situation) -> None:
        """Switch each action on or off."""
        if situation != self._situation:
            self._situation = situation
            for ident, action in self._made.items():
                self._suit(_BY_ID[ident], action)

    def _name(self, spec: Spec, action: QAction, held: bool) -> None:
        """Say what an action is about now."""
        text, what = spec.about or ("", lambda _: "")
        said = what(self._situation)
        text = tr(text).format(said) if said else tr(spec.text)
        if text != action.text():
            action.setText(text)
            action.setIconText(text.replace("&", ""))
            self._hint(spec, action, held)

    def _hint(self, spec: Spec, action: QAction, held: bool) -> None:
        """Say what an action does; where it is ``held``, why it cannot."""
        self._held = self._held | {spec.id} if held else self._held - {spec.id}
        text = tr(_HELD if held else spec.hint)
        if not held and action.text() != tr(spec.text):
            text = f"{action.iconText()}: {text}"
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(tip(f"{text} ({keys})" if keys and not held else text))
        action.setStatusTip(text)

    def _paint(self) -> None:
        for ident, action in self._made.items():
            if icon := _BY_ID[ident].icon:
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
        """The actions of one context menu; what is only for servers is left out elsewhere."""
        server = not self._situation.scheme.local or self._situation.chosen_server
        return [
            spec for spec in ACTIONS
            if name in spec.context and (server or spec.id not in _OF_SERVERS)
        ]  # fmt: skip

    def toolbar(self) -> list[Spec]:
        """The actions on the toolbar, the main job first."""
        order = ("warm", "verify", "export", "import", "purge", "clean-up", "refresh")
        return sorted((s for s in ACTIONS if s.short), key=lambda s: order.index(s.id))
