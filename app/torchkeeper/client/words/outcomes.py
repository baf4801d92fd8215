"""What came of each operation, in words for the window and the command line. A new one has its row
at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from torchkeeper.artifacts.entry import COUNTS
from torchkeeper.artifacts.sshsig import short_key
from torchkeeper.client.words import causes, fleets, preparing, say, verifying
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.say import kind_words
from torchkeeper.client.words.tongue import Text, several, tr
from torchkeeper.engine import protocol
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.client.kept.verified import KeptVerification
    from torchkeeper.engine.messages import bundles
    from torchkeeper.engine.messages.compiling import PrepareResult, WarmResult
    from torchkeeper.engine.messages.dead import RecoverResult, UndoResult
    from torchkeeper.engine.messages.doctor import MendResult
    from torchkeeper.engine.messages.findings import LeftFinding
    from torchkeeper.engine.messages.verdicts import RunResult

#: Reasons that lie in what a bundle, a folder or a server is; they are no failures.
_BY_NATURE = frozenset({
    "kind-not-portable", "type-unknown", "superseded", "key-taken", "kind-not-in-redis",
    "redis-only", "newer-goes", "named-before", "kind-not-in-mega-cache", "part-of-artifact",
    "same-place", "object-torch", "object-python", "object-compiler", "object-libc",
    "object-command", "object-cpu", "object-misclaimed", "object-unproven", "kernel-of-device",
    "has-secrets", "not-usable", "jit-of-named", "jit-of-default",
})  # fmt: skip
#: How something that was cut off is told of that was not brought to its end.
_STAYS = ("not-believed", "of-another", "no-room")


class Ended(NamedTuple):
    """An operation that has ended. result: of the operation's type. place: what it changed, or
    looked at. asked: what it was asked for, if told. took: seconds, or None where nobody knows.
    variants, bad: how many, and how many not warm. left: what it did not take, as findings;
    unreadable: whether a folder was not read.
    """

    op: str
    result: Any
    place: str = ""
    asked: Mapping[str, Any] = {}
    took: float | None = None
    variants: int = 0
    bad: int = 0
    left: Sequence[LeftFinding] = ()
    unreadable: bool = False


class Outcome(NamedTuple):
    """How a job ended, in sentences."""

    title: str
    lines: list[str]


def outcome(one: Ended) -> Outcome:
    """The page of what has come to its end, of an operation that has one."""
    page = _OPERATIONS[one.op].page
    assert page is not None
    return page(one)


def cancelled(op: str, place: str, partly: str) -> Outcome:
    """The page of what was cancelled. partly: what the engine said of what it left."""
    # One that was killed is no job that was cancelled.
    left = partly or tr("Nothing was left behind.")
    if protocol.traits(op).warms:
        left = tr("What was compiled until then stays; nothing is left half-written.")
    if op == protocol.FLEET:
        left = tr("What nodes had done until then stays; the same again goes on from there.")
    if scheme_of(place).keeps_part:
        left = tr("What had arrived stays; the same copy again goes on from there.")
    return Outcome(tr("Cancelled"), [left])


#: The same, where a command is cancelled that copies to a server.
ARRIVED: Text = "What has arrived stays; the same copy again goes on from there."


def failed(error: UserError | None) -> Outcome:
    said = [error.why, error.remedy] if error else []
    title = error.what.removesuffix(".") if error else tr("It failed")
    return Outcome(title, [line for line in said if line])


def note(op: str, result: object, left: int = 0) -> str:
    """What came of it in a few words, for the list of jobs; left: how many it did not take."""
    said = _OPERATIONS[op].note(result)
    return said + (tr(" · {n} left out, see the log", n=left) if left else "")


def line(one: Ended) -> str:
    """What came of it in a sentence, for the end of a command."""
    return _OPERATIONS[one.op].line(one)


#: How far an operation has come of what it was asked for.
Went = Literal["done", "partly", "no"]


def went(one: Ended) -> Went:
    """Which of these its command ends with."""
    told = _OPERATIONS[one.op]
    if not told.short(one):
        return "done"
    return "partly" if told.some(one) else "no"


_DOING: dict[str, Text] = {
    protocol.WARM: "Warming {place}",
    protocol.VERIFY: "Verifying {place}",
    protocol.FLEET: "Warming {place} on several machines",
    protocol.PURGE: "Purging {place}",
}


def doing(op: str, place: str) -> str:
    """What a running operation is at; empty where its title says that."""
    return tr(_DOING[op], place=place) if op in _DOING else ""


def stopped(op: str, done: float, total: float | None) -> str:
    """What an operation that was cancelled has changed for good; empty where it tells itself."""
    if op != protocol.TTL or not total or not done:
        return ""
    return several(int(done), "at least {n} of {all} entries was changed",
                   "at least {n} of {all} entries were changed", all=int(total))  # fmt: skip


def held(result: bundles.Counts) -> str:
    """Entries and what they hold: 12 entries, 3.1 MB of content."""
    return f"{say.count(result['entries'], 'entry', 'entries')}, {say.content(result['bytes'])}"


def failures(left: Sequence[LeftFinding]) -> list[LeftFinding]:
    """What was left although the target could hold it by nature."""
    return [one for one in left if one["code"] not in _BY_NATURE]


def _took(one: Ended) -> list[str]:
    return [tr("It took {time}.", time=say.seconds(one.took))] if one.took else []


def _nothing(one: Ended) -> bool:
    return not one.result["entries"] and not one.result.get("exists")


def _none_line(one: Ended, was: str, would: str) -> str:
    """That there is nothing of it; empty where there is something."""
    if not _nothing(one):
        return ""
    if failures(one.left):
        return tr("Nothing of it could be taken.")
    return would if one.asked.get("dry") else was


def _some(one: Ended) -> bool:
    return not _nothing(one)


def _lacks(one: Ended) -> bool:
    return bool(_nothing(one) or one.unreadable or failures(one.left))


def _to_bundle(title: str) -> Outcome:
    none = tr("A bundle can hold none of these entries, so none was written.")
    return Outcome(title, [none])


def _exported(one: Ended) -> Outcome:
    result: bundles.ExportResult = one.result
    entries, output = result["entries"], result["output"]
    if not entries:
        return _to_bundle(tr("Nothing was exported"))
    said = tr("{entries} ({content}) are in {file}, a file of {size}." if entries > 1 else
              "One entry ({content}) is in {file}, a file of {size}.",
              entries=say.count(entries, "entry", "entries"),
              content=say.content(result["bytes"]),
              file=printable(os.path.basename(output), 60),
              size=say.size(result["size"]))  # fmt: skip
    where = tr("The file is in {folder}.", folder=printable(os.path.dirname(output), 4096))
    lines = [said, where, *filter(None, [say.stays(result)])]
    title = tr("Exported")
    if "signature" in one.result:
        title, lines = tr("Exported and signed"), [*lines, *_trusting(one)]
    return Outcome(title, [*lines, *_took(one)])


def _export_line(one: Ended) -> str:
    was, would = tr("There was nothing to export."), tr("There is nothing to export.")
    if none := _none_line(one, was, would):
        return none
    result: bundles.ExportResult = one.result
    shown = {"some": held(result), "file": printable(one.place), "size": say.size(result["size"])}
    if one.asked.get("dry"):
        return tr("Would write {some} to {file} ({size}).", **shown)
    said = tr("{some} written to {file} ({size})", **shown)
    if "signature" in one.result:
        said += tr(", signed with {key}", key=one.result["signature"]["fingerprint"])
    return said


def _copied(one: Ended) -> Outcome:
    if one.result["what"] == "bundle" and not one.result["entries"]:
        return _to_bundle(tr("Nothing was copied"))
    return _placed(one, tr("Copied"), tr("Nothing new was there to copy"))


def _placed(one: Ended, done: str, nothing: str) -> Outcome:
    result: bundles.ImportResult | bundles.CopyResult = one.result
    place, lines = printable(one.place, 4096), []
    if entries := result["entries"]:
        shown = {"entries": say.count(entries, "entry", "entries"), "place": place}
        content = say.content(result["bytes"])
        lines.append(tr("{entries} ({content}) put into {place}.", content=content, **shown))
    if renamed := result["renamed"]:
        objects = say.count(renamed, "object", "objects")
        lines.append(tr("{objects} renamed for this environment.", objects=objects))
    if there := result["exists"]:
        were = say.count(there, "entry was", "entries were")
        lines.append(tr("{entries} there already, with the very same bytes.", entries=were))
    if doubles := result["doubles"]:
        lines.append(several(doubles, "{n} entry came twice, with the very same bytes.",
                             "{n} entries came twice, with the very same bytes."))  # fmt: skip
    if entries:
        lines += [*filter(None, [say.stays(result)]), *_took(one)]
        if result.get("what") == "server":
            lines.append(tr("Undo is not for a server: a purge takes entries off it."))
        elif result["receipt"] is None and result.get("what") != "bundle":
            lines.append(
                tr("It cannot be undone: the trash of {place} cannot be used.", place=place)
            )
        return Outcome(done, lines)
    lines.append(tr("{place} is as it was.", place=place))
    return Outcome(nothing, lines)


def _placed_note(result: bundles.ImportResult | bundles.CopyResult) -> str:
    text = say.held_of(result)
    if renamed := result["renamed"]:
        text += tr(" · {objects} renamed", objects=say.count(renamed, "object", "objects"))
    there = result["exists"]
    was = several(there, "{n} was there already", "{n} were there already")
    text = f"{text} · {was}" if there else text
    twice = several(result["doubles"], "{n} came twice", "{n} came twice")
    return f"{text} · {twice}" if result["doubles"] else text


def _twice(result: bundles.ImportResult | bundles.CopyResult) -> str:
    """How many entries came more than once, as a sentence's end."""
    said = several(result["doubles"], "; {n} entry came twice", "; {n} entries came twice")
    return said if result["doubles"] else ""


def _import_line(one: Ended) -> str:
    was, would = tr("There was nothing to import."), tr("There is nothing to import.")
    if none := _none_line(one, was, would):
        return none
    result: bundles.ImportResult = one.result
    place, some = printable(one.place), held(result)
    if one.asked.get("dry"):
        if result["entries"]:
            return tr("Would place {some} in {place}.", some=some, place=place)
        return tr("Nothing in it is new to {place}.", place=place)
    said = tr("{some} placed in {place}", some=some, place=place)
    if there := result["exists"]:
        were = say.count(there, "entry was", "entries were")
        said += tr("; {entries} there already", entries=were)
    return said + _twice(result) + _renamed(result)


def _copy_line(one: Ended) -> str:
    result: bundles.CopyResult = one.result
    place = printable(one.place)
    there = say.count(result["exists"], "entry is", "entries are")
    if not result["entries"] and result["exists"]:
        return tr("Nothing to do: {entries} there already.", entries=there)
    if not result["entries"]:
        bad = failures(one.left)
        return tr("Nothing could be copied." if bad else "There was nothing to copy.")
    said = tr("Would copy {some} to {place}" if one.asked.get("dry") else
              "{some} copied to {place}", some=held(result), place=place)  # fmt: skip
    said += tr("; {entries} there already", entries=there) if result["exists"] else ""
    return said + _twice(result) + _renamed(result)


def _renamed(result: bundles.ImportResult | bundles.CopyResult) -> str:
    """How many objects have got the name that an environment will look for, as a sentence's end."""
    objects = say.count(result["renamed"], "object", "objects")
    said = tr("; {objects} renamed for this environment", objects=objects)
    return said if result["renamed"] else ""


def signed(signature: bundles.SignatureResult) -> str:
    """With which key a bundle was signed, and whose the user knows it to be."""
    key, who = printable(short_key(signature), 200), printable(str(signature["signer"]), 80)
    trusted = signature["status"] == "trusted"
    return tr("Signed by {who}, with {key}" if trusted else "Signed with {key}", who=who, key=key)


def _trusting(one: Ended) -> list[str]:
    others = tr("Others import it unasked once your public key is among their signers.")
    return [f"{signed(one.result['signature'])}.", others]


def _signed(one: Ended) -> Outcome:
    result: bundles.SignResult = one.result
    name, before, replaced = printable(os.path.basename(one.place), 60), result.get("before"), []
    if before and before["key"] and before["fingerprint"] != result["signature"]["fingerprint"]:
        key = printable(short_key(before), 200)
        replaced = [tr("The signature that it had, with {key}, was replaced.", key=key)]
    lines = [*_trusting(one), *replaced, *_took(one)]
    return Outcome(tr("{file} is signed", file=name), lines)


def _lookups(result: WarmResult) -> str:
    """How lookups ended: 0 hits, 7 misses, now compiled."""
    said = say.lookups(result["hits"], result["misses"], result["bypasses"])
    return said + (tr(", now compiled") if result["misses"] and not result["failed"] else "")


def _found(result: WarmResult) -> str:
    """What was looked for and what came of it: 7 graphs: 0 hits, 7 misses, now compiled."""
    return tr("{things}: {found}", things=say.things(result["things"]), found=_lookups(result))


def _warm_note(result: WarmResult) -> str:
    text = _found(result) + ", " + say.seconds(result["seconds"])
    text += tr(" · {entries} added", entries=say.count(result["added"], "entry", "entries"))
    if bad := result["failed"]:
        variants = say.count(bad + result["done"], "variant", "variants")
        text = tr("{n} of {variants} failed · ", n=bad, variants=variants) + text
    return text


def _warmed(one: Ended) -> Outcome:
    result: WarmResult = one.result
    bad, place = one.bad, printable(one.place, 4096)
    lines = []
    if one.variants > 1:
        variants = say.count(one.variants, "variant", "variants")
        warm = one.variants - bad
        lines.append(several(warm, "{n} of {all} is warm.", "{n} of {all} are warm.", all=variants))
    if added := result["added"]:
        entries = say.count(added, "entry", "entries")
        said = tr("{entries} added to {place}", entries=entries, place=place)
        kinds = [f"{kind_words(kind)} {n:,}" for kind, n in result["kinds"].items() if n > 0]
        said += f": {', '.join(kinds)}." if kinds else "."
        if beside := say.apart(result):
            said += " " + tr("Beside them: {some}.", some=beside)
    else:
        said = tr("Nothing was added to {place}.", place=place)
    # Where none came to be looked for, their number says nothing.
    graphs = [f"{_found(result)}."] if bad < one.variants or not one.variants else []
    lines += [*graphs, said, *_took(one)]
    if threads := one.asked.get("threads"):
        many = say.count(int(threads), "thread", "threads")
        lines.append(tr("They are for programs that use {threads} (OMP_NUM_THREADS={n}).",
                        threads=many, n=str(threads)))  # fmt: skip
    if not bad:
        return Outcome(tr("Warmed"), lines)
    if one.asked.get("then") and any(one.asked["then"]):
        lines.append(tr("Nothing was exported or published, because not every variant is warm."))
    if bad == one.variants:
        return Outcome(tr("Nothing is warm"), lines)
    title = tr("Warmed, but {variants} not", variants=say.count(bad, "variant is", "variants are"))
    return Outcome(title, lines)


def _warm_line(one: Ended) -> str:
    result: WarmResult = one.result
    said = tr("{things} in {time}: {found}; {entries} added.", things=say.things(result["things"]),
              time=say.seconds(result["seconds"]), found=_lookups(result),
              entries=say.count(result["added"], "entry", "entries"))  # fmt: skip
    if one.variants > 1:
        said = tr("{n} of {variants} warm, {bad} failed; {said}" if result["failed"] else
                  "{n} of {variants} warm; {said}", n=result["done"], bad=result["failed"],
                  variants=say.count(one.variants, "variant", "variants"), said=said)  # fmt: skip
    return said


def _verify_note(result: KeptVerification) -> str:
    said = tr("good") if result["good"] else tr("not good")
    if (ratio := verifying.best(result)) is not None:
        said += tr(": {n}× as fast as cold", n=f"{ratio:.1f}")
    found = say.lookups(result["hits"], result["misses"])
    return said + tr(" · {found}, {n} rebuilt", found=found, n=result["rebuilt"])


def _verified(one: Ended) -> Outcome:
    result: KeptVerification = one.result
    counts = verifying.told_by(result)[1]
    rebuilt = counts["rebuilt"]
    objects = say.count(rebuilt, "object", "objects") if rebuilt else tr("no object")
    found = [several(counts["hits"], "{n} of {all} was found, {rebuilt} rebuilt.",
                     "{n} of {all} were found, {rebuilt} rebuilt.", rebuilt=objects,
                     all=say.count(counts["graphs"], "graph", "graphs"))]  # fmt: skip
    if len(variants := result["variants"]) > 1:
        whole = say.count(len(variants), "variant", "variants")
        good = sum(variant["good"] for variant in variants)
        told = several(good, "{n} of {all} is good.", "{n} of {all} are good.", all=whole)
        found = [told, *found]
    if result["good"]:
        title = tr("Verified")
        if (ratio := verifying.best(result)) is not None:
            title = tr("Verified: {n}× as fast as cold", n=f"{ratio:.1f}")
        return Outcome(title, [*found, *verifying.asides(result), *_ran(one)])
    # What it names was told by PyTorch.
    advice = verifying.advice(result, one.asked.get("made_threads"))
    remedies = [printable(text, 1000) for text in advice]
    lines = [*found, *remedies, *verifying.asides(result), *_ran(one)]
    return Outcome(verifying.verdict(result), lines)


def _ran(one: Ended) -> list[str]:
    result: KeptVerification = one.result
    torch, device, threads = result["torch"], result["device"], result["threads"]
    parts = [tr("torch {version}", version=printable(torch, 40))] if torch else []
    parts += [printable(device, 80)] if device else []
    parts += [say.count(threads, "thread", "threads")] if threads else []
    run = [tr("It ran with {parts}.", parts=say.together(parts))] if parts else []
    return [*run, *_took(one)]


def _prepare_note(result: PrepareResult) -> str:
    if not (built := result["built"]):
        return tr("there already") if result["there"] else tr("nothing to do")
    headers, size = say.count(built, "header", "headers"), say.size(result["bytes"])
    return tr("{headers} built ({size})", headers=headers, size=size)


def _prepared(one: Ended) -> Outcome:
    result: PrepareResult = one.result
    built, there = result["built"], result["there"]
    folder = printable(result["folder"], 4096)
    if not built and not there:
        nothing = tr("This torch builds no header ahead of its first compile.")
        return Outcome(tr("There was nothing to prepare"), [nothing])
    # Another user's programs find nothing before that is done.
    warning = preparing.warning(result)
    more = [text for text in (preparing.finds(result), warning) if text]
    if not built:
        return Outcome(tr("It was prepared already"), [folder, *more])
    headers, size = say.count(built, "header", "headers"), say.size(result["bytes"])
    lines = [tr("{headers} ({size}) built in {folder}.", headers=headers, size=size, folder=folder)]
    if there:
        were = say.count(there, "header was", "headers were")
        lines.append(tr("{headers} there already.", headers=were))
    return Outcome(tr("Prepared"), [*lines, *more, *_took(one)])


def _run_note(result: RunResult) -> str:
    said = causes.summary(result) if result["graphs"] else ""
    ended = tr("the program ended with {code}", code=result["code"]) if result["code"] else ""
    many = say.count(len(result["alive"]), "process", "processes")
    alive = tr("{many} that it started still ran when it ended", many=many)
    return " · ".join(filter(None, (said, ended, alive if result["alive"] else "")))


def _mend_note(result: MendResult) -> str:
    done, bad = say.count(result.get("files", 0), "file", "files"), result.get("failed", 0)
    return tr("{files} changed", files=done) + (tr(", {n} could not be", n=bad) if bad else "")


def _unfinished(one: Ended) -> bool:
    result: RecoverResult = one.result
    return any(told["outcome"] in _STAYS for told in result["recovered"])


def _finished_some(one: Ended) -> bool:
    result: RecoverResult = one.result
    return any(told["outcome"] not in _STAYS for told in result["recovered"])


def _moved(one: Ended) -> bool:
    """Whether any of a purge or an undo was done; what is no entry counts, too."""
    return any(one.result[name] for name in COUNTS)


def _was_import(result: UndoResult) -> bool:
    return result["undid"] == "import"


def _undo_note(result: UndoResult) -> str:
    some = say.held_of(result)
    return tr("{some} moved to the trash", some=some) if _was_import(result) else some


def _ttl_line(one: Ended) -> str:
    time, entries = one.asked["time"], one.result["entries"]
    if not entries:
        return tr("Nothing was changed." if one.result["failed"] else "Nothing matches.")
    some = say.count(entries, "entry", "entries")
    if time is None:
        return tr("Kept without an end: {some}.", some=some)
    return tr("Kept for {time} from now: {some}.", time=say.seconds(time), some=some)


class _Told(NamedTuple):
    """How an operation is told of. note: a result in a few words. page: in a dialog of the window,
    where there is one for it. line: a sentence of its command. short: whether its command has not
    done all that it was asked for. some: whether it has done some of it, then.
    """

    note: Callable[[Any], str]
    page: Callable[[Ended], Outcome] | None = None
    line: Callable[[Ended], str] = lambda _: ""
    short: Callable[[Ended], bool] = lambda _: False
    some: Callable[[Ended], bool] = lambda one: bool(one.result["entries"])


_OPERATIONS = {
    protocol.EXPORT: _Told(say.held_of, _exported, _export_line, _lacks, _some),
    protocol.IMPORT: _Told(_placed_note, lambda one: _placed(
        one, tr("Imported"), tr("Nothing new was there to import")), _import_line, _lacks, _some),
    protocol.COPY: _Told(_placed_note, _copied, _copy_line, _lacks, _some),
    protocol.SIGN: _Told(lambda result: signed(result["signature"]), _signed, lambda one: tr(
        "{file} is signed with {key}.", file=printable(one.place),
        key=short_key(one.result["signature"]))),
    protocol.WARM: _Told(_warm_note, _warmed, _warm_line, lambda one: bool(one.bad),
                         lambda one: one.bad < one.variants),
    protocol.FLEET: _Told(
        fleets.note, lambda one: Outcome(
            fleets.title(one.result, bool(one.asked.get("prove"))),
            [*fleets.lines(one.result, one.place), *_took(one),
             *([signed(one.result["signature"])] if "signature" in one.result else [])]),
        lambda one: f"{fleets.title(one.result, bool(one.asked.get('prove')))}.",
        lambda one: not fleets.is_good(one.result, bool(one.asked.get("prove"))),
        lambda one: bool(one.result["compiled"] or one.result["there"])),
    protocol.VERIFY: _Told(_verify_note, _verified, lambda one: verifying.outcome(one.result),
                           lambda one: not one.result["good"], lambda _: False),
    protocol.PREPARE: _Told(_prepare_note, _prepared, lambda one: preparing.said(one.result)),
    protocol.RUN: _Told(_run_note),
    protocol.PURGE: _Told(say.held_of, None, lambda one: tr(
        "{some} removed." if one.asked.get("now") else
        "{some} moved to the trash; “undo” puts it back.", some=say.held_of(one.result)),
        lambda one: bool(one.left or one.unreadable), _moved),
    protocol.UNDO: _Told(_undo_note, None, lambda one: tr(
        "{some} of an import moved to the trash; “undo” puts it back." if _was_import(one.result)
        else "{some} put back.", some=say.held_of(one.result)),
        lambda one: bool(one.left), _moved),
    protocol.EMPTY_TRASH: _Told(say.held_of, None, lambda one: tr(
        "{some} removed for good.", some=say.held_of(one.result))),
    protocol.RECOVER: _Told(lambda _: "", None, lambda one: tr(
        "Some changes that were cut off are not complete." if _unfinished(one) else
        "All changes that were cut off are complete."), _unfinished, _finished_some),
    protocol.MEND: _Told(_mend_note),
    protocol.TTL: _Told(lambda result: say.count(result["entries"], "entry", "entries"), None,
                        _ttl_line,
                        lambda one: bool(one.result["failed"])),
}  # fmt: skip
