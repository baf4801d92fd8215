"""What sample engines say of secrets, and of what would be able to run."""

from __future__ import annotations

from typing import Any

from torchkeeper.artifacts.entry import Entry

#: What an engine says where it finds nothing.
NONE: dict[str, Any] = {"secrets": 0, "entries": 0, "redacted": 0, "fixed": 0, "private": []}


def leaks(entries: list[Entry]) -> list[dict[str, Any]]:
    """What an engine says of some graphs with a password, and of private facts."""
    graphs = [entry for entry in entries if entry.kind == "fxgraph"][:5]
    found: list[dict[str, Any]] = [
        {
            "secret": {
                "kind": entry.kind, "key": entry.key, "path": entry.path, "file": "x",
                "offset": 4205 + 977 * number, "what": "url-password", "name": "rediss",
                "excerpt": "rediss://ci:…@cache.example.org", "times": 1, "redactable": True,
            }
        }
        for number, entry in enumerate(graphs)
    ]  # fmt: skip
    found.append({
        "secret": {
            "kind": "code", "key": "cmnvkzanes3ggbbm", "path": "mn/cmnvkzanes3ggbbm.py",
            "file": "cmnvkzanes3ggbbm.py", "offset": 311, "what": "token", "name": "Hugging Face",
            "excerpt": "hf_…", "times": 2, "redactable": False,
        }
    })  # fmt: skip
    facts = [("home", "/home/ada", 6), ("source", "/home/ada/llama/train.py", 5)]
    first = {"kind": "code", "key": "cmnvkzanes3ggbbm", "path": "mn/cmnvkzanes3ggbbm.py",
             "file": "cmnvkzanes3ggbbm.py", "offset": 88}  # fmt: skip
    private = [{"what": w, "value": v, **first, "entries": n, "times": 3 * n} for w, v, n in facts]
    told = {"secrets": len(found), "entries": len(found), "redacted": 0, "fixed": 1}
    return [*found, {"leaks": {**told, "private": private}}]


def of_entry(leaky: bool) -> list[dict[str, Any]]:
    """What an engine says of one graph; ``leaky``: of one with secrets."""
    where = {"kind": "fxgraph", "key": "fa", "path": "x", "file": "payload"}
    found: list[dict[str, Any]] = [
        {"secret": {**where, "what": "url-password", "name": "rediss", "offset": 4205,
                    "excerpt": "rediss://ci:…@cache.example.org", "times": 2, "redactable": True}},
        {"secret": {**where, "what": "named", "name": "TORCHINDUCTOR_TOKEN", "offset": 6120,
                    "excerpt": "TORCHINDUCTOR_TOKEN=…", "times": 1, "redactable": True}},
    ]  # fmt: skip
    facts = [("home", "/home/ada"), ("user", "ada"), ("source", "/home/ada/llama/train.py")]
    first = {**where, "offset": 512}
    private = [{"what": w, "value": v, **first, "entries": 1, "times": 3} for w, v in facts]
    secrets = found if leaky else []
    told = {"secrets": len(secrets), "entries": len(secrets[:1]), "redacted": 0, "fixed": 0}
    return [*secrets, {"leaks": {**told, "private": private}}]


def runnable(strange: bool) -> dict[str, Any]:
    """What of a bundle would be able to run; ``strange``: with what PyTorch never writes."""
    kinds = [
        {"kind": "fxgraph", "entries": 6, "pickles": 6, "sources": 0, "objects": 0, "unread": 0},
        {"kind": "code", "entries": 14, "pickles": 0, "sources": 14, "objects": 9, "unread": 0},
    ]
    names = [
        {"name": f"torch._inductor.output_code.Part{number}", "strange": False, "entries": 6,
         "kinds": ["fxgraph"], "key": "fk2v5qzx7h4wnbd3tpmu6"}
        for number in range(31)
    ]  # fmt: skip
    if strange:
        names.insert(0, {"name": "os.system", "strange": True, "entries": 1, "kinds": ["fxgraph"],
                         "key": "fk2v5qzx7h4wnbd3tpmu6"})  # fmt: skip
    return {"kinds": kinds, "globals": names, "strange": int(strange), "more": False}
