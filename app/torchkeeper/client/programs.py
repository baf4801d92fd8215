"""Programs that are run as somebody types them (“Run a program…”, ``torchkeeper run``): what they
are started with, and what is kept of a run.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.client import paths
from torchkeeper.client.engines import far
from torchkeeper.client.kept import runs, whole
from torchkeeper.client.profiles import keeping
from torchkeeper.client.profiles import profile as applying
from torchkeeper.client.recipes import offered, recorded, recording, toml
from torchkeeper.client.words import causes, say
from torchkeeper.client.words.problems import user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.stores.ssh import parse
from torchkeeper.warm.traces.notes import notes_of

if TYPE_CHECKING:
    from torchkeeper.client.kept.runs import ExplainedGraph, Run
    from torchkeeper.engine.messages.verdicts import RunParams, RunResult
    from torchkeeper.warm.traces.notes import Note

_SET = re.compile(r"[A-Za-z_]\w*=")
#: What a shell does more than to start one program.
_OF_SHELLS = re.compile(r"[0-9]*[|&;<>()]+(?:&?[0-9-]+)?")


class Line(NamedTuple):
    """A command line: variables that it sets, and the words."""

    env: Mapping[str, str]
    words: list[str]


def parsed(text: str) -> Line:
    """A line as it is typed in a shell. Raises UserError("command-line")."""
    try:
        words = shlex.split(text.replace("\\\n", " "))
    except ValueError as e:
        raise user_error("command-line", {"why": str(e)}) from e
    if words[:1] == ["$"]:
        del words[0]
    if words[:3] == ["torchkeeper", "run", "--"]:
        del words[:3]
    env = {}
    while words and _SET.match(words[0]):
        name, _, env_text = words.pop(0).partition("=")
        env[name] = env_text
    if shell := next(filter(_OF_SHELLS.fullmatch, words), ""):
        why = tr("“{word}” is for a shell, and none runs it", word=shell)
        raise user_error("command-line", {"why": why})
    return Line(env, words)


def prepared(
    text: str, folder: str, python: str, profile: str, scratch: str, machine: str = ""
) -> RunParams:
    """What a program is started with. python: the interpreter that runs it, if that is not as its
    line says. profile: the name of one, or "". scratch: a folder for meanwhile, which goes later.
    machine: another one that it runs on, which has one itself; waits for it. Raises UserError.
    """

    def path(word: str) -> str:
        if not machine:
            return os.path.expanduser(word)
        home = word == "~" or word.startswith("~/")
        return far.path_of(machine, parse(machine).at(word)) if home else word

    line = parsed(text)
    words = [path(word) for word in line.words]
    if python:
        words = recording.under(far.path_of(machine, python), words)
    kept = keeping.load(profile) if profile else None
    if kept:
        applying.check_goes(kept, machine)
    params: RunParams = {
        "command": words,
        "folder": parse(machine).at(folder) if machine else folder,
        "env": None if machine else paths.users_variables(),
        "place": "",
        "settings": None if kept is None else kept.values,
        "given": line.env,
        "notes": True,
    }
    return params if machine else {**params, "scratch": scratch}


class Ended(NamedTuple):
    """What is kept of a run: None where no cache was asked, and why. words: its command line.
    place: its cache folder, on this machine or another. folder, env: as of ``Program``. notes: what
    it compiled.
    """

    run: Run | None
    nothing: str
    words: Sequence[str]
    place: str
    folder: str
    env: Mapping[str, str]
    notes: Sequence[Note]


def ended(
    words: Sequence[str], place: str, result: RunResult, graphs: Sequence[ExplainedGraph],
    noted: str,
) -> Ended:  # fmt: skip
    """Keep a run. words: of its command line. place: the name of its cache folder. noted: as its
    engine has told. Raises UserError("runs-unwritable").
    """
    about = words, place, far.path_of(far.machine_of(place), result["folder"]), result["env"]
    if not graphs:
        return Ended(None, causes.nothing(result, result["env"], result["code"]), *about, ())
    took = result["code"], result["began"], result["seconds"]
    run = runs.keep(words, place, *took, result, graphs)
    return Ended(run, "", *about, notes_of(noted))


def save_recipe(file: str, one: Ended) -> str:
    """Write the recipe that warms again what a program compiled; its file. Raises UserError."""
    proof = recording.Proof(unproved=tr("it was saved in the window; Verify runs it"))
    machine = far.machine_of(one.place)
    about = one.notes, one.words, file, one.env, proof.said, (), one.folder, machine
    made = recorded.recipe_of(*about)
    text = toml.text_of(made.data, made.comment)
    if (
        size := len(text.encode())
    ) > offered.MOST_BYTES:  # a machine may say that any command has run
        said = {"size": say.size(size), "most": say.size(offered.MOST_BYTES)}
        raise user_error("recipe-too-large", {"file": file, **said})
    try:
        whole.write_text(file, text)
    except OSError as e:
        raise user_error("recipe-unwritable", {"file": file, "why": e.strerror or str(e)}) from e
    return file
