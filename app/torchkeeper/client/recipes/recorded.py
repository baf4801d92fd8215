"""The recipe that warms again what a program was heard compiling. Each thing that it compiled is
named, if it can be made again by name and has inputs that a recipe can say; else the recipe runs
the program's own command, and says why.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.artifacts.masking import hidden
from torchkeeper.client.recipes import recording
from torchkeeper.client.recipes.recording import NOT_CACHED, dicts, given, of_environment
from torchkeeper.client.secrets import is_secret
from torchkeeper.warm.processes import is_python
from torchkeeper.warm.recipes import recipe as recipes
from torchkeeper.warm.recipes.items import MODES
from torchkeeper.warm.recipes.tables import Item as Told
from torchkeeper.warm.recipes.tables import Settings, Tables
from torchkeeper.warm.traces.notes import Note


class Unnamed(Exception):
    """Why something cannot be named in a recipe."""


def reference(one: Mapping[str, Any], note: Mapping[str, Any], folder: str) -> str:
    """What a recipe in ``folder`` calls it: ``module:name`` or ``file.py:name``; "": the recipe is
    on another machine than what it names. Raises Unnamed.
    """
    module, name, file = str(one.get("module")), str(one.get("name")), one.get("file")
    if module == "__main__":
        file = note.get("main")
        if not isinstance(file, str) or not file.endswith(".py"):
            raise Unnamed(f"{name} is in no file")
        if not note.get("defines"):
            raise Unnamed(
                f"{os.path.basename(file)} does more than define when it is imported: what it runs "
                'should stand under “if __name__ == "__main__":”'
            )
        module = str(note.get("main_module") or "")
    if not isinstance(file, str):
        raise Unnamed(f"{name} is in no file of Python's")
    if not folder and module.partition(".")[0] in sys.stdlib_module_names:
        # Another machine says so, and wherever it is warmed this is called with what that gives.
        raise Unnamed(f"{module}:{name} is of Python itself")
    stdlib = sysconfig.get_paths()["stdlib"] + os.sep
    if "site-packages" in file or "dist-packages" in file or file.startswith(stdlib):
        return f"{module}:{name}"
    if "." not in module:
        return f"{os.path.relpath(file, folder) if folder else file}:{name}"
    root = file.removesuffix("/__init__.py")
    for _ in module.split("."):
        root = os.path.dirname(root)
    if root != folder:
        where = "write the recipe there" if folder else "that is on another machine"
        raise Unnamed(f"{module} can be imported from {root} only: {where}")
    return f"{module}:{name}"


# What each process noted is its own say: what is not as expected raises, for ``_understood``.

_ODD = {
    "hooks": "has hooks",
    "frozen": "has parameters of which only some want gradients",
    "devices": "is on several devices",
    "dtypes": "has parameters of several types",
    "strides": "has parameters in another memory format, channels_last",
}


@dataclass(frozen=True)
class Item:
    """An item of a recipe. made: what is compiled. calls: what with, as an item or one of its
    ``calls`` says it. ways: how, by the names of ``[compile]``; without those that it has itself.
    """

    made: dict[str, object]
    calls: list[dict[str, object]]
    ways: dict[str, object]


@dataclass
class _Thing:
    """All that was compiled of a function, or of the models of a class, in one way, by however many
    calls of torch.compile: what Dynamo has compiled, and learned, lies with the code, and is used
    wherever the backend is an equal one (torch/_dynamo/eval_frame.py, pgo.py)."""

    name: str
    made: dict[str, object]
    ways: dict[str, object]
    noted: list[Note] = field(default_factory=list)


def items_of(note: Note, folder: str) -> tuple[list[Item], list[str]]:
    """What one process compiled, and why what cannot be named is not. folder: of the recipe."""
    found, why, things = list[Item](), list[str](), dict[str, _Thing]()
    every = dicts(note.get("compiled"))
    for one in every:
        if one.get("backend") not in NOT_CACHED:
            with _noting(why):
                thing = _thing(one, note, folder)
                key = json.dumps([thing.made, thing.ways, one.get("device")], sort_keys=True)
                things.setdefault(key, thing).noted.append(one)
    for thing in things.values():
        with _noting(why):
            found += [one for one in _items(thing, every) if one not in found]
    return found, why


@contextlib.contextmanager
def _noting(why: list[str]) -> Iterator[None]:
    try:
        yield
    except Unnamed as e:
        why.append(str(e.args[0]))


def _thing(one: Note, note: Note, folder: str) -> _Thing:
    """What was compiled, and how, whatever it was called with. Raises Unnamed."""
    name = str(one.get("name"))
    if one.get("settings"):
        raise Unnamed(f"the program has set {', '.join(map(str, one['settings'][:5]))}")
    if one.get("backend") != "inductor":
        raise Unnamed(f"{name} is compiled by another backend, {one.get('backend')}")
    if one.get("kind") not in ("function", "model"):
        of = f"a {one.get('type')}"
        what = of if one.get("name") is None else f"{name}, {of},"
        raise Unnamed(f"{what} is compiled, which is no function and no model and has no name")
    if not one.get("there"):
        raise Unnamed(f"{name} is made inside a function, or has another name now")
    if secret := _secret(one):
        raise Unnamed(f"{name} is given what looks like a secret, {secret}, which is not kept")
    made, ways = dict[str, object](), dict[str, object]()
    if one["kind"] == "model":
        if one.get("odd"):
            raise Unnamed(f"{name} {_ODD.get(str(one['odd'][0]), 'is not as it was built')}")
        if not isinstance(one.get("args"), dict):
            raise Unnamed(f"{name} is built from more than plain values")
        made["factory"] = reference(one, note, folder)
        ways["dtype"] = None if one.get("dtype") == "float32" else one.get("dtype")
    else:
        made["function"] = reference(one, note, folder)
    if not one.get("decorated"):
        ways |= {key: one.get(key) for key in ("dynamic", "fullgraph", "options")}
        ways["mode"] = one["mode"] if one.get("mode") in MODES else None
    return _Thing(name, made, ways)


def _items(thing: _Thing, every: Sequence[Note]) -> list[Item]:
    """An item for each of its calls; one of all of them where what came before a call decided what
    it compiled. every: all that the process compiled. Raises Unnamed.
    """
    noted = [(call, one) for one in thing.noted for call in dicts(one.get("calls"))]
    noted.sort(key=lambda both: _order(both[0]))
    for call, _ in noted:
        _check(call, thing.name)
    calls = [call for call, _ in noted]
    if not any(call.get("symbols") for call in calls) or thing.noted[0].get("dynamic") is True:
        return [_item(thing, [both]) for both in noted]
    _check_order(thing, calls, every)
    if any(call.get("precision") != calls[0].get("precision") for call in calls):
        raise Unnamed(f"{thing.name} is called with several precisions of float32")
    return [_item(thing, noted)]


def _item(thing: _Thing, noted: Sequence[tuple[Note, Note]]) -> Item:
    device = _device(noted[0][1], noted[0][0])
    calls, modes = list[dict[str, object]](), list[dict[str, object]]()
    made, args = thing.made, [one.get("args") or {} for _, one in noted]
    alike = all(one == args[0] for one in args)
    if alike and args[0]:
        made = {**made, "args": args[0]}
    for call, one in noted:
        own = {} if alike else {"args": one.get("args")}
        inputs = [_told(x, device) for x in call["inputs"]]
        keywords = {key: _told(x, device) for key, x in call["keywords"].items()}
        calls.append({**own, "inputs": inputs, **({"keywords": keywords} if keywords else {})})
        backward = bool(call.get("backward"))
        grad = backward or call.get("grad") is not False
        trains = bool(call.get("training"))
        matters = one["kind"] == "model" and one.get("mode_matters") and trains != backward
        training, cast = trains if matters else None, _autocast(call, one)
        modes.append({"backward": backward, "grad": grad, "training": training, "autocast": cast})
    usual: dict[str, object] = {"backward": False, "grad": True, "training": None, "autocast": None}
    usual |= {name: x for name, x in modes[0].items() if all(mode[name] == x for mode in modes)}
    for told, mode in zip(calls, modes, strict=True):
        told |= {name: value for name, value in mode.items() if value != usual[name]}
    # The same again compiles nothing: every one of them is there already.
    once = [call for at, call in enumerate(calls) if call not in calls[:at]]
    precision = noted[0][0].get("precision")
    around = {"device": device, "precision": None if precision == "highest" else precision}
    return Item(made, once, {**around, **usual, **thing.ways})


def _check_order(thing: _Thing, calls: Sequence[Note], every: Sequence[Note]) -> None:
    """Raises Unnamed where it was for any size for another reason than calls with other sizes."""
    frames = {frame for one in thing.noted for frame in one.get("frames") or ()}
    last = max(_order(call) for call in calls if call.get("symbols"))
    for one in every:
        if one in thing.noted or not frames & set(one.get("frames") or ()):
            continue
        # What is never for any size neither learns nor tells (torch/_dynamo/pgo.py).
        before = any(_order(call) < last for call in dicts(one.get("calls")))
        if before and one.get("dynamic") is not False:
            raise Unnamed(
                f"{thing.name} is compiled for any size, and its code is compiled in another way, "
                "too: that takes the program's own order of calls"
            )
    for at, call in enumerate(calls):
        same = all(one[of] == call[of] for one in calls[:at] for of in ("inputs", "keywords"))
        if call.get("symbols") and same:
            raise Unnamed(f"{thing.name} is compiled for any size before it was called with "
                          "another one: the program has said so of a tensor, or has learned it "
                          "before")  # fmt: skip


def _autocast(call: Note, one: Note) -> str | None:
    """The type of torch.autocast around a call. Raises Unnamed."""
    cast = dict(call.get("autocast") or {})
    own: str | None = cast.pop(_device(one, call).partition(":")[0], None)
    if cast:
        raise Unnamed(f"the program has set autocast for {', '.join(map(str, cast))}, too")
    return own


def _order(call: Note) -> int:
    return int(call.get("order", 0))


def _secret(one: Note) -> str:
    """What it is given that looks like a secret, by name; empty without."""
    tables = [table for table in (one.get("args"), one.get("options")) if isinstance(table, dict)]
    named = [(str(key), each) for table in tables for key, each in table.items()]
    named += [each for call in dicts(one.get("calls")) for each in given(one, call)]
    return next((key or "an input" for key, value in named if is_secret(key, value)), "")


def _check(call: Note, name: str) -> None:
    """Raises Unnamed where a call cannot be made again by itself."""
    if call.get("twice"):
        raise Unnamed(f"{name} is given one tensor twice, which a recipe cannot say")
    for value in (*call["inputs"], *call["keywords"].values()):
        for odd in _odd(value):
            # Of a method that is compiled, it is the model itself.
            raise Unnamed(f"an input of {name} is a {odd}: torch.compile the model instead, if it "
                          "is one")  # fmt: skip


def _odd(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "odd" in value:
            yield str(value["odd"])
        for form in ("list", "tuple"):
            for one in value.get(form, ()):
                yield from _odd(one)


def _device(one: Note, call: Note) -> str:
    """Where a call runs: the model's device, or that of the first tensor."""
    values = [*call["inputs"], *call["keywords"].values()]
    tensors = [value for value in values if isinstance(value, dict) and "shape" in value]
    named = [one.get("device"), *(tensor.get("device") for tensor in tensors)]
    return next((str(device) for device in named if device), "cpu").removesuffix(":0")


def _told(value: Any, device: str) -> Any:
    """An input as the recipe has it: the device of all is said once."""
    if not isinstance(value, dict):
        return value
    for form in ("list", "tuple"):
        if form in value:
            return {form: [_told(one, device) for one in value[form]]}
    if "shape" in value and str(value.get("device")).removesuffix(":0") == device:
        return {key: one for key, one in value.items() if key != "device"}
    return dict(value)


#: Reasons, and lines of what was compiled, that a recipe's comment has.
_MOST_LINES = 60


@dataclass
class Recorded:
    """A recipe. data: its tables. comment: what stands before them. source: "callable" or
    "script". why: for a script, why what it compiles is not named. hidden: something that looked
    like a secret was left out of the command.
    """

    data: Tables
    comment: str
    source: str
    why: list[str] = field(default_factory=list)
    hidden: bool = False


def recipe_of(
    notes: Sequence[Note],
    command: Sequence[str],
    out: str,
    env: Mapping[str, str],
    proof: str = "",
    refuted: Sequence[str] = (),
    folder: str = "",
    machine: str = "",
) -> Recorded:
    """The recipe for the file ``out``, of what processes noted (``warm.traces.recorder``). command:
    the user's, in its ``folder``, else this one, with ``env``. proof: what is said of trying what
    is named; refuted: why that failed, so that it is the command. machine: another one that has
    told all of that, whose paths it names, and which it names, too. Nothing is imported.
    """
    here = "" if machine else os.path.dirname(out)
    shown = hidden(command)
    secret = any("…" in word for word in shown)  # of a machine that was hidden there
    if is_python(shown[0]):
        shown[0] = "python"  # whichever the recipe is warmed with
    compiled = [one for note in notes for one in dicts(note.get("compiled"))]
    told = [f"  {line}" for one in compiled for line in recording.lines(one)]
    head = [f"Recorded by “torchkeeper run --recipe” of: {' '.join(shown)}"[:2000]]
    head += [f"It names files of {machine}, by what that told: warm it there."] if machine else []
    try:
        if refuted:
            raise Unnamed([*refuted][:_MOST_LINES])
        data = _understood(notes, here)
        head.append("It is the program's own models and functions, each with the inputs it had.")
        head += [f"{proof}."] if proof else []
        found = Recorded(data, "", "callable")
    except Unnamed as e:
        why = e.args[0]
        script = _script(shown, here, notes, env, folder or os.getcwd())
        found = Recorded(script, "", "script", why, secret)
        head.append("It runs the command again, because what was compiled cannot be named:")
        head += [f"  {line}" for line in why]
        if found.hidden:
            head.append("Where the command has “…” something that looked like a secret is left "
                        "out: the command has to take it from elsewhere.")  # fmt: skip
    if machine:
        found.data = {"machine": machine, **found.data}
    if told:
        head += ["", "Compiled were:", *told[:_MOST_LINES]]
        head += [f"  and {len(told) - _MOST_LINES:,} more"] if len(told) > _MOST_LINES else []
    # One line each, whatever a program called its things.
    found.comment = "\n".join(
        "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in line)[:500]
        for line in head
    )
    return found


def _understood(notes: Sequence[Note], folder: str) -> Tables:
    """As ``_callables``; a program can write there what it likes."""
    try:
        return _callables(notes, folder)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as e:
        raise Unnamed(["what it noted is not understood"]) from e


def _callables(notes: Sequence[Note], folder: str) -> Tables:
    """The recipe's tables. Raises Unnamed(why) with every reason."""
    why, found = list[str](), list[Item]()
    for note in notes:
        if note.get("unseen"):
            why.append("some compiles were begun in a way that cannot be seen")
        named, reasons = items_of(note, folder)
        found += [one for one in named if one not in found]
        why += reasons
    if not found and not why:
        why.append("it recorded nothing: its Python started without its site, or the program "
                   "cleared its environment")  # fmt: skip
    if why:
        raise Unnamed(list(dict.fromkeys(why))[:_MOST_LINES])
    settings, items = _settled(found)
    copied = dict[str, str]()
    for note in notes:
        settings.update(of_environment(note))
        copied |= recording.variables(note.get("environment"))
    data: dict[str, object] = {"callable": items}
    data |= _matrix(items)
    data |= {"compile": settings} if settings else {}
    data |= {"environment": copied} if copied else {}
    if faults := recipes.faults(data):
        raise Unnamed([f"a recipe cannot say it: {'.'.join(map(str, faults[0].where))}"])
    return recipes.without_faults(data)


def _settled(found: Sequence[Item]) -> tuple[dict[str, object], list[Mapping[str, Any]]]:
    """The ways that all have in common, or take any of, and the items, each with its own."""
    shared: dict[str, object] = {}
    own: list[dict[str, object]] = [{} for _ in found]
    for name in dict.fromkeys(name for one in found for name in one.ways):
        values = [one.ways[name] for one in found if name in one.ways]
        if all(value == values[0] for value in values):
            if not _is_default(name, values[0]):
                shared[name] = values[0]
            continue
        for one, settings in zip(found, own, strict=True):
            if name in one.ways and not _is_default(name, one.ways[name]):
                settings[name] = one.ways[name]
    items: list[Mapping[str, Any]] = []
    for one, settings in zip(found, own, strict=True):
        calls = one.calls[0] if len(one.calls) == 1 else {"calls": one.calls}
        items.append({**one.made, **({"compile": settings} if settings else {}), **calls})
    return shared, items


def _is_default(name: str, value: Any) -> bool:
    if name in ("fullgraph", "backward", "grad"):
        return value is (name == "grad")
    return value is None or value == {}


def _matrix(items: list[Mapping[str, Any]]) -> dict[str, object]:
    """A size for what alone differs between calls of one thing; the items become one."""
    if len(items) < 2 or any("inputs" not in one for one in items):
        return {}
    first = items[0]
    if any({**one, "inputs": 0} != {**first, "inputs": 0} for one in items):
        return {}
    places = [
        (at, dim)
        for at, value in enumerate(first["inputs"])
        if isinstance(value, dict) and "shape" in value
        for dim in range(len(value["shape"]))
    ]
    try:
        differ = [
            (at, dim)
            for at, dim in places
            if len({one["inputs"][at]["shape"][dim] for one in items}) > 1
        ]
        sizes = [{one["inputs"][at]["shape"][dim] for at, dim in differ} for one in items]
        if not differ or any(len(size) != 1 for size in sizes):
            return {}
        name = "batch" if all(dim == 0 for _, dim in differ) else "size"
        alike = []
        for one in items:
            copy = json.loads(json.dumps(one))
            for at, dim in differ:
                copy["inputs"][at]["shape"][dim] = name
            alike.append(copy)
    except (LookupError, TypeError):
        return {}
    values = [size.pop() for size in sizes]
    if any(one != alike[0] for one in alike) or len(set(values)) != len(values):
        return {}
    items[:] = alike[:1]
    return {"matrix": {name: values}}


def _script(
    argv: Sequence[str], here: str, notes: Sequence[Note], env: Mapping[str, str], folder: str
) -> Tables:
    item: Told = {"command": [*argv]}
    if (above := os.path.relpath(folder, here) if here else folder) != ".":
        item["folder"] = above
    data: Tables = {"script": [item]}
    settings: Settings = {}
    for note in [{"environment": dict(env)}, *notes]:
        settings.update(of_environment(note))
    if settings:
        data["compile"] = settings
    if copied := recording.variables(env):
        data["environment"] = copied
    return data
