"""The operations that read, write and sign bundles, or say beforehand what that would do."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from torchkeeper.artifacts.entry import COUNTS, Problem, tally
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.sshsig import Signature
from torchkeeper.engine.screening import cleared, screen_of
from torchkeeper.engine.session import (
    Rows,
    Session,
    carrying,
    chosen_of,
    chosen_with_needed,
    entries_among,
    environments,
    is_part,
    lacking,
    path_of,
    place_of,
    tell_left,
    tell_refused,
)
from torchkeeper.stores.bundles import signing
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.bundles.export import OfKind, Planned, export, going, plan
from torchkeeper.stores.bundles.parts import Environment, Makers, environment
from torchkeeper.stores.caches import cache_of, home_of
from torchkeeper.stores.copying import broke_off
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders import owners
from torchkeeper.stores.folders.importing import Imported, import_bundles
from torchkeeper.stores.folders.placing import Counts, Outcomes, compare
from torchkeeper.stores.items import Item, Source, Taken
from torchkeeper.stores.offering import Named
from torchkeeper.stores.preconditions import space
from torchkeeper.stores.several import Gathered, SeveralMakers
from torchkeeper.stores.store import Lost, Store

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Tally
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages import bundles as msg
    from torchkeeper.engine.messages.entries import CompareParams, CompareResult, CompareRow


def export_(session: Session, params: msg.ExportParams, report: Report) -> msg.ExportResult:
    """Write a selection to the bundle ``output``; with ``replace`` false only where none is. With
    ``sign`` it has no name until ``attach_signature`` is asked for, and is gone with this engine.
    """
    output, hold = path_of(params["output"]), bool(params.get("sign"))
    try:
        with _gathered(session, params, report, patient=True) as some:
            left = partial(tell_left, report)
            screen = screen_of(session, params, report, left, "bundle")
            replace = bool(params.get("replace", True))
            session.hold_unsigned(None)
            done = export(
                some.chosen, some.source, output, report, left, replace, some.makers, hold, screen,
                mega=bool(params.get("mega")),
            )  # fmt: skip
            session.hold_unsigned(done.held)
    except Lost as lost:
        raise broke_off(lost, "bundle", output) from lost
    result: msg.ExportResult = {
        "entries": done.entries,
        "files": done.files,
        "bytes": done.bytes,
        "content_bytes": done.bytes,
        "stays": some.stays,
        "output": os.path.abspath(output),
        "size": done.size,
        "objects": done.objects,
        "described": done.described,
        "maker": _maker_said(some.makers),
        "leaks": screen.told.to_json(),
    }
    if done.held:
        result["held"] = True
    return result


class _Gathered(NamedTuple):
    """What is to be exported, and whence its bytes come. stays: what is of no use elsewhere.
    lacking: how many entries would be without graphs that they need and that their place has.
    """

    chosen: list[Described]
    source: Source
    makers: Makers | None
    stays: Tally
    lacking: int


@contextlib.contextmanager
def _gathered(
    session: Session,
    params: msg.ExportParams | msg.PlanExportParams,
    report: Report,
    patient: bool = False,
) -> Iterator[_Gathered]:
    """What a selection means of ``place``, and its filter of each place that goes ``also``."""
    select, needs = params.get("select", {}), bool(params.get("needs"))
    also = params.get("also", ())
    choose = chosen_with_needed if needs else chosen_of
    of_all: Select = {"filter": select.get("filter", ""), "envs": select.get("envs")}
    some, makers, stay, short = (
        Gathered(),
        list[tuple[Makers | None, list[Described]]](),
        tally(()),
        0,
    )
    with contextlib.ExitStack() as ends:
        for place in (params["place"], *also):
            store = ends.enter_context(session.store(place_of(place), report))
            if patient:
                store.be_patient()
            # What two places have is told by its digest.
            carried = carrying(select, with_needed=needs) if patient and not also else None
            chosen = choose(session, store, select, report, carried=carried)
            part = not patient and not needs and is_part(select)
            if part and any(one.facts.get("fx_keys") for one in chosen):
                short += lacking(chosen, chosen_with_needed(session, store, select, report))
            chosen, stays = entries_among(chosen)
            for name in COUNTS:
                stay[name] += stays[name]
            left = partial(tell_left, report, file=place if also else None)
            held, source = store.for_bundle(chosen, left)
            taken = some.add(held, source, left)
            makers.append((cleared(makers_of(store, params), params), taken))
            select = of_all
        told = makers[0][0]
        if also:
            told = SeveralMakers(makers) if any(one for one, _ in makers) else None
        yield _Gathered(some.chosen, some if also else source, told, stay, short)


def plan_export(
    session: Session, params: msg.PlanExportParams, report: Report
) -> msg.PlanExportResult:
    """What ``export`` of a selection would write, and ``left`` findings for what would stay out."""
    with _gathered(session, params, report) as some:
        left, mega = partial(tell_left, report), bool(params.get("mega"))
        screen = screen_of(session, params, report, left, "bundle", dry=True)
        leaving = going(some.chosen, some.source, left, mega)
        chosen, source = screen.described(leaving, some.source)
        planned = plan(chosen, source, report, left, some.makers, mega)
    return {
        **_counts_said(planned),
        "content_bytes": planned.bytes,
        "size": planned.size,
        "room": planned.size,
        "kinds": [{"kind": one.kind, **_counts_said(one)} for one in planned.kinds],
        "torches": planned.torches,
        "devices": planned.devices,
        "made_in": planned.made_in,
        "objects": planned.objects,
        "described": planned.described,
        "maker": _maker_said(some.makers),
        "leaks": screen.told.to_json(),
        "lacking": some.lacking,
        "stays": some.stays,
    }


def makers_of(
    store: Store, params: msg.ExportParams | msg.PlanExportParams | msg.CopyParams
) -> Makers | None:
    """Who tells how objects were built: the bundle they are from, even where it tells nothing, for
    they were built elsewhere; else the environment whose commands ``builders`` are.
    """
    return store.makers() or environment(params.get("builders"))


def _maker_said(makers: Makers | None) -> msg.Maker | None:
    if makers is None:
        return None
    torch = makers.origin["torch"] if makers.origin else None
    alone = isinstance(makers, Environment)
    return {"what": "environment" if alone else "bundle", "torch": torch}


@contextlib.contextmanager
def _open(
    session: Session, params: msg.FilesParams, report: Report
) -> Iterator[dict[Bundle, str | None]]:
    """The bundles, and what each is called where there are several; tells what none can hold."""
    paths = list(map(path_of, params["files"] if "files" in params else [params["file"]]))
    with contextlib.ExitStack() as stack:
        bundles = {}
        for path in paths:
            bundle = session.again(path) or Bundle(path, report)
            stack.enter_context(bundle)
            bundles[bundle] = path if len(paths) > 1 else None
            tell_refused(bundle, report, bundles[bundle])
        yield bundles


def import_(session: Session, params: msg.ImportParams, report: Report) -> msg.ImportResult:
    """Place what bundles hold in a folder, for the environment ``env`` or for this machine
    (engine.renaming). All or nothing: cancelled, it leaves no trace; of one that is signed and was
    changed nothing is taken. Raises Problem("bundle-changed") where one has changed meanwhile.
    """
    rows = Rows(report)
    renamed = 0
    with _open(session, params, report) as bundles:
        seen = params.get("manifests", {})
        check_vouched(params, bundles, report, seen)
        for bundle in bundles:
            if bundle.manifest_sha256 != seen.get(bundle.path, bundle.manifest_sha256):
                raise Problem("bundle-changed", file=bundle.path)
        offered = _offered(session, params, bundles, report)

        def placed(item: Item, home: str) -> None:
            nonlocal renamed
            row: msg.ImportRow = {"kind": item.kind, "key": item.key, "path": home}
            rows.add(row)
            renamed += any(one.is_renamed(item) for one in offered)

        def left(one: Named, item: Item, problem: Problem) -> None:
            tell_left(report, one.origin(item), problem, bundles[offered[one]])

        done = import_bundles(list(offered), path_of(params["into"]), report, left, placed)
    rows.send()
    return {**_counts_said(done), "exists": done.exists, "doubles": done.doubles,
            "renamed": renamed, "receipt": done.receipt}  # fmt: skip


def check_vouched(
    params: msg.ImportParams | msg.CopyParams,
    bundles: Iterable[Bundle],
    report: Report,
    looked_at: Mapping[str, str],
) -> None:
    """Where a request has ``vouched``, a file of allowed signers: as ``bundles.signing.check``.
    Without, as ``check_unaltered`` of those that are not among those ``looked_at``, by their paths.
    """
    for bundle in bundles:
        if params.get("vouched"):
            signing.check(bundle, path_of(params["vouched"]), report)
        elif bundle.path not in looked_at:
            signing.check_unaltered(bundle, report)


def _offered(
    session: Session,
    params: msg.ImportParams | CompareParams,
    bundles: Iterable[Bundle],
    report: Report,
) -> dict[Named, Bundle]:
    from torchkeeper.engine.renaming import for_environment

    found = dict[Named, Bundle]()
    for bundle in bundles:
        items = bundle.items()
        if cache := params.get("cache"):
            items = [item for item in items if cache_of(item) == cache]
        if params.get("fits"):
            items = _usable(session, params, bundle, items, report)
        some = Taken(items, bundle)
        found[for_environment(session, params, bundle, report, some)] = bundle
    return found


def _usable(
    session: Session, params: msg.ImportParams | CompareParams, bundle: Bundle,
    items: Iterable[Item], report: Report,
) -> list[Item]:  # fmt: skip
    """Those that the environment can use, and what they need; the others are told as left. Raises
    Problem("environment-wanted").
    """
    env = params.get("env")
    select: Select = {"fits": True, "envs": [env] if env else None}
    environments(session, select["envs"], wanted=True)
    chosen = chosen_with_needed(session, bundle, select, report)
    fit = {item.identity for one in chosen for item in (one.item, one.origin) if item}
    usable = list[Item]()
    for item in items:
        if item.identity in fit:
            usable.append(item)
        else:
            tell_left(report, item, Problem("not-usable"))
    return usable


def caches(session: Session, params: msg.CachesParams, report: Report) -> msg.CachesResult:
    """Which caches there are entries of in bundles, and where each of these is on this machine."""
    found: dict[str, msg.CacheRow] = {}
    with _open(session, params, report) as bundles:
        for item in (item for bundle in bundles for item in bundle.items()):
            title = cache_of(item)
            if title not in found:
                home = home_of(title)
                found[title] = {
                    "cache": title,
                    "into": home.path if home else None,
                    "reason": home.reason if home else None,
                    "there": bool(home and home.there),
                    **_counts_said(Counts()),
                }
            row = found[title]
            row["entries"] += 1
            row["files"] += item.count
            row["bytes"] += item.size
    return {"caches": sorted(found.values(), key=lambda row: row["cache"].lower())}


def compare_(session: Session, params: CompareParams, report: Report) -> CompareResult:
    """What ``import`` would do; with ``rows``, a CompareRow for each entry."""
    into = path_of(params["into"])
    rows = Rows(report)
    told, renamed = bool(params.get("rows")), 0
    with _open(session, params, report) as bundles:
        offered = _offered(session, params, bundles, report)

        def mark(one: Named, item: Item, home: str, outcome: str, problem: Problem | None) -> None:
            nonlocal renamed
            renamed += outcome == "new" and one.is_renamed(item)
            bundle, inside = offered[one], one.origin(item)
            if problem is not None:
                tell_left(report, inside, problem, bundles[bundle])
            if told:
                row: CompareRow = {
                    "file": bundle.path,
                    "kind": item.kind,
                    "key": item.key,
                    "path": home,
                    "inside": inside.path,
                    "size": item.size,
                    "outcome": outcome,
                    "code": problem.code if problem else None,
                }
                rows.add(row)

        found = compare(list(offered), into, report, mark)
    rows.send()
    return {
        "files": [
            {
                "file": bundle.path,
                **outcomes_said(one.whole),
                "kinds": kinds_said(one.kinds),
                "needed": one.needed,
            }
            for bundle, one in zip(bundles, found, strict=True)
        ],
        "needed": sum(one.needed for one in found),
        "space": space(into),
        "renamed": renamed,
    }


def kinds_said(kinds: Iterable[tuple[str, Outcomes]]) -> list[msg.KindOutcomes]:
    return [{"kind": kind, **outcomes_said(of)} for kind, of in kinds]


def outcomes_said(of: Outcomes) -> msg.Outcomes:
    return {
        "new": _counts_said(of.new),
        "there": _counts_said(of.there),
        "twice": _counts_said(of.twice),
        "differs": _counts_said(of.differs),
        "left": _counts_said(of.left),
    }


def _counts_said(of: Counts | OfKind | Planned | Imported) -> msg.Counts:
    return {"entries": of.entries, "files": of.files, "bytes": of.bytes}


def target(_: Session, params: msg.TargetParams, report: Report) -> msg.TargetResult:
    """What is at ``path``. Links are followed, as by whoever writes there."""
    path = path_of(params["path"])
    if params.get("owners") and (found := owners.glance(path)):
        report.finding(owners=found)
    folder = space(os.path.dirname(path))
    try:
        status = os.stat(path)
    except OSError:
        there = os.path.lexists(path)
        nothing: msg.TargetResult = {"what": "other", "size": None, "mtime": None, "space": folder}
        return nothing if there else {**nothing, "what": "missing"}
    mode, size, mtime = status.st_mode, status.st_size, status.st_mtime
    what: Literal["file", "folder", "other"]
    what = "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"
    return {"what": what, "size": size, "mtime": mtime, "space": folder}


# The key stays with whoever asks: an engine only gives out the manifest that is to be signed.


def signature(session: Session, params: msg.SignatureParams, report: Report) -> msg.SignatureResult:
    """Who signed the bundle ``file``; signers: a file of allowed signers, or nothing."""
    path = path_of(params["file"])
    # Why it cannot be read says who takes it in, unless its signature does.
    with contextlib.suppress(Problem), session.look_into(path, report) as bundle:
        if not bundle.signed:
            return signature_in(bundle, None, report)
    return _signed_by(path, params.get("signers"), report)


def signature_in(bundle: Bundle, signers: str | None, report: Report) -> msg.SignatureResult:
    """As ``signature``, of a bundle that was read."""
    if bundle.signed:
        return _signed_by(bundle.path, signers, report)
    none = Signature("none", None, None, None, bundle.manifest_sha256)
    return cast("msg.SignatureResult", none._asdict())


def _signed_by(path: str, signers: str | None, report: Report) -> msg.SignatureResult:
    found = signing.signature_of(path, path_of(signers) if signers else None, report)
    return cast("msg.SignatureResult", found._asdict())


def copy_manifest(
    session: Session, params: msg.CopyManifestParams, report: Report
) -> msg.CopyManifestResult:
    """Write the manifest of a bundle to the new file ``target``; the result has its sha256."""
    file, target = _file(session, params), path_of(params["target"])
    return {"manifest": signing.copy_manifest(file, target, report)}


def attach_signature(
    session: Session, params: msg.AttachSignatureParams, report: Report
) -> msg.AttachSignatureResult:
    """Put a signature into a bundle. output: the name of the signed one, which a held bundle needs;
    replace: whether a file that is there may go for it.
    """
    file = _file(session, params)
    held = bool(params.get("held"))
    output = path_of(params["output"]) if held or params.get("output") else ""
    data, replace = params["signature"].encode("utf-8", "replace"), params.get("replace", True)
    signing.attach(file, data, params["manifest"], report, output, replace)
    if held:
        session.hold_unsigned(None)
    return {"size": os.path.getsize(output or file)}


def _file(session: Session, params: msg.Signed) -> str:
    if not params.get("held"):
        return path_of(params["file"])
    if session.unsigned is None:
        raise Problem("file-missing", file=params.get("output", ""))
    return session.unsigned.path
