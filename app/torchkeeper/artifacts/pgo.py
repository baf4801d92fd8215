"""PGO profiles: the pickled code state of Dynamo (torch/_dynamo/pgo.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts import inert

if TYPE_CHECKING:
    from torchkeeper.artifacts.payload import Facts


def facts(data: bytes, full: bool) -> Facts:
    """name: the functions the profile is about. With ``full`` all of them with file and line.
    Raises as ``fxgraph.facts`` does.
    """
    obj = inert.load(data)
    if inert.class_name(obj) not in ("defaultdict", "dict"):
        raise TypeError(f"a pickle of {inert.class_name(obj)}")
    pairs = obj.items if isinstance(obj, inert.Inert) else list(obj.items())
    functions: list[tuple[str, str]] = []
    for key, _ in pairs:
        state = inert.fields(key)
        args: tuple[Any, ...] = key.args if isinstance(key, inert.Inert) else ()
        name = inert.text(state.get("name")) or (inert.text(args[2]) if len(args) > 2 else None)
        file = inert.text(state.get("filename")) or (inert.text(args[0]) if args else None)
        line = state.get("firstlineno", args[1] if len(args) > 1 else None)
        if name:
            functions.append((name, inert.place(file, line) if file else ""))
    names = list(dict.fromkeys(name for name, _ in functions))
    said = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    found: Facts = {"name": f"profile of {said}" if names else None}
    if full:
        found["functions"] = [f"{name} at {place}" for name, place in functions[:500]]
    return found
