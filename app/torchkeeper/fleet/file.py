"""A fleet in a file, so that CI or a timer can run it: TOML, read with every fault at its line, as
recipes are. Paths in it are from its folder.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client import secrets
from torchkeeper.client.kept import whole
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.words.problems import failing_as, user_error
from torchkeeper.fleet.job import Job
from torchkeeper.stores import query
from torchkeeper.stores.names import scheme_of
from torchkeeper.warm.options import MOST_JOBS
from torchkeeper.warm.recipes.faults import Fault, Faults, Where, shown
from torchkeeper.warm.recipes.recipe import BUILTIN, MOST_SECONDS

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Secrets
    from torchkeeper.engine.messages.fleet import FleetParams

_KEYS = (
    "recipes", "on", "into", "also", "prove", "share", "jobs", "python", "state", "report", "sign",
    "secrets", "compile", "retention",
)  # fmt: skip
_COMPILE = ("device", "threads", "portable", "seconds")
#: What becomes of secrets that are found in entries, and as engines are told.
_SECRETS: dict[str, Secrets] = {"redact": "redact", "without": "leave", "allow": "allow"}
_MOST_THREADS = 4096
_MEND = "Correct it; “torchkeeper fleet new” writes an example that says what can be said."


def faults(data: object) -> list[Fault]:
    """Everything that is wrong with the tables of a fleet file."""
    found = Faults()
    if not found.table(data, ()):
        return found.found
    found.keys(data, _KEYS, ())
    for key, texts in (("recipes", 1), ("on", 1), ("into", 0)):
        if key not in data:
            found.add((), f"“{key}” is missing, which a fleet cannot do without.")
        elif texts:
            _texts(found, data[key], (key,))
        else:
            _place(found, data[key], (key,))
    if "also" in data:
        _each(found, data["also"], ("also",), _place)
    for key in ("python", "state", "report", "sign"):
        if key in data:
            found.text(data[key], (key,))
    for key in ("prove", "share"):
        if key in data:
            found.switch(data[key], (key,))
    if "jobs" in data:
        found.whole(data["jobs"], ("jobs",), 1, MOST_JOBS)
    if "secrets" in data:
        found.one_of(data["secrets"], tuple(_SECRETS), ("secrets",), "one-of")
    _compile(found, data.get("compile", {}))
    _retention(found, data.get("retention", {}))
    return found.found


def _compile(found: Faults, told: object) -> None:
    where = ("compile",)
    if not found.table(told, where):
        return
    found.keys(told, _COMPILE, where)
    if "device" in told:
        found.text(told["device"], (*where, "device"))
    if "threads" in told:
        found.whole(told["threads"], (*where, "threads"), 1, _MOST_THREADS)
    if "portable" in told:
        found.switch(told["portable"], (*where, "portable"))
    if "seconds" in told:
        value = told["seconds"]
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not 0 < cast("float", value) <= MOST_SECONDS:
            found.add((*where, "seconds"), "seconds", shown(value), most=int(MOST_SECONDS))


def _retention(found: Faults, told: object) -> None:
    where = ("retention",)
    if not found.table(told, where):
        return
    found.keys(told, ("after",), where)
    if told and "after" in told:
        value = told["after"]
        with contextlib.suppress(Problem):
            if isinstance(value, str) and query.seconds_in(value) >= 0:
                return
        found.add((*where, "after"), "expected an age, such as “30d” or “12h”", shown(value))


def _texts(found: Faults, value: object, where: Where) -> None:
    _each(found, value, where, lambda found, one, at: found.text(one, at))


def _each(
    found: Faults, value: object, where: Where, look: Callable[[Faults, object, Where], object]
) -> None:
    """A text, or a list of them."""
    if isinstance(value, str):
        look(found, value, where)
    elif found.items(value, where, 1):
        for at, one in enumerate(value):
            look(found, one, (*where, at))


def _place(found: Faults, value: object, where: Where) -> bool:
    if not found.text(value, where):
        return False
    text = str(value)
    if not scheme_of(text).local and secrets.typed(text):
        why = "a password does not belong into a file: give it in the variable of its server."
        return found.add(where, why)
    return True


def read(path: str) -> Job:
    """What a fleet file asks for. Raises UserError for what is wrong with it, or with its
    recipes.
    """
    path = os.path.abspath(path)
    data: Mapping[str, Any] = recipes.tables(path, faults, _MEND)
    folder = os.path.dirname(path)

    def here(text: str) -> str:
        return os.path.normpath(os.path.join(folder, os.path.expanduser(text)))

    def place(text: str) -> str:
        return here(text) if scheme_of(text).local else secrets.named(text)

    names = [one if one == BUILTIN else here(one) for one in _list(data["recipes"])]
    compiling = data.get("compile", {})
    params: FleetParams = {
        "recipes": recipes.wire(names), "named": names, "on": _list(data["on"]),
        "into": place(data["into"]),
        "prove": bool(data.get("prove")), "share": bool(data.get("share")),
        "secrets": _SECRETS[data["secrets"]] if "secrets" in data else None,
    }  # fmt: skip
    if "jobs" in data:
        params["slots"] = data["jobs"]
    if "python" in data:
        python = str(data["python"])
        local = os.sep in python and scheme_of(python).local
        params["python"] = here(python) if local else python
    if "device" in compiling:
        params["device"] = compiling["device"]
    if "threads" in compiling:
        params["threads"] = compiling["threads"]
    if "portable" in compiling:
        params["portable"] = compiling["portable"]
    if "seconds" in compiling:
        params["limit_s"] = float(compiling["seconds"])
    if "state" in data:
        params["state"] = here(data["state"])
    kept = data.get("retention", {}).get("after")
    return Job(
        params, [place(one) for one in _list(data.get("also", []))],
        here(data["report"]) if "report" in data else "",
        here(data["sign"]) if "sign" in data else "",
        None if kept is None else query.seconds_in(kept), path,
    )  # fmt: skip


def _list(value: object) -> Sequence[str]:
    return [value] if isinstance(value, str) else cast("Sequence[str]", value)


def write(path: str, again: bool = False) -> None:
    """Write an example with comments; again: also where a file is. Raises UserError."""
    try:
        with failing_as("recipe-unwritable", file=path):
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            example = importlib.resources.files("torchkeeper.resources") / "fleet.toml"
            text = example.read_text(encoding="utf-8").replace("FILE", os.path.basename(path))
            try:
                whole.write_text(path, text, replace=again)
            except FileExistsError:
                raise user_error("recipe-exists", {"file": path}) from None
    except OSError as e:
        raise user_error("recipe-unwritable", {"file": path, "why": e.strerror or str(e)}) from e
