"""The commands about recipes: warm, which fills a cache and takes it on from there; and recipe."""

from __future__ import annotations

import argparse
import errno
import functools
import math
import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torchkeeper.cli import applying, contract, crossing, leaving, looking, output
from torchkeeper.cli.asking import Asker, asking, python_for
from torchkeeper.cli.bundles import trusts
from torchkeeper.cli.commands import DEFAULT_ENV
from torchkeeper.cli.telling import Live, error_of, tell
from torchkeeper.client import carrying
from torchkeeper.client.engines import far, probes
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept import protected, verified
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.recipes import sending, strange
from torchkeeper.client.words import outcomes, preparing, say
from torchkeeper.client.words.outcomes import failures, held
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import COPY, WARM
from torchkeeper.stores.preconditions import space
from torchkeeper.warm.options import MOST_JOBS
from torchkeeper.warm.recipes.recipe import BUILTIN, MOST_SECONDS

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import TargetResult
    from torchkeeper.engine.messages.compiling import (
        VariantsResult,
        VariantsRow,
        WarmParams,
        WarmResult,
    )
    from torchkeeper.engine.messages.findings import LeftFinding, VariantFinding
    from torchkeeper.engine.messages.places import ServerResult
    from torchkeeper.warm.shapes import Compiling

#: What came of taking the place on from here, whether that was nothing, and what was left.
Went = tuple[Mapping[str, object], bool, "Sequence[LeftFinding]"]

_EXAMPLES = """\
examples:
  torchkeeper warm recipes/ --into cache
      every recipe in a folder, into a folder

  torchkeeper warm recipes/ --on ssh://gpu1 training --into model.torchcache --prove
      on many machines, each variant for each kind of GPU, into one bundle

  torchkeeper warm recipes/ --on training --share --into redis://cache.local
      what one machine has compiled is a hit for the others at once, and on the server

  crontab: a team's server is filled every night
      0 3 * * *  torchkeeper warm recipes --into cache --limit 900 --publish redis://cache.local

  Dockerfile: the image has what its first request would compile
      RUN torchkeeper warm /app/recipes --into /cache --portable
      ENV TORCHINDUCTOR_CACHE_DIR=/cache TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS=0

“torchkeeper recipe new callable model.toml” writes a recipe to begin with. The exit status is 0
only if every variant is warm, 4 if some are, 1 if none is."""


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"it is no number from 1 to {MOST_JOBS}")
    return int(text)


def _limit(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"it is no number of seconds from 0 to {MOST_SECONDS}")
    return seconds


def _into(text: str) -> str:
    """A place, or a volume of Kubernetes, which is for --on alone."""
    return text if text.startswith("pvc:") else looking.place(text)


def add_warm(command: argparse.ArgumentParser) -> None:
    about = "Compile what recipes say into a place, one variant of their matrix after another, so\n"
    output.describe(command, f"{about}that programs find it there.", _EXAMPLES)
    add = command.add_argument
    add("recipes", metavar="RECIPE", nargs="*", default=[], help="a recipe's file, or a folder of "
        "them; “builtin”, or nothing, for the built-in recipe")  # fmt: skip
    add("--into", metavar="PLACE", type=_into, required=True, help="the cache folder to "
        "fill; ssh://HOST/PATH is one on another machine")  # fmt: skip
    add("--jobs", metavar="N", type=_jobs, help="the number of variants at a time, as "
        "far as cores and memory allow; by default one")  # fmt: skip
    add("--only", metavar="VARIANT", action="append", help="only this variant, by its name or its "
        "number in --dry-run; may be given several times")  # fmt: skip
    add("--limit", metavar="SECONDS", type=_limit, help="the time limit of a variant if its recipe "
        "has none; only that variant fails")  # fmt: skip
    add("--bundle", metavar="FILE", type=looking.path, help="then export the whole place to a "
        "bundle, if every variant is warm")  # fmt: skip
    add("--publish", metavar="SERVER", type=looking.server, help="then copy the whole place to a "
        "redis:// server, if every variant is warm")  # fmt: skip
    leaving.add_secrets(command)
    output.flag(command, "--dry-run", "only list the variants and the known problems")
    output.flag(
        command, "--trust", "do not ask: you trust the machine that a recipe was recorded on"
    )
    applying.add_profile(command, "what compiles")
    add_ways(command)


def add_ways(command: argparse.ArgumentParser) -> None:
    command.add_argument("--env", metavar="PYTHON", help="the interpreter whose torch compiles; "
                         f"{DEFAULT_ENV}")  # fmt: skip
    command.add_argument("--device", metavar="NAME", help="cpu, cuda, …, where a recipe names "
                         "none; by default the best one")  # fmt: skip
    command.add_argument("--threads", metavar="N", type=int, help="for programs with N threads, "
                         "such as a container with N cores: the number is part of the keys. By "
                         "default that of this machine")  # fmt: skip
    output.flag(command, "--portable", "without precompiled headers, so that programs build "
                "nothing, even in an empty container. They then have to set "
                f"{preparing.VARIABLE}=0, too: it is part of the keys")  # fmt: skip


def ways(args: argparse.Namespace) -> Compiling:
    """What a request says of them, and of the recipes. Raises UserError as ``recipes.wire``."""
    params: Compiling = {"recipes": recipes.wire(args.recipes)}
    if args.device:
        params["device"] = args.device
    if args.threads is not None:
        params["threads"] = args.threads
    if args.portable:
        params["portable"] = True
    return params


def warm(args: argparse.Namespace) -> int:
    """torchkeeper warm; done where every variant is warm, and went where it should."""
    try:
        args.into = looking.folder(args.into)
    except argparse.ArgumentTypeError as error:
        raise output.misuse(f"argument --into: {error}.") from None
    paths = recipes.chosen(args.recipes)
    params: WarmParams = {**ways(args), "into": args.into, "jobs": args.jobs}
    if args.limit is not None:
        params["limit_s"] = args.limit
    if args.only:
        params["only"] = recipes.indexes(params.get("recipes"), args.only)
    _look_ahead(args)
    applying.for_warm(args, params)
    if args.dry_run:
        params.pop("settings", None)
        return variants(args, params, args.into)
    if not trusted(args, params, far.machine_of(args.into), "Nothing was warmed.", "Warm it"):
        return 1
    with asking(args, python_for(args.env, getattr(args, "into", None))) as asker:
        try:
            # As JSON a single variant that fails is told as of several.
            asked = {**there(asker, params), "each": args.json}
            one, rows = heard(args, asker, args.into, WARM, asked)
        except UserError:
            _say_nothing_went_on(args)
            raise
    if not args.json:
        # What programs need, for keys to be those that were warmed.
        if args.threads is not None:
            output.note(preparing.threads(args.threads))
        output.notes(preparing.portable_lines() if args.portable else ())
    if not args.only:
        _keep(paths, rows, args.into)
    onward: dict[str, object] = {"bundle": None, "published": None}
    code = contract.number(outcomes.went(one))
    if code != contract.DONE:
        _say_nothing_went_on(args)
    else:
        code = _onward(args, onward)
    output.result(args, {**one.result, "left": asker.left, **onward}, outcomes.line(one))
    return code


def trusted(
    args: argparse.Namespace, params: Compiling, machine: str, nothing: str, question: str
) -> bool:
    """Whether recipes may run on a machine: none is of another, or somebody says that they trust
    that one. Raises UserError where nobody could.
    """
    why = strange.warning(params.get("recipes") or (), machine)
    if not why or args.trust or trusts(nothing, why, "the recipe", question):
        return True
    output.note(nothing)
    return False


def heard(
    args: argparse.Namespace, asker: Asker, into: str, op: str, params: Mapping[str, object]
) -> tuple[outcomes.Ended, list[VariantFinding]]:
    """Ask for a warm-up, or follow one, and tell what becomes of its variants."""
    live = Live(args.json, asker)
    try:
        answer: WarmResult = asker.ask(op, **params)
    except UserError:
        live.say_tail()
        raise
    rows = live.rows_of(answer)
    failed = [row for row in rows if row["state"] != "done"]
    if not args.json:
        tell(live, rows, failed)
    elif len(rows) == 1:
        for row in failed:
            output.complain(error_of(row))
    return outcomes.Ended(WARM, answer, into, variants=len(rows), bad=len(failed)), rows


def there(asker: Asker, params: Compiling) -> Compiling:
    """A request as the engine understands it, on another machine with what its recipes need."""
    if not (machine := asker.engine.machine):
        return params
    return {**params, **sending.send(machine, params.get("recipes") or [BUILTIN], asker.carried)}


def _say_nothing_went_on(args: argparse.Namespace) -> None:
    if args.bundle or args.publish:
        output.note("Nothing was exported or published, because not every variant is warm.")


def _keep(paths: list[str], rows: Sequence[VariantFinding], place: str) -> None:
    """Note when each recipe was warmed, for the window; its variants come recipe by recipe."""
    names = list(dict.fromkeys(row.get("recipe") for row in rows))
    states = [[row.get("state") for row in rows if row.get("recipe") == name] for name in names]
    counts = [(one.count("done"), len(one) - one.count("done")) for one in states]
    if len(paths) == len(counts):
        kept = [(path, *count) for path, count in zip(paths, counts, strict=True)]
        verified.keep_warmed(kept, place)


def variants(args: argparse.Namespace, params: Compiling, into: str = "") -> int:
    """List the variants that there would be; 1 where one is known to fail. into: the place that
    they would be compiled into, for which the environment and its devices are looked at, too.
    """
    with asking(args, python_for(args.env, getattr(args, "into", None))) as asker:
        answer: VariantsResult = asker.ask(protocol.VARIANTS, **there(asker, params))
        found: list[VariantsRow] = asker.rows
    if into:
        _look_around(args, found, into)
        answer["problems"] = sum(row["problem"] is not None for row in found)
    if args.json:
        output.emit_all(found)
    else:
        several = len({row["recipe"] for row in found}) > 1
        # Its number is what --only takes.
        head = ["NO.", *(["RECIPE"] if several else []), "VARIANT", "SOURCE", "DEVICE", "TROUBLE"]
        errors = [
            (one := row["problem"]) and user_error(one["code"], one["params"]) for row in found
        ]
        rows = [[str(row["index"]), *([row["recipe"]] if several else []), row["name"],
                 row["source"], row["target"] or row["device"] or "-",
                 f"{error.what} {error.why}".strip() if error else ""]
                for row, error in zip(found, errors, strict=True)]  # fmt: skip
        output.table(head, rows, frozenset({0}))
        output.notes(dict.fromkeys(one.remedy for one in errors if one and one.remedy))
    said = say.count(answer["variants"], "variant", "variants")
    if answer["problems"]:
        said += f"; {answer['problems']:,} of them would fail"
    asked = params.get("recipes") or ()
    output.remark(args, [strange.warning(asked)])
    output.result(args, {**answer, "machines": strange.machines(asked)}, f"{said}.")
    return 1 if answer["problems"] else 0


def _look_around(args: argparse.Namespace, rows: Sequence[VariantsRow], into: str) -> None:
    """Note at variants whose device is not there that they would fail. Raises UserError where the
    interpreter has no torch, or the place cannot be written.
    """
    if not far.is_far(into):
        _check_room(into)
    if all(row["source"] == "triton" for row in rows):
        return  # kernels are compiled without a torch, for GPUs that are elsewhere
    facts = probes.environment(python_for(args.env, into))
    there = Counter(str(one.get("type")) for one in facts.get("devices") or ())
    for row in rows:
        kind, _, number = (row["device"] or "").partition(":")
        if not kind or row["problem"] or row["source"] == "triton":
            continue
        if (int(number) if number.isdigit() else 0) >= there[kind]:
            row["problem"] = {"code": "device-missing", "params": {"device": row["device"]}}


def _check_room(into: str) -> None:
    """Raises UserError where a folder of this machine cannot be written."""
    above = os.path.abspath(into)
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        raise user_error("place-not-folder", {"place": above})
    room = space(into)
    if why := room["why"] or (os.strerror(errno.ENOSPC) if room["free"] == 0 else None):
        raise user_error("place-unwritable", {"place": into, "why": why})


def _look_ahead(args: argparse.Namespace) -> None:
    """Raises UserError, before hours of compiling, for what would keep the cache from going on."""
    protected.check(args.into)
    if not args.bundle and not args.publish:
        return
    with Engine() as engine:
        asker = Asker(engine, quiet=True)
        if args.bundle:
            there: TargetResult = asker.ask(protocol.TARGET, path=args.bundle)
            why = there["space"]["why"]
            if there["what"] not in ("missing", "file"):
                why = "There is something that is not a file"
            if why:
                raise user_error("place-unwritable", {"place": args.bundle, "why": why})
        if args.publish:
            protected.check(args.publish)
            page: ServerResult = asker.ask(protocol.SERVER, place=args.publish)
            if args.dry_run:  # else the copy says it
                output.tell_owners(page["owners"], for_use=True)


def _onward(args: argparse.Namespace, told: dict[str, object]) -> int:
    """Take all of the place to a bundle and to a server; what came of it goes into ``told``. What
    fails is said, and the other is done all the same: the cache is warm.
    """
    short = False
    steps = (("bundle", args.bundle, _export), ("published", args.publish, _publish))
    for name, target, step in steps:
        if not target:
            continue
        try:
            told[name], nothing, left = step(args)
        except UserError as error:
            output.complain(error)
            told[name] = {"problem": {"code": error.code, "params": dict(error.params)}}
            short = True
            continue
        # All that a server can hold is there, and be it nothing.
        short |= (nothing and not _outside(left)) or bool(failures(left))
    return contract.partly(True, short)


def _export(args: argparse.Namespace) -> Went:
    machine = far.machine_of(args.into)
    maker = leaving.maker_of(args, args.into if machine else None)
    with asking(args, machine) as asker, leaving.telling_secrets(args, asker):
        answer = crossing.exported(
            asker, args.bundle, place=args.into, builders=carrying.builders(maker),
            secrets=args.secrets,
        )  # fmt: skip
    output.remark(args, [carrying.undescribed(answer)])
    said = f"{held(answer)} written to {printable(args.bundle)}"
    if not answer["entries"]:
        said = "There was nothing to export."
    output.remark(args, [*output.left_lines(asker.left), said])
    told = {**answer, "leaks": leaving.secrets_found(asker), "left": asker.left}
    return told, not answer["entries"], asker.left


def _publish(args: argparse.Namespace) -> Went:
    if far.is_far(args.into):
        about = {"source": args.into, "target": args.publish, "filter": "", "alone": False,
                 "usable": None}  # fmt: skip
        across = argparse.Namespace(**{**vars(args), **about, "replace": False, "direct": False})
        answer, asker = crossing.copied(across)
    else:
        with asking(args) as asker, leaving.telling_secrets(args, asker):
            answer = asker.ask(COPY, place=args.into, into=args.publish, secrets=args.secrets)
    said = f"{held(answer)} copied to {printable(args.publish)}"
    if answer["exists"]:
        said += f"; {say.count(answer['exists'], 'entry was', 'entries were')} there already"
    eager = sum(one.get("kind") == "aoti_eager" for one in _outside(asker.left))
    if eager:
        # The recipe is warm all the same: for these PyTorch never asks a server.
        kernels = say.count(eager, "eager kernel stays", "eager kernels stay")
        said += f"; {kernels} out of it, which PyTorch looks for in folders only"
    output.remark(args, [*output.left_lines(asker.left), said])
    leaks = leaving.secrets_found(asker)
    told = {**answer, "leaks": leaks, "into": args.publish, "left": asker.left}
    return told, not answer["entries"] and not answer["exists"], asker.left


def _outside(left: Sequence[LeftFinding]) -> list[LeftFinding]:
    """What a server can never hold, nor another place."""
    return [one for one in left if one["code"] in ("kind-not-in-redis", "kernel-of-device")]


_HELP = """\
examples:
  torchkeeper recipe new callable model.toml     an example with comments, to change
  torchkeeper recipe check model.toml            every fault with its line
  torchkeeper recipe show model.toml             what it compiles, one combination a line
  torchkeeper warm model.toml --into cache       compile it"""


def add_recipe(command: argparse.ArgumentParser) -> None:
    output.describe(
        command,
        "A recipe says what to compile, in a TOML file beside the model. Write one, check it,\n"
        "show what it compiles, or keep it in the list of the window.",
        _HELP,
    )
    part = functools.partial(output.add_part, command.add_subparsers(metavar="WHAT", required=True))
    show = part("show", lambda args: variants(args, ways(args)), "list the combinations that "
                "recipes compile, without compiling")  # fmt: skip
    add_ways(show)
    check = part("check", _check, "name every fault of recipes with its line")
    for one in (show, check):
        about = "a recipe's file, or a folder of them"
        one.add_argument("recipes", metavar="RECIPE", nargs="+", help=about)
    new = part(
        "new", _new, "write an example with comments, and the Python file that it names beside it"
    )
    new.add_argument("source", metavar="SOURCE", choices=list(recipes.BESIDE),
                     help=f"what it compiles: {', '.join(recipes.BESIDE)}")  # fmt: skip
    new.add_argument("file", metavar="FILE", type=_toml, help="the recipe to write, a .toml file")
    output.flag(new, "--force", "replace an existing recipe; an existing Python file always stays")
    listed = part("list", _listed, "list the recipes, and folders of them, that the window shows")
    add = part("add", _listed, "add a recipe, or a folder of them, to that list")
    remove = part("remove", _listed, "remove a recipe or folder from that list; the file stays")
    for one in (add, remove):
        one.add_argument("name", metavar="RECIPE", type=looking.path, help="a file or a folder")
    for one in (show, check, new, listed, add, remove):
        output.add_json(one)


def _toml(text: str) -> str:
    path = looking.path(text)
    if not path.endswith(".toml"):
        raise argparse.ArgumentTypeError("a recipe's name ends with .toml")
    return path


def _check(args: argparse.Namespace) -> int:
    """1 if anything is wrong."""
    wrong = 0
    paths = [path for path in recipes.chosen(args.recipes) if path != BUILTIN]
    for path in paths:
        faults: list[recipes.Fault] = []
        problem = None
        try:
            _, faults = recipes.looked_at(recipes.text_in(path))
        except UserError as error:
            problem = error.what
            if not args.json:
                output.complain(error)
        wrong += bool(faults or problem)
        if args.json:
            told = [{"line": one.line, "column": one.column, "where": one.where, "text": one.text}
                    for one in faults]  # fmt: skip
            output.emit({"file": path, "problem": problem, "faults": told})
            continue
        for one in faults:
            where = f"{one.where}: " if one.where else ""
            # As compilers do, so that editors find the place.
            output.line(printable(f"{path}:{one.line}:{one.column}: {where}{one.text}", 1000))
    result = {"recipes": len(paths), "wrong": wrong}
    all_of_them = say.count(len(paths), "recipe", "recipes")
    said = f"{wrong:,} of {all_of_them} {'is' if wrong == 1 else 'are'} wrong."
    output.result(args, result, said if wrong else f"{all_of_them}, nothing wrong.")
    return int(wrong > 0)


def _new(args: argparse.Namespace) -> int:
    written, there = recipes.write(args.source, args.file, args.force)
    result = {"written": written, "there": there}
    said = [f"{printable(path)} written." for path in written]
    said += [f"{printable(path)} was there already, and stays as it is." for path in there]
    short = os.path.relpath(args.file)
    file = printable(shlex.quote(args.file if short.startswith("..") else short))
    said.append(f"Change them, then: torchkeeper warm {file} --into FOLDER")
    output.result(args, result, "\n".join(said))
    return 0


def _listed(args: argparse.Namespace) -> int:
    change = {"add": recipes.add, "remove": recipes.remove}.get(args.part)
    paths = change(args.name) if change else recipes.listed()
    for path in paths:
        missing = not os.path.exists(path)
        if args.json:
            output.emit({"path": path, "exists": not missing})
        else:
            output.line(printable(path, 4000) + ("  [no longer exists]" if missing else ""))
    if not paths and not args.json:
        output.note("The list is empty; “torchkeeper recipe add” adds a recipe.")
    return 0
