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
from torchkeeper.client.kept import runs, whole
from torchkeeper.client.profiles import keeping
from torchkeeper.client.recipes import recorded, recording, toml
from torchkeeper.client.words import causes
from torchkeeper.client.words.problems import failing_as, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.settings.masks import applied
from torchkeeper.settings.servers import has_graphs
from torchkeeper.stores.places import used_by

if TYPE_CHECKING:
    from torchkeeper.client.kept.runs import ExplainedGraph, Run
    from torchkeeper.client.recipes.recording import Note
    from torchkeeper.engine.messages.verdicts import RunParams, RunResult

_TRACE = "TORCH_TRACE"
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
    return Line(env, [os.path.expanduser(word) for word in words])


def prepared(text: str, folder: str, python: str, profile: str, scratch: str) -> RunParams:
    """What a program is started with. python: the interpreter that runs it, if that is not as its
    line says. profile: the name of one, or "". scratch: a folder for the trace and what is noted of
    its compiles, which goes later. Raises UserError.
    """
    line = parsed(text)
    env = paths.users_variables()
    if profile:
        env = applied(keeping.load(profile).values, env)
    env |= line.env
    # What it prints is shown at once.
    env.setdefault("PYTHONUNBUFFERED", "1")
    if not env.get(_TRACE):
        env[_TRACE] = os.path.join(scratch, "trace")
    trace = os.path.join(folder, env[_TRACE])
    place, told = used_by(env, folder), has_graphs(env)
    with failing_as("command-unusable", command=line.words[0]):
        os.makedirs(trace, exist_ok=True)
        recording.hear(env, scratch)
    return {
        "command": recording.under(python, line.words) if python else line.words,
        "folder": folder,
        "env": env,
        "trace": trace,
        "place": place,
        "remote": told,
    }


class Ended(NamedTuple):
    """What is kept of a run: None where no cache was asked, and why. words: its command line.
    notes: what it compiled.
    """

    run: Run | None
    nothing: str
    params: RunParams
    words: Sequence[str]
    notes: Sequence[Note]


def ended(
    params: RunParams, words: Sequence[str], result: RunResult, graphs: Sequence[ExplainedGraph]
) -> Ended:
    """Keep a run. Raises UserError("runs-unwritable")."""
    env = params["env"] or {}
    if not graphs:
        return Ended(None, causes.nothing(result, env), params, words, ())
    took = result["code"], result["began"], result["seconds"]
    run = runs.keep(words, params["place"], *took, result, graphs)
    notes = recording.notes_in(env[recording.FOLDER])
    return Ended(run, "", params, words, notes)


def save_recipe(file: str, one: Ended) -> str:
    """Write the recipe that warms again what a program compiled; its file. Raises UserError."""
    proof = recording.Proof(unproved=tr("it was saved in the window; Verify runs it"))
    env, folder = one.params["env"] or {}, one.params["folder"]
    made = recorded.recipe_of(one.notes, one.words, file, env, proof.said, folder=folder)
    try:
        whole.write_text(file, toml.text_of(made.data, made.comment))
    except OSError as e:
        raise user_error("recipe-unwritable", {"file": file, "why": e.strerror or str(e)}) from e
    return file
