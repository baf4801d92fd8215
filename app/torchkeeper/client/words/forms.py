"""What is in a file in which a program keeps what torch compiled for it, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.client.words import say, verdicts
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Nouns, Text, tr

if TYPE_CHECKING:
    from torchkeeper.artifacts.forms import Form, What
    from torchkeeper.engine.messages.entries import FormModel, FormResult
    from torchkeeper.verdict.probed import VerdictTold

_FORMS: dict[Form, Text] = {
    "aot-compile": "what aot_compile saved of a function",
    "pt2": "package of AOTInductor",
    "exported": "package of torch.export, not compiled",
    "precompile": "the code of a program that torch.compiler.precompile wrote",
    "precompile-cache": "the cache of a program that torch.compiler.precompile wrote",
}
_HELD: dict[What, Nouns] = {
    "object": ("object", "objects"),
    "gpu": ("file for a GPU", "files for a GPU"),
    "source": ("source", "sources"),
    "weights": ("file of weights", "files of weights"),
    "pickle": ("pickle", "pickles"),
    "text": ("text", "texts"),
}
#: What runs where such a file is loaded.
_RUNS: dict[Form, Text] = {
    "aot-compile": "all that its pickle names, and the function’s bytecode, when it is loaded",
    "pt2": "its objects, when it is loaded: they are machine code",
    "exported": "nothing by itself; torch reads its graph, and unpickles sample inputs",
    "precompile": "all of it, as any Python file, when it is loaded",
    "precompile-cache": "all that its pickle names, when it is loaded",
}
#: Values that are named on one line, and characters of one.
_NAMED, _MAX = 8, 120


def called(found: FormResult) -> str:
    """What such a file is."""
    assert found["form"]
    return tr(_FORMS[found["form"]])


def lines(found: FormResult, torch: str) -> list[tuple[str, str]]:
    """What it is, as (name, value). torch: that of the environment of its verdicts."""
    assert found["form"]
    said = []
    if found["name"]:
        said.append((tr("holds"), printable(found["name"], _MAX)))
    held = [
        say.count(count, *_HELD[what]) for what, count in found["holds"].items() if what in _HELD
    ]
    said.append((tr("files"), f"{say.together(held)}; {say.content(found['size'])}"))
    made = [f"torch {found['torch']}" if found["torch"] else tr("torch is not recorded")]
    made += [f"Python {found['python']}"] if found["python"] else []
    made += filter(None, [found["device"], found["gpu"]])
    if found["form"] != "precompile":
        said.append((tr("made by"), printable(", ".join(made), 200)))
    for name, value in list(found["said"].items())[:_NAMED]:
        said.append((printable(name, 40), printable(value, _MAX)))
    for model in found["models"]:
        said += _model(model, torch)
    if found["strange"]:
        names = say.together(found["strange"], _NAMED)
        said.append(
            (tr("strange"), printable(tr("PyTorch never writes {names}", names=names), 400))
        )
    said.append((tr("runs"), tr(_RUNS[found["form"]])))
    if found["verdict"] and not found["models"]:
        said.append((tr("verdict"), _verdict(found["verdict"], torch)))
    return said


def _model(one: FormModel, torch: str) -> list[tuple[str, str]]:
    about = [one["device"], one["capability"], one["platform"], one["machine"], one["isa"]]
    text = f"{one['name']}: {', '.join(filter(None, about)) or tr('it does not say for what')}"
    said = [(tr("model"), printable(text, 300))]
    if one["needs"]:
        said.append((tr("needs"), printable(say.together(one["needs"], _NAMED), 400)))
    if one["verdict"]:
        said.append((tr("verdict"), _verdict(one["verdict"], torch)))
    return said


def _verdict(told: VerdictTold, torch: str) -> str:
    verdict, why = verdicts.told(told)
    said = f"{verdict}: {why}" if why else verdict
    return printable(tr("{verdict} (torch {version})", verdict=said, version=torch), 500)
