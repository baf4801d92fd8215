"""The places on the left: found on this machine, and added by the user."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QAbstractListModel, QCoreApplication, QModelIndex, QObject, QSettings, Qt

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.words import owned, say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import several
from torchkeeper.gui import theme
from torchkeeper.gui.widgets.lists import Index
from torchkeeper.gui.widgets.plain import shown, tip
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.gui.sidebar.standing import Standing
    from torchkeeper.gui.verdicts.verifications import Beside
    from torchkeeper.stores.shapes import Owned

_tr = partial(QCoreApplication.translate, "Places")


#: Where the user's own places are kept.
SETTING = "places/added"
#: Where the user's own names of servers are kept, as JSON: an object of names by place.
NAMES = "places/names"
#: With more places than these they stand under headings, where they are of several kinds.
FEW = 5
#: Ranks that are named.
_RANKS = 8
#: Where the folder of the last export is remembered.
EXPORTED_TO = "export/folder"


class Place(NamedTuple):
    """One place: where it is, why it is listed, and whether there is anything. added: put on the
    list by the user, who alone takes it off again. bundle: it is a file, which nothing can be
    written into. read_only: the user wants nothing to be changed in it. name: what the user calls a
    server, whose ``path`` is an address, without its password. ranks: the names of those that it
    has, as a key of vLLM's.
    """

    path: str
    reason: str = ""
    exists: bool = True
    added: bool = False
    bundle: bool = False
    read_only: bool = False
    name: str = ""
    ranks: tuple[str, ...] = ()

    @property
    def server(self) -> bool:
        """Whether it is a Redis, and no path."""
        return not scheme_of(self.path).is_files

    @property
    def near(self) -> bool:
        """Whether it is within reach of this machine's programs."""
        return not machine_of(self.path, way=True)

    @property
    def group(self) -> int:
        """Where it stands on the list: found, added, elsewhere, a server, or a bundle."""
        if not self.near:
            return 2
        return 3 if self.server else 4 if self.bundle else int(self.added)

    @property
    def takes(self) -> bool:
        """Whether entries can be copied to it; what is missing would be made."""
        bundle = self.bundle or (
            not self.near and scheme_of(self.path).becomes(self.path) == "bundle"
        )
        return not bundle and not self.read_only

    @property
    def icon(self) -> str:
        """The name of its icon."""
        if self.server or not self.near:
            return "server" if self.server else "machine"
        return "folder-missing" if not self.exists else "box" if self.bundle else "folder"

    @property
    def title(self) -> str:
        """The last part of its path; of a server its name, or host, port and database."""
        if self.server:
            return printable(self.name, 80) if self.name else printable(_address(self.path)[0])
        folder, name = self._parts
        return printable(name or folder)

    @property
    def _parts(self) -> tuple[str, str]:
        """The folder it is in, of one on another machine with that, and its own name there."""
        if not self.near and (parts := _far_parts(self.path)):
            return parts
        folder, _, name = self.path.rstrip("/").rpartition("/")
        return folder or "/", name

    @property
    def about(self) -> str:
        """The folder it is in, and of a key what wrote that; of a server, how it is reached, and
        what says where it is.
        """
        if not self.server:
            if self.ranks:
                server = {"vllm": "vLLM"}.get(self.reason, printable(self.reason, 40))
                return f"{server} · {several(len(self.ranks), '{n} rank', '{n} ranks')}"
            return printable(self._parts[0])
        title, about = map(printable, _address(self.path))
        if self.name:
            return title
        return f"{about} · {printable(self.reason)}" if self.reason and not self.added else about

    @property
    def file_name(self) -> str:
        """What a file made from it can be called."""
        if self.server:
            return self.title.replace("/", "-").replace(":", "-").strip("-") or "redis"
        name = self._parts[1].removesuffix(".torchcache")
        return printable(name or "cache", 80)


@functools.cache
def _address(place: str) -> tuple[str, str]:
    # Loaded where a server is shown: most windows show none.
    from torchkeeper.stores.redis.address import parse

    try:
        address = parse(place).address
    except Problem:
        return place, _tr("Redis")
    user = f"{address.username}@" if address.username else ""
    way = f"{host_of(address.way)} · " if address.way else ""
    if address.scheme == "unix":
        folder, _, socket = address.path.rpartition("/")
        return f"{user}{socket}/{address.db}", way + _tr("Redis in {}").format(folder or "/")
    host = f"[{address.host}]" if ":" in address.host else address.host
    reached = _tr("Redis over TLS") if address.scheme == "rediss" else _tr("Redis")
    return f"{user}{host}:{address.port}/{address.db}", way + reached


@functools.cache
def _far_parts(place: str) -> tuple[str, str] | None:
    from torchkeeper.stores.ssh import SCHEME, parse

    try:
        address = parse(place)
    except Problem:
        return None
    machine = address.machine[len(SCHEME) :]
    folder, _, name = address.path.rpartition("/")
    return (f"{machine} · {folder or '/'}", name) if name else (machine, "")


def reason_words(place: Place) -> str:
    """Why a place is on the list."""
    if place.added:
        return _tr("Added by you")
    if place.reason.isupper():
        return _tr("The environment variable {} names it").format(printable(place.reason))
    return {
        "default": _tr("Where torch.compile keeps its cache by default"),
        "triton-default": _tr("Where Triton keeps its kernels by default"),
        "vllm": _tr("A key of vLLM’s"),
        "ondisk": _tr("A generic cache of PyTorch"),
        "temporary": _tr("In the temporary folder"),
        "filled": _tr("Filled by Torchkeeper"),
        "": "",
    }.get(place.reason, _tr("A cache of {}").format(printable(place.reason)))


def _names(settings: QSettings) -> dict[str, str]:
    """The names of servers that are kept; of what is damaged, what makes sense."""
    try:
        found = json.loads(str(settings.value(NAMES) or "{}"))
    except (ValueError, RecursionError):
        return {}
    kept = found.items() if isinstance(found, dict) else ()
    return {place: name for place, name in kept if isinstance(name, str)}


@functools.cache
def machine_of(place: str, way: bool = False) -> str:
    """The machine whose engines are asked about a place; "" is this one. way: instead, the machine
    through which it is reached.
    """
    scheme = scheme_of(place)
    try:
        return scheme.way(place) if way else scheme.machine(place)
    except Problem:
        return ""


def host_of(machine: str) -> str:
    """What a machine is called."""
    return printable(machine.partition("://")[2], 120)


class Way(NamedTuple):
    """The way to another machine. short: said beside a place there. line: the same in a sentence.
    role: the colour of the place's icon.
    """

    short: str = ""
    line: str = ""
    role: str = "muted"

    @classmethod
    def of(cls, machine: str, state: object) -> Way:
        """As ``Ways.reached`` tells it."""
        host = host_of(machine)
        if state is None:
            return cls(_tr("connecting…"), _tr("Connecting to {}…").format(host))
        if isinstance(state, int):
            said = _tr("Connecting to {}: it has said nothing for {} seconds").format(host, state)
            return cls(_tr("no answer yet"), said)
        if isinstance(state, UserError):
            return cls(_tr("no connection"), f"{state.what} {state.why}", "warning")
        return cls("", _tr("Connected to {}").format(host), "text")


class PlacesModel(QAbstractListModel):
    """The places: those found, those added, servers, and bundles."""

    PlaceRole = Qt.ItemDataRole.UserRole + 1
    #: The last verification of it, a ``verifications.Beside``, or None.
    VerifiedRole = Qt.ItemDataRole.UserRole + 2
    #: Whether there are warnings about who else can change it.
    WarnedRole = Qt.ItemDataRole.UserRole + 3
    #: A ``sidebar.standing.Standing``, or None where nothing is known.
    StandingRole = Qt.ItemDataRole.UserRole + 4
    #: The heading over it; empty where it has none.
    HeadingRole = Qt.ItemDataRole.UserRole + 5
    #: Of one on another machine, the ``Way`` there.
    WayRole = Qt.ItemDataRole.UserRole + 6

    def __init__(self, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._read_only: set[str] = set()
        self._verified: dict[str, Beside] = {}
        self._names = _names(settings)
        #: Who else can change what lies in a place, as engines have found.
        self._owners: dict[str, list[Owned]] = {}
        self._standing: dict[str, Standing] = {}
        #: By machine.
        self._ways: dict[str, Way] = {}
        self._places = [self._marked(Place(path, added=True)) for path in self._kept(SETTING)]
        self._places.sort(key=lambda place: place.group)

    def _marked(self, place: Place) -> Place:
        name = self._names.get(place.path, "")
        return place._replace(read_only=place.path in self._read_only, name=name)

    def _kept(self, setting: str) -> list[str]:
        kept = self._settings.value(setting, [])
        # A list of one comes back as a string.
        kept = [kept] if isinstance(kept, str) else kept
        return [str(path) for path in kept if path] if isinstance(kept, list) else []

    def _keep(self) -> None:
        self._settings.setValue(SETTING, [p.path for p in self._places if p.added])

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._places)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._places):
            return None
        place = self._places[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return place.title
        if role == PlacesModel.PlaceRole:
            return place
        if role == PlacesModel.VerifiedRole:
            return self._verified.get(place.path)
        if role == PlacesModel.WarnedRole:
            return bool(owned.grave(self._owners.get(place.path)))
        if role == PlacesModel.StandingRole:
            return self._standing.get(place.path)
        if role == PlacesModel.WayRole:
            return self._way(place)
        if role == PlacesModel.HeadingRole:
            return self._heading(index.row())
        if role == Qt.ItemDataRole.EditRole:
            return place.name or place.title
        if role == Qt.ItemDataRole.DecorationRole:
            return theme.icon(place.icon, None if place.exists else theme.shades().muted)
        beside, standing = self._verified.get(place.path), self._standing.get(place.path)
        if role == Qt.ItemDataRole.ToolTipRole:
            lines = [printable(place.path), reason_words(place)]
            lines += [_tr("Read-only: nothing is changed in it")] if place.read_only else []
            lines += (
                [printable(say.together(list(place.ranks), _RANKS), 400)] if place.ranks else []
            )
            lines += [] if place.exists else [_tr("There is nothing at this path now")]
            lines += [one.what for one in owned.told(self._owners.get(place.path))]
            lines += [beside.line, beside.more] if beside is not None else []
            lines += standing.lines if standing is not None else []
            lines += [self._way(place).line]
            return tip("\n".join(filter(None, lines)))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            state = "" if place.exists else _tr(", missing")
            state += _tr(", read-only") if place.read_only else ""
            said = [beside.line] if beside is not None else []
            said += [one.short for one in owned.told(self._owners.get(place.path))]
            said += standing.lines if standing is not None else []
            said += filter(None, [self._way(place).line])
            state += "".join(f", {line}" for line in said)
            return shown(f"{place.title}, {printable(place.path)}{state}")
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        made = super().flags(index)
        place = self.place_at(index)
        return made | Qt.ItemFlag.ItemIsEditable if place is not None and place.server else made

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Call a server otherwise."""
        place = self.place_at(index)
        if place is None or not place.server or role != Qt.ItemDataRole.EditRole:
            return False
        name = str(value).strip()
        if name != place.title:
            self.rename(place.path, name)
        return True

    def _heading(self, row: int) -> str:
        places, group = self._places, self._places[row].group
        # In order, so that the first and the last are of one group where all are.
        grouped = len(places) > FEW and places[0].group != places[-1].group
        if (row and places[row - 1].group == group) or not grouped:
            return ""
        return (_tr("On this machine"), _tr("Added"), _tr("On other machines"), _tr("Servers"),
                _tr("Bundles"))[group]  # fmt: skip

    def place_at(self, index: Index) -> Place | None:
        ok = index.isValid() and index.row() < len(self._places)
        return self._places[index.row()] if ok else None

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(self._places)

    def beside(self, place: str | None = None) -> tuple[Place, ...]:
        """The places on the machine of a place, which need not be on the list; without a place,
        those that programs of this machine can use.
        """
        if place is None:
            return tuple(one for one in self._places if one.near)
        machine = machine_of(place)
        return tuple(one for one in self._places if machine_of(one.path) == machine)

    def row_of(self, path: str) -> int:
        """The row of a path, or -1."""
        return next((n for n, p in enumerate(self._places) if p.path == path), -1)

    def found(self, places: list[Place]) -> None:
        """What an engine found on this machine, instead of what it found before."""
        paths = {place.path for place in places}
        for old in reversed(self.places):
            if not old.added and old.path not in paths:
                self._remove(self.row_of(old.path))
        at = 0
        for place in places:
            if (row := self.row_of(place.path)) < 0:
                self._insert(at, self._marked(place))
                at += 1
                continue
            # A folder the user added stays the user's, even when it is also found.
            added = self._places[row].added
            self._set(row, self._marked(place._replace(added=added)))
            at = at if added else max(at, row + 1)
        self._arrange()

    def add(self, path: str, exists: bool = True, bundle: bool = False) -> int:
        """Put a place on the list for good; returns its row."""
        self.put_back(len(self._places), Place(path, exists=exists, added=True, bundle=bundle))
        return self.row_of(path)

    def put_back(self, row: int, place: Place) -> None:
        if self.row_of(place.path) < 0:
            self._insert(min(row, len(self._places)), self._marked(place))
            self._arrange()
            self._keep()

    def may_shift(self, path: str, by: int) -> bool:
        """Whether a place of the user's has one to change places with, above or below it."""
        row = self.row_of(path)
        if row < 0 or not 0 <= row + by < len(self._places):
            return False
        one, other = self._places[row], self._places[row + by]
        return one.added and other.added and one.group == other.group

    def shift(self, path: str, by: int) -> None:
        """Have a place of the user's stand one higher, with -1, or lower, with 1."""
        if self.may_shift(path, by):
            row = self.row_of(path)
            self._move(row, row + by)
            self._keep()

    def set_read_only(self, path: str, read_only: bool) -> None:
        """Show a place as one that nothing is changed in, or no longer; Discovery keeps that."""
        self.told_read_only(self._read_only | {path} if read_only else self._read_only - {path})

    def told_read_only(self, paths: Iterable[str]) -> None:
        """Show these places, and no others, as such that nothing is changed in."""
        self._read_only = set(paths)
        for row, place in enumerate(self._places):
            self._set(row, self._marked(place))

    def told_verified(self, verified: dict[str, Beside]) -> None:
        """Show the last verification beside each of these places, and beside no others."""
        before, self._verified = self._verified, verified
        self._retold(before, verified)

    def _retold(self, before: Mapping[str, object], now: Mapping[str, object]) -> None:
        for row, place in enumerate(self._places):
            if before.get(place.path) != now.get(place.path):
                self.dataChanged.emit(self.index(row), self.index(row))

    def told_owners(self, found: Mapping[str, list[Owned] | None]) -> None:
        """Who else can change what lies in these places (folders.owners)."""
        before = self._owners
        self._owners = before | {path: told or [] for path, told in found.items()}
        for row, place in enumerate(self._places):
            if self._owners.get(place.path, []) != before.get(place.path, []):
                self.dataChanged.emit(self.index(row), self.index(row))

    def told_way(self, machine: str, state: object) -> None:
        """There is news of the way to a machine (``Ways.reached``)."""
        self._ways[machine] = Way.of(machine, state)
        self.repaint()

    @property
    def connected(self) -> list[str]:
        """The machines to which there is a way."""
        return [machine for machine, way in self._ways.items() if way.role == "text"]

    def _way(self, place: Place) -> Way:
        return self._ways.get(machine_of(place.path, way=True), Way())

    def told_standing(self, known: dict[str, Standing]) -> None:
        """How these places stand; of others nothing is known."""
        before, self._standing = self._standing, known
        self._retold(before, known)

    def owners(self, path: str) -> list[Owned]:
        """The same of one place, as far as it is known."""
        return self._owners.get(path, [])

    def meant(self, path: str) -> str:
        """What of that may be meant, in a few words."""
        return owned.short([one for one in self.owners(path) if not one["grave"]])

    def read_only(self, path: str) -> bool:
        return path in self._read_only

    def title(self, path: str) -> str:
        """What a place is called, on the list or not."""
        return self._marked(Place(path)).title

    def rename(self, path: str, name: str) -> None:
        """Call a server so from now on; without a name, by its address again."""
        self._names.pop(path, None)
        if name:
            self._names[path] = name
        self._settings.setValue(NAMES, json.dumps(self._names))
        if (row := self.row_of(path)) >= 0:
            self._set(row, self._marked(self._places[row]))

    def move(self, old: str, new: str) -> None:
        """A server that the user has added is somewhere else from now on."""
        row = self.row_of(old)
        if row >= 0 and self._places[row].added and self.row_of(new) < 0:
            self._set(row, self._marked(Place(new, added=True)))
            self._keep()

    def remove(self, row: int) -> None:
        """Take a place of the user's off the list. Nothing on the disk changes."""
        if self._places[row].added:
            self._remove(row)
            self._keep()

    def looked(self, path: str, what: str) -> None:
        """What is at a path: "folder", "file" or "missing"."""
        row = self.row_of(path)
        if row >= 0 and scheme_of(path).is_files and what:
            old = self._places[row]
            bundle = old.bundle if what == "missing" else what == "file"
            self._set(row, old._replace(exists=what != "missing", bundle=bundle))
            self._arrange()

    def repaint(self) -> None:
        """The colours have changed."""
        if self._places:
            self.dataChanged.emit(self.index(0), self.index(len(self._places) - 1))

    def _set(self, row: int, place: Place) -> None:
        if self._places[row] != place:
            self._places[row] = place
            self.dataChanged.emit(self.index(row), self.index(row))

    def _arrange(self) -> None:
        """Have each stand with its like, in the order in which they came."""
        for row, place in enumerate(sorted(self._places, key=lambda place: place.group)):
            at = self.row_of(place.path)
            if at != row:
                self._move(at, row)

    def _move(self, row: int, to: int) -> None:
        self.beginMoveRows(QModelIndex(), row, row, QModelIndex(), to + (to > row))
        self._places.insert(to, self._places.pop(row))
        self.endMoveRows()

    def _insert(self, row: int, place: Place) -> None:
        self.beginInsertRows(QModelIndex(), row, row)
        self._places.insert(row, place)
        self.endInsertRows()

    def _remove(self, row: int) -> None:
        self.beginRemoveRows(QModelIndex(), row, row)
        del self._places[row]
        self.endRemoveRows()
