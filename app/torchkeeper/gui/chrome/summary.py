"""The sentences of the window: totals, the trash, and what stands in for an empty table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts.entry import COMPARED, COUNTS, Entry, tally
from torchkeeper.artifacts.vllm import has_ranks, rank_of
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.places.listing import Listing
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.stores.names import is_called_file
from torchkeeper.stores.query import VERDICT

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Trash

_tr = partial(QCoreApplication.translate, "Summary")

#: Icon, title, text, button, action: what an EmptyState says and offers.
State = tuple[str, str, str, str, str]
#: What was typed that is no filter, and why; None where it is one.
Fault = tuple[str, str] | None


def status_text(
    listing: Listing, model: EntriesModel, selected: Sequence[Entry], size: int, judged: bool
) -> str:
    """The totals of what is shown, or selected; ``judged``: verdicts say what is broken."""
    if listing.place is None or listing.error is not None:
        return ""
    if selected:
        counts = tally(entry.kind for entry in selected if model.shows_apart)
        if say.apart(counts):
            return _tr("{} selected · {}").format(say.held(counts), say.content(size))
        shown = model.totals()
        whole = model.count if shown is None else shown.counts["entries"]
        of = f"{len(selected):,}", f"{whole:,}", say.content(size)
        return _tr("{} of {} selected · {}").format(*of)
    if listing.loading and not listing.result:
        reading = _tr("the place does not answer") if listing.silent else _reading(listing)
        if not model.count:
            return _begun(reading)
        return f"{say.count(model.count, 'entry', 'entries')} · {reading}"
    # Very many are added up a moment later.
    totals = model.totals()
    parts = [say.held(totals.counts if totals is not None else {"entries": model.count})]
    if totals is not None and totals.counts["entries"] != model.total and not model.query.apart:
        every = say.count(model.total, "entry", "entries")
        parts = [_tr("{} of {}").format(f"{totals.counts['entries']:,}", every)]
    if totals is not None:
        one, many = ("file", "files") if listing.scheme.is_files else ("key", "keys")
        parts += [say.count(totals.files, one, many), say.content(totals.size)]
        if totals.counts["entries"] and (beside := say.apart(totals.counts)):
            parts[0] = say.count(totals.counts["entries"], "entry", "entries")
            parts.append(f"{beside}, {say.content(totals.apart_size)}")
        if totals.broken and not judged:
            parts.append(_tr("{} broken").format(f"{totals.broken:,}"))
        if totals.unread:
            parts.append(_tr("{} not read").format(f"{totals.unread:,}"))
        if totals.orphans:
            parts.append(say.count(totals.orphans, "orphan", "orphans"))
    if listing.loading:
        parts.append(_tr("reading…"))
    elif listing.broken is not None:
        at = time.strftime("%H:%M", time.localtime(listing.read_at))
        parts.append(_tr("as of {}: no connection").format(at))
    return " · ".join(parts)


def apart_text(listing: Listing, model: EntriesModel) -> str:
    """What the place holds besides entries; empty where that needs no saying."""
    held = say.apart(model.every)
    if not held or model.query.apart:
        return ""
    if size := listing.result and listing.result.get("apart_bytes"):
        held = f"{held}, {say.content(size)}"
    if model.shows_apart:
        return _tr("Also shown, though not entries: {}.").format(held)
    return _tr("Hidden, because they are not entries: {}.").format(held)


def _reading(listing: Listing) -> str:
    done, total = f"{listing.done:,.0f}", f"{listing.total or listing.done:,.0f}"
    if listing.unit == "keys":
        return _tr("{} of about {} keys…").format(done, total)
    if listing.total:
        return _tr("reading {} of {}…").format(done, total)
    return _tr("looking: {} files…").format(done) if listing.done else _tr("reading…")


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


def trash_text(trash: Trash | None) -> str:
    """What lies in the trash; empty where there is nothing."""
    if trash is None or not (trash["bytes"] or any(trash[name] for name in COUNTS)):
        return ""
    return _tr("Trash {}").format(say.on_disk(trash["bytes"]))


def empty_state(
    listing: Listing, model: EntriesModel, known: bool, places: int, why: str, fault: Fault
) -> State | None:
    """What to show instead of the table, if anything; ``why`` there are no verdicts."""
    if listing.place is None:
        return _no_place(known, places)
    if listing.error is not None:
        return _unreadable(listing, listing.place, listing.error)
    if model.count:
        return None
    if model.rows:
        return _all_hidden(listing, model, why, fault)
    if listing.silent:
        icon, title = "folder", _tr("The place does not answer")
        text = _tr("The disk of {} is slow or gone. The entries appear as soon as it answers.")
        if listing.scheme.elsewhere:
            icon, title = "machine", _tr("No answer yet")
            text = _tr("The way to {} is slow, or ssh waits for an answer of yours. The entries "
                       "appear as soon as they come.")  # fmt: skip
        elif not listing.scheme.local:
            icon, title = "server", _tr("The server does not answer")
            text = _tr("{} is busy or out of reach. The entries appear as soon as it answers.")
        return icon, title, text.format(printable(listing.place)), _tr("Go to overview"), "overview"
    if listing.loading:
        so_far = [_begun(_reading(listing))] if listing.done or listing.total else []
        text = "\n".join([printable(listing.place), *so_far])
        if listing.scheme.lazy:
            return "server", _tr("Reading the keys…"), text, "", ""
        return "folder", _tr("Reading the place…"), text, "", ""
    if not listing.scheme.is_files:
        return ("server", _tr("This server holds no entries of torch.compile"),
                _tr("Warm fills a folder and publishes it here; “Copy to…” copies the entries of a "
                    "folder. PyTorch fills the server where TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE is "
                    "1 and TORCHINDUCTOR_REDIS_URL names it. Keys of other programs stay hidden."),
                _tr("Warm…"), "warm")  # fmt: skip
    if listing.scheme.elsewhere:
        text = _tr("Drop a bundle here to import it.")
        return "box", _tr("This cache is empty"), text, _tr("Import…"), "import"
    return ("box", _tr("This cache is empty"),
            _tr("Warm compiles into it ahead of time, so that the first call of a program is fast. "
                "You can also drop a bundle here to import it."), _tr("Warm…"),
            "warm")  # fmt: skip


def _unreadable(listing: Listing, place: str, error: UserError) -> State:
    if listing.gone or is_called_file(place):
        return ("folder-missing", _tr("This place no longer exists"),
                _tr("{} was moved or removed. When it is back, its entries are shown again.")
                .format(printable(place, 400)), _tr("Try again"), "refresh")  # fmt: skip
    if error.code == "place-missing" and not listing.scheme.elsewhere:
        text = _tr("PyTorch creates this folder when it first compiles. Warm fills it now.")
        return "folder-missing", _tr("This folder does not exist yet"), text, _tr("Warm…"), "warm"
    text = "\n".join(part for part in (error.why, error.remedy) if part)
    icon = "folder-missing" if listing.scheme.is_files else "server"
    icon = "machine" if listing.scheme.elsewhere else icon
    if icon == "server" and error.code in ("password-needed", "password-wrong"):
        return icon, error.what, text, _tr("Enter password…"), "enter-password"
    verb = _tr("Connect now") if listing.broken is not None else _tr("Try again")
    return icon, error.what, text, verb, "refresh"


def _all_hidden(listing: Listing, model: EntriesModel, unjudged: str, fault: Fault) -> State:
    if fault is not None:
        typed, why = fault
        title, text = _tr("The filter is not valid"), _tr("“{}” is not a filter: {}.")
        text = text.format(printable(typed, 120), why)
        return "find", title, text, _tr("Clear filter"), "clear-filter"
    if model.total and unjudged and VERDICT in model.query.fields:
        return ("machine", _tr("No verdicts yet"), unjudged, _tr("Clear filter"), "clear-filter")
    if not model.total and not model.query.text:
        from torchkeeper.artifacts.layout import cache_above  # few places are above a cache

        some = islice(model.every_row, 100) if listing.scheme.local else ()
        if inner := next(filter(None, (cache_above(row.entry.path) for row in some)), ""):
            text = _tr("The files here are those of a cache in a folder below: {}.")
            path = f"{listing.place}/{inner}"
            return "folder", _tr("The cache is below"), text.format(inner), _tr("Show it"), path
        return ("box", _tr("No entries here"),
                _tr("This place holds only files that are not entries: {}.")
                .format(say.apart(model.every)), _tr("Show it"), "apart")  # fmt: skip
    return ("find", _tr("Nothing matches the filter"),
            _tr("No entry matches “{}”. Words look in names and keys; kind:triton, size>10M, "
                "age>30d and torch:2.9 compare fields, is:stale, is:broken and is:orphan find "
                "entries that you can remove.").format(printable(model.query.text, 120)),
            _tr("Clear filter"), "clear-filter")  # fmt: skip


def _no_place(places_known: bool, places: int) -> State:
    if not places_known:
        text = _tr("Torchkeeper looks where PyTorch and Triton keep compiled code.")
        return "folder", _tr("Looking for caches…"), text, "", ""
    if places:
        text = _tr(
            "The places on the left are caches of torch.compile on this machine. The overview adds "
            "them up."
        )
        return "folder", _tr("Choose a place"), text, _tr("Go to overview"), "overview"
    return ("folder-add", _tr("No cache on this machine yet"),
            _tr("A place is a folder where torch.compile keeps compiled code. Add one, or drop a "
                "folder or a bundle anywhere on this window."),
            _tr("Add folder…"), "add-folder")  # fmt: skip


def comparable(selected: Sequence[Entry]) -> int:
    """How many entries are selected, one or two of one kind, that can be compared; else 0."""
    kinds = {entry.kind for entry in selected[:3]}
    fitting = len(selected) in (1, 2) and len(kinds) == 1
    if fitting and not kinds <= COMPARED:
        from torchkeeper.gui.inspector.vllm import is_key  # the window starts without it

        fitting = len(selected) == 2 and all(map(is_key, selected))
    return len(selected) if fitting and not any(entry.broken for entry in selected) else 0


#: Rows that are looked at for ranks.
_FIRST = 2000


def ranked(place: str, entries: EntriesModel) -> bool:
    """Whether a place has ranks of vLLM, by its path or its first rows."""
    first = islice(entries.every_row, _FIRST)
    return has_ranks(place) or any(rank_of(row.entry.path).name for row in first)
