"""The command that verifies: verify."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchkeeper.cli import applying, contract, looking, output, signing
from torchkeeper.cli.asking import asking, python_for, say_finding
from torchkeeper.cli.bundles import trusts
from torchkeeper.cli.commands import DEFAULT_ENV
from torchkeeper.cli.warming import there, trusted
from torchkeeper.client import carrying, temporary
from torchkeeper.client.engines import far, ferry, probes
from torchkeeper.client.kept import verified
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.words import outcomes, preparing, say, verifying
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine.protocol import IMPORT, VERIFY
from torchkeeper.stores.names import scheme_of
from torchkeeper.warm.options import JUDGED, RUNS

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import ImportResult
    from torchkeeper.engine.messages.compiling import VerifyParams, VerifyResult
    from torchkeeper.engine.messages.findings import Finding, LeftFinding, VariantFinding
    from torchkeeper.warm.shapes import Compiling

#: What is said before minutes are spent, where no recipe was named.
_BUILT_IN = "Verify runs the built-in recipe; --recipe FILE names the one that you warmed."
#: Objects of a run that are named as having been built again.
_NAMED = 10


def add_verify(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("place", metavar="PLACE", type=looking.place, help="a cache folder, a bundle or a raw "
        "mega-cache")  # fmt: skip
    add("--recipe", metavar="RECIPE", action="append", default=[], help="what to run: the file of "
        "a recipe, a folder of recipes, or “builtin”, the default; repeatable")  # fmt: skip
    add("--env", metavar="PYTHON", help="the interpreter whose torch runs it; "
        f"{DEFAULT_ENV}")  # fmt: skip
    add("--device", metavar="NAME", help="cpu, cuda, …; by default the best one")
    add("--threads", metavar="N", type=int, help="the number of threads that programs will have "
        "(OMP_NUM_THREADS); by default that of this machine")  # fmt: skip
    output.flag(command, "--portable", "without precompiled headers, as programs run that set "
                f"{preparing.VARIABLE}=0")  # fmt: skip
    applying.add_profile(command, "what is run")
    output.flag(command, "--quick", "only the run with the target, without a comparison")
    output.flag(command, "--trust", "do not ask: you trust its maker, and that of the recipe")


def verify(args: argparse.Namespace) -> int:
    """torchkeeper verify; 0 where everything hits and nothing is built again, else 1."""
    place: str = args.place
    bundle = carrying.is_bundle(place)
    if not scheme_of(place).is_files:
        raise user_error("verify-server", {"place": place})
    # A bundle of this machine can be verified by another.
    python = python_for(args.env, place if far.is_far(place) or not bundle else None)
    machine = far.machine_of(python)
    if not far.is_far(place) and not os.path.lexists(place):
        raise user_error("place-missing", {"place": place})
    settings = applying.for_verify(args, python)
    if not args.recipe:
        output.note(_BUILT_IN)
    signed = os.path.isfile(place) and not args.trust and signing.trusted(place)
    strange = bundle if far.is_far(place) else verifying.is_strange(place)
    if not args.trust and not signed and strange:
        nothing, question = "Nothing was verified.", f"Verify {printable(place)}"
        if not trusts(nothing, verifying.TRUST, "it", question):
            output.note(nothing)
            return 1
    ran: Compiling = {"recipes": recipes.wire(args.recipe or ["builtin"])}
    if not trusted(args, ran, machine, "Nothing was verified.", "Run it"):
        return 1
    before = verified.mark(place)
    with temporary.folder("verifying") as scratch:
        target, made = place, None
        scratch = ferry.folder(machine) if machine else scratch
        left: list[LeftFinding] = []
        if bundle:
            target = ferry.name(machine, "") if machine else os.path.join(scratch, "target")
            made, left = _unpack(args, python, target, signed)
        params: VerifyParams = {
            "place": target,
            "recipes": ran["recipes"],
            "runs": verifying.runs(args.quick, args.portable),
            "scratch": scratch,
            "portable": args.portable,
            "device": args.device,
            "threads": args.threads,
            "settings": settings,
        }
        try:
            with asking(args, python) as asker:
                if not args.json:
                    asker.on_finding = _Live()
                answer: VerifyResult = asker.ask(VERIFY, **{**params, **there(asker, params)})
        except UserError as error:
            if error.params.get("place") == target:  # it is called as the user has named it
                raise user_error(error.code, {**error.params, "place": place}) from error
            raise
    try:
        result = verified.checked(answer)
    except ValueError as e:
        raise user_error("verify-nonsense", {"why": str(e)}) from e
    one = verified.keep(place, before, python, result)
    ended = outcomes.Ended(VERIFY, one.result)
    _tell(args, one, outcomes.line(ended), left)
    for text in (*verifying.advice(result, made), *verifying.asides(result)):
        output.note(printable(text, 1000))
    return contract.number(outcomes.went(ended))


def _unpack(
    args: argparse.Namespace, python: str, target: str, signed: bool
) -> tuple[int | None, list[LeftFinding]]:
    """Import a bundle into a folder for an environment; returns its threads, or None, and what was
    left. signed: only if a trusted key has signed it. Raises UserError.
    """
    machine, file, made = far.machine_of(target), args.place, None
    to = "" if far.is_far(file) else machine
    with asking(args, machine) as asker, ferry.sent(to, [file], asker.carried) as sent:
        asker.only_signed, file = signed, sent[file]
        if not machine:
            [about] = carrying.tell(asker.engine, python, probes.environment(python), [file])
            made = about["made_in"]
        env = None if machine else python
        placed: ImportResult = asker.ask(IMPORT, files=[file], into=target, env=env)
    many = say.count(placed["renamed"], "object", "objects")
    renamed = f"{many} renamed for this environment" if placed["renamed"] else None
    output.remark(args, [*output.left_lines(asker.left), renamed])
    if not placed["entries"]:
        raise user_error("nothing-to-verify", {"place": args.place})
    return made["threads"] if made else None, asker.left


class _Live:
    def __init__(self) -> None:
        self._built = 0
        self._variants: dict[int, VariantFinding] = {}

    def __call__(self, what: Finding) -> None:
        if "run" in what:
            self._built = 0
            run = what["run"]
            # Of several variants the folder for temporary files is not empty: the header is in it.
            short = "variant" in run and verifying.about(run["name"])
            title = verifying.title(run["name"])
            output.note(f"  {title}" if short else verifying.beginning(run["name"]))
        elif "variants" in what:
            self._variants = {one["index"]: one for one in what["variants"]} | self._variants
        elif isinstance(variant := what.get("variant"), dict):
            if variant["state"] == "compiling" and (row := self._variants.get(variant["index"])):
                output.note(printable(f"{row.get('recipe')}: {row.get('name')}"))
        elif "built" in what:
            self._built += 1
            if self._built <= _NAMED:
                output.note(printable(f"  built again: {what['built']['path']}"))
            elif self._built == _NAMED + 1:
                output.note("  and more")
        elif "graph" not in what:  # those are in the table
            say_finding(what)


def _tell(
    args: argparse.Namespace, one: verified.Verified, said: str, left: Sequence[LeftFinding]
) -> None:
    result = one.result
    if args.json:
        output.emit_all(result["rows"])
        output.result(args, {**result, "place": one.place, "python": one.python, "left": left}, "")
        return
    if len(result["variants"]) > 1:
        _tell_variants(result)
    else:
        for row in result["rows"]:
            output.line(printable(f"{row['outcome']:<7} {row['id']:<14} {row['name']}"))
        output.line()
        head = ["RUN", "SECONDS", "OF COLD", "OF MEGA-CACHE", "HITS", "MISSES", "OBJECTS BUILT"]
        rows = [_row(name, result) for name in RUNS if name in result["runs"]]
        output.table(head, rows, frozenset(range(1, 7)))
    # Of a script, which runs by itself, none of it is known.
    about = [f"torch {result['torch']}" if result["torch"] else "", result["device"]]
    about += [say.count(result["threads"], "thread", "threads") if result["threads"] else ""]
    known = ", ".join(filter(None, about))
    output.line(printable(f"({known}; {one.python})" if known else f"({one.python})"))
    output.line(said)


def _tell_variants(result: verified.KeptVerification) -> None:
    """The variants, each with its seconds and whether it is good; and why some are not."""
    variants = result["variants"]
    several = len({variant["recipe"] for variant in variants}) > 1
    head = [*(["RECIPE"] if several else []), "VARIANT", "COLD", "WARM", "OF COLD", "OUTCOME"]
    rows = [
        [*([variant["recipe"]] if several else []), variant["name"], *_times(variant),
         verifying.of_variant(variant)]
        for variant in variants
    ]  # fmt: skip
    output.table(head, rows, frozenset(range(len(head) - 4, len(head) - 1)))
    if (more := result["whole"]["variants"] - len(variants)) > 0:
        many = say.count(more, "variant", "variants")
        output.line(f"and {many} more, which do not fit here")
    for variant in variants:
        if not variant["good"] and (why := verifying.why_of_variant(variant)):
            output.line(printable(f"{variant['name']}: {why}", 1000))


def _times(variant: verified.KeptVariant) -> list[str]:
    """Seconds cold and with the target, and how many times as fast that is."""
    seconds, ratios = variant["seconds"], variant["ratios"]
    warm = next((name for name in JUDGED if name in seconds), "")
    ratio = ratios.get(f"{warm}_cold")
    told = [say.seconds(seconds[name]) if name in seconds else "" for name in ("cold", warm)]
    return [*told, "" if ratio is None else verifying.ratio(ratio)]


def _row(name: str, result: verified.KeptVerification) -> list[str]:
    run = result["runs"][name]
    ratios = [result["ratios"].get(f"{name}_{other}") for other in ("cold", "mega")]
    told = ["" if ratio is None else verifying.ratio(ratio) for ratio in ratios]
    counts = [f"{count:,}" for count in (run["hits"], run["misses"], run["rebuilt"])]
    return [verifying.title(name), say.seconds(run["seconds"]), *told, *counts]
