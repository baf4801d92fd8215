"""Starts a program and has it note what it compiles (``torchkeeper run --recipe``); whether a
recipe of it makes the same again. What ``warm.traces.recorder`` writes in the program is its own
say: bounded here, and looked at field by field in ``client.recipes.recorded``.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from torchkeeper.client import temporary
from torchkeeper.client.secrets import is_secret
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import failing_as, user_error
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.warm import processes
from torchkeeper.warm.options import PRECOMPILE
from torchkeeper.warm.traces.notes import Note

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import VariantFinding
    from torchkeeper.verdict.probed import GraphTold
    from torchkeeper.warm.recipes.tables import Settings


#: What is copied of the environment: what PyTorch compiles by, less what is of this run only.
_KEPT = re.compile(r"(?:TORCHINDUCTOR|TORCHDYNAMO|TORCH_COMPILE|TORCH|TRITON)_\w+")
_DROPPED = re.compile(
    r".*_(?:DIR|PATH|HOME|URL|REDIS|REMOTE|TRACE|LOGS?|DEBUG|DUMP|PROFIL\w*|THREADS|WORKERS?|SERVER"
    r"|PORT|ADDR|TOKEN|SECRET|PASSWORD|KEY)(?:_.*)?"
)
#: It is part of every key, and no secret (torch/_inductor/codecache.py, cache_key_tag).
_TAG = "TORCH_COMPILE_CACHE_KEY_TAG"
_NUMBER = re.compile(r"[0-9]{1,5}")
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
#: Backends that no cache is asked for (torch/_dynamo/backends/debugging.py).
NOT_CACHED = ("eager", "eager_noexcept", "eager_debug", "aot_eager", "aot_eager_decomp_partition")


def dicts(value: object) -> list[Note]:
    """The objects of a list; none of what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def of_environment(note: Note) -> Settings:
    """What a recipe names itself: threads, if not the machine's, and headers not precompiled."""
    env = note.get("environment")
    found: Settings = {}
    if not isinstance(env, Mapping):
        return found
    if env.get(PRECOMPILE) == "0":
        found["portable"] = True
    threads, cores = note.get("threads"), note.get("cores")
    asked = next((str(env[name]) for name in _THREADS if env.get(name)), "")
    if isinstance(threads, int) and (
        asked or (isinstance(cores, int) and threads not in (cores, cores // 2))
    ):
        found["threads"] = threads
    elif _NUMBER.fullmatch(asked):
        found["threads"] = int(asked)
    return found


def variables(env: Any) -> dict[str, str]:
    if not isinstance(env, Mapping):
        return {}
    found = {}
    for name, value in sorted(env.items()):
        if isinstance(name, str) and isinstance(value, str) and _KEPT.fullmatch(name):
            dropped = _DROPPED.fullmatch(name) or name == PRECOMPILE or is_secret(name, value)
            if name == _TAG or not dropped:
                found[name] = value
    return found


def lines(one: Note) -> Iterator[str]:
    """What was compiled, for people: a line for each call."""
    said = ", ".join(
        f"{key}={'…' if is_secret(key, value) else repr(value)}"
        for key, value in _dict(one.get("args")).items()
    )
    name = str(one.get("name")) + (f"({said})" if one.get("kind") == "model" else "")
    for call in dicts(one.get("calls")):
        inputs = ", ".join(_input(value, key) for key, value in given(one, call)) or "no inputs"
        more = ", with backward" if call.get("backward") else ""
        more += ", for any size" if call.get("symbols") else ""
        more += ", which is not cached" if one.get("backend") in NOT_CACHED else ""
        yield f"{name}: {inputs}{more}"


def given(one: Note, call: Note) -> Iterator[tuple[str, Any]]:
    """The inputs of a call, each with its name; empty where that is not known."""
    names = _list(one.get("parameters"))
    for at, value in enumerate(_list(call.get("inputs"))):
        yield str(names[at]) if at < len(names) else "", value
    yield from _dict(call.get("keywords")).items()


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> Note:
    return value if isinstance(value, dict) else {}


def _input(value: Any, name: str) -> str:
    if isinstance(value, dict) and isinstance(value.get("shape"), list):
        size = "x".join(map(str, value["shape"])) or "scalar"
        return f"{value.get('dtype')} {size} on {value.get('device')}"
    if is_secret(name, value):
        return "…"
    if isinstance(value, dict):
        for form in ("list", "tuple"):
            if isinstance(value.get(form), list):
                return f"{form} of {', '.join(_input(one, name) for one in value[form][:4])}"
        return "None" if "none" in value else str(next(iter(value.values()), ""))[:40]
    return repr(value)[:40]


# A program has our standard streams, terminal and process group, so that it behaves as without us.

#: What shells and programs that start others return where there is nothing to start.
CANNOT_RUN, NOT_FOUND = 126, 127

#: What is passed on when only we are told. A terminal tells all of its foreground group.
_PASSED_ON = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_FROM_TERMINAL = ("SIGINT", "SIGQUIT")


def under(python: str, command: Sequence[str]) -> list[str]:
    """A command as an interpreter runs it: python …, -m …, FILE.py. Raises "command-not-python"."""
    if (argv := processes.under(python, command)) is None:
        about = {"command": command[0], "python": python, "folder": os.path.dirname(python)}
        raise user_error("command-not-python", about)
    return argv


def run(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a program, signals passed on; its exit code, 128 + a signal. Raises "command-…"."""
    with _passing_on() as (process, early):
        with failing_as("command-unusable", command=argv[0]):
            try:
                started = subprocess.Popen(argv, env=dict(env))
            except FileNotFoundError as e:
                # An interpreter in a script's first line may be what is missing.
                raise user_error("command-missing", {"command": argv[0]}) from e
        process.append(started)
        for number in early:
            started.send_signal(number)
        code = started.wait()
    return 128 - code if code < 0 else code


@contextlib.contextmanager
def _passing_on() -> Iterator[tuple[list[subprocess.Popen[bytes]], list[int]]]:
    """Signals go to the process in the first list meanwhile; earlier ones are in the second."""
    process: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    terminal = _in_foreground()

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if not process:
            early.append(number)
        # What the terminal sends, the program has got itself; twice, it would take it for haste.
        elif not (terminal and signal.Signals(number).name in _FROM_TERMINAL):
            with contextlib.suppress(ProcessLookupError):
                process[0].send_signal(number)

    # What is ignored, the program ignores, too.
    with temporary.handling(_PASSED_ON, pass_on):
        yield process, early


def _in_foreground() -> bool:
    """Whether a terminal sends us what is typed to interrupt."""
    try:
        with open(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY), "rb", 0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


# Whether a recipe of what a program compiled makes the same again. Each of its variants ran once,
# in a fresh process, on a copy of what the program left in its cache (``cli.recording``).

#: What says nothing of the recipe: this machine cannot run it now, or PyTorch caches none of it.
_NOT_KNOWN = frozenset({
    "device-missing", "disk-full", "place-unwritable", "torch-missing", "torch-broken",
    "threads-not-taken", "caches-disabled", "compile-disabled", "compiler-missing", "place-blank",
    "warm-killed", "warm-timeout", "nothing-cached",
})  # fmt: skip
_TRIED: Text = "Tried: {n} of {all} found what the program compiled"
_PROVED: Text = "Proved: {n} of {all} found what the program compiled, in a fresh process"
#: Graphs that a reason names.
_NAMED = 3


@dataclass(frozen=True)
class Proof:
    """Its proof. good: variants that found it; why: what is wrong; unproved: why unknown."""

    good: int = 0
    of: int = 0
    why: list[str] = field(default_factory=list)
    unproved: str = ""

    @property
    def said(self) -> str:
        if self.unproved:
            return tr("Not proved: {why}", why=self.unproved)
        every = say.count(self.of, "combination", "combinations")
        return tr(_TRIED if self.why else _PROVED, n=self.good, all=every)

    def to_json(self) -> Mapping[str, object]:
        proved = None if self.unproved else not self.why
        return {"proved": proved, **vars(self), "unproved": self.unproved or None}


def looked_up(graphs: Iterable[GraphTold]) -> dict[str, str]:
    """The keys of what a program compiled or found (``explain_trace``), with the graphs' names."""
    found: dict[str, str] = {}
    for graph in graphs:
        failed = (cause := graph.get("cause")) and cause["code"] in ("failed", "cut")
        if (key := graph.get("key")) and graph["outcome"] in ("hit", "miss") and not failed:
            found[key] = graph["name"] or graph["id"]
    return found


def is_backward(ident: str) -> bool:
    """Whether a graph of this id is of a backward pass (``Graphs`` in warm/traces/graphs.py)."""
    return " backward" in ident


def judged(
    program: Mapping[str, str], variants: Sequence[VariantFinding], missed: Collection[int],
    found: Collection[str],
) -> Proof:  # fmt: skip
    """The proof. program: as of ``looked_up``. variants: as ``warm`` tells them. missed: indexes of
    those of which a graph was not found, but for backward passes, which not every program compiles.
    found: keys that hit: all of the program's must, as a variant may find another's graph.
    """
    why, unknown = list[str](), list[str]()
    for variant in variants:
        if problem := variant.get("problem"):
            error = user_error(problem["code"], problem["params"])
            if error.code in _NOT_KNOWN:
                unknown.append(f"{variant['name']}: {error.what}".rstrip("."))
            else:
                why.append(f"{variant['name']} cannot be made again: {error.what}".rstrip("."))
        # Of graphs that AOTAutograd's entries hold themselves, those alone are counted.
        elif variant["index"] in missed or not (
            variant.get("hits") or ("autograd" in variant and variant["autograd"]["hits"])
        ):
            why.append(
                f"{variant['name']} is made in another way here than in the program: its graph was "
                "not found (it, or what it uses, may have been changed after it was built)"
            )
    bad = len(why)
    if unknown and not why:
        return Proof(unproved=unknown[0])
    rest = {key: name for key, name in program.items() if key not in found}
    if rest and not why:
        names = list(dict.fromkeys(rest.values()))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        what = say.count(len(rest), "graph", "graphs")
        why.append(
            f"{what} that the program compiled ({', '.join(names[:_NAMED])}{more}) "
            f"{'was' if len(rest) == 1 else 'were'} not asked for: something was changed after it "
            "was built, or is compiled where it cannot be heard"
        )
    return Proof(len(variants) - bad - len(unknown), len(variants), why)
