"""The operation that copies between places, from any to any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.bundles import check_vouched, kinds_said, makers_of, target
from torchkeeper.engine.screening import cleared, is_shared, screen_of
from torchkeeper.engine.session import (
    Rows,
    Session,
    carrying,
    chosen_of,
    chosen_with_needed,
    entries_among,
    place_of,
    tell_left,
    tell_refused,
)
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.copying import Copied, Foretold, check_target, copy, plan_copy
from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import Item, Offered
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.offering import Named
from torchkeeper.stores.preconditions import space
from torchkeeper.stores.store import Lost, Store

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import CopyParams, CopyResult, ImportRow


def copy_(session: Session, params: CopyParams, report: Report) -> CopyResult:
    """Copy a selection of ``place`` to the place ``into``; a bundle that is there is replaced only
    with ``replace``. Rows say what was put into a folder (ImportRow). What others may read is
    looked at for secrets (``screen_of``); else ``leaks`` are None.
    """
    place, into = place_of(params["place"]), place_of(params["into"])
    store = session.store(place, report)
    session.bundles.pop(place, None)
    bundle = store if isinstance(store, Bundle) else None
    rows = Rows(report)
    offers: list[Named] = []

    def left(item: Item, problem: Problem) -> None:
        tell_left(report, offers[0].origin(item) if offers else item, problem)

    def names(offered: Offered) -> Named:
        from torchkeeper.engine.renaming import for_environment

        assert bundle
        offers.append(for_environment(session, params, bundle, report, offered))
        return offers[0]

    renamed = 0

    def placed(item: Item, home: str) -> None:
        nonlocal renamed
        renamed += bool(offers) and offers[0].is_renamed(item)
        row: ImportRow = {"kind": item.kind, "key": item.key, "path": home}
        rows.add(row)

    there = None
    try:
        store.be_patient()
        password = session.secrets.get(into)
        replace, dry = bool(params.get("replace")), bool(params.get("dry"))
        check_target(store, into, password, report, replace, dry)
        if bundle:
            check_vouched(params, [bundle], report, looked_at={})
        tell_refused(store, report)
        chosen, stays = entries_among(_chosen(session, store, params, report))
        makers = makers_of(store, params)
        renaming = names if bundle else None
        screen = None
        if is_shared(into):
            screen = screen_of(session, params, report, left, scheme_of(into).becomes(into), dry)
            makers = cleared(makers, params)
        if dry:
            done: Copied = plan_copy(
                store, chosen, into, report, left, password, makers, renaming, screen
            )
            there = None if done.what == "server" else target(session, {"path": into}, report)
            if there and done.what != "bundle":
                there["space"] = space(into)
        else:
            try:
                done = copy(
                    store, chosen, into, report, left, replace, placed, password, makers, renaming,
                    screen, bool(params.get("noted", True)),
                )  # fmt: skip
            except Problem as problem:
                if problem.code == "server-broke-off":
                    rows.send()  # that stays
                raise
            rows.send()
    except Lost as lost:
        raise lost.problem from lost
    finally:
        store.close()
    result: CopyResult = {
        "what": done.what,
        "entries": done.entries,
        "files": done.files,
        "bytes": done.bytes,
        "content_bytes": done.bytes,
        "exists": done.exists,
        "doubles": done.doubles,
        "receipt": done.receipt,
        "stays": stays,
        "leaks": screen.told.to_json() if screen else None,
        "renamed": renamed,
        "place": place,
        "into": into,
    }
    if isinstance(done, Foretold):
        result["kinds"], result["needed"] = kinds_said(done.kinds), done.needed
        result["there"] = there
    return result


def _chosen(session: Session, store: Store, params: CopyParams, report: Report) -> list[Described]:
    select = params.get("select", {})
    # A server is sent what was read and compared before, and so is told of what is foretold.
    whole = params.get("dry") or scheme_of(params["into"]).wants_digests
    needed = not params.get("alone")
    carried = None if whole else carrying(select, with_needed=needed)
    choose = chosen_with_needed if needed else chosen_of
    return choose(session, store, select, report, carried)
