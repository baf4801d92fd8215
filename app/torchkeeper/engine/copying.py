"""The operation that copies between places, from any to any."""

from __future__ import annotations

from dataclasses import asdict

from torchkeeper.artifacts.entry import Problem, measured
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.bundles import Rows, check_vouched, makers_of, target
from torchkeeper.engine.choosing import chosen_with_needed, entries_among
from torchkeeper.engine.screening import cleared, is_shared, screen_of
from torchkeeper.engine.session import (
    Session,
    carrying,
    chosen_of,
    place_of,
    tell_left,
    tell_refused,
)
from torchkeeper.stores.beforehand import check_target
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.copying import Copied, copy, plan_copy
from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import Item, Offered
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.naming import Named
from torchkeeper.stores.space import space
from torchkeeper.stores.store import Json, Lost, Store


def copy_(session: Session, params: Json, report: Report) -> Json:
    """Copy a selection of ``place`` to the place ``into``; a bundle that is there is replaced only
    with ``replace``. With the entries go those that they need, unless they are to go ``alone``.
    Rows say what was put into a folder: ``{kind, key, path}``, the path there.

    A bundle is told by ``builders`` how objects were built, as of ``export``; from one, a folder
    gets objects for the environment ``env``, as of ``import``; ``vouched`` as there, too.

    What goes where others may read it is looked at for secrets, as ``screening.screen_of`` says.

    The result is a stores.copying.Copied with the names of both, how many were ``renamed``, how
    many of the selection ``stays`` for being no entries (``entries_among``), and the ``leaks``,
    None where nobody looked.

    With ``dry``, only say what that would come to: a Foretold with the names of both, and
    ``there``, what is at ``into`` as the operation ``target`` says it, None for a server. The
    space is that of the folder that is written into.
    """
    place, into = place_of(params, "place"), place_of(params, "into")
    store = session.store(place, report)
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
        rows.add({"kind": item.kind, "key": item.key, "path": home})

    more: Json = {}
    try:
        store.be_patient()
        password = session.secrets.get(into)
        replace, dry = bool(params.get("replace")), bool(params.get("dry"))
        check_target(store, into, password, report, replace, dry)
        if bundle:
            check_vouched(params, [bundle], report)
        tell_refused(store, report)
        chosen, more["stays"] = entries_among(_chosen(session, store, params, report))
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
            more["there"] = _there(session, into, done.what, report)
        else:
            try:
                done = copy(
                    store, chosen, into, report, left, replace, placed, password, makers, renaming,
                    screen,
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
    more["leaks"] = screen.told.to_json() if screen else None
    more |= measured(done.bytes, on_disk=False)
    return {**asdict(done), **more, "renamed": renamed, "place": place, "into": into}


def _chosen(session: Session, store: Store, params: Json, report: Report) -> list[Described]:
    select = params.get("select", {})
    # A server is sent what was read and compared before, and so is told of what is foretold.
    carried = None
    if not params.get("dry") and not scheme_of(params["into"]).wants_digests:
        carried = carrying(select, with_needed=not params.get("alone"))
    if params.get("alone"):
        return chosen_of(session, store, select, report, carried=carried)
    return chosen_with_needed(session, store, select, report, carried)


def _there(session: Session, into: str, what: str, report: Report) -> Json | None:
    if what == "server":
        return None
    found = target(session, {"path": into}, report)
    return found if what == "bundle" else {**found, "space": asdict(space(into))}
