"""Whether a server of vLLM or SGLang finds what is there, and which factors of its key differ, in
words. What stands in strangers' files is made printable and short here.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from torchkeeper.artifacts.vllm import HASHES, Factors
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Nouns, Text, several, tr
from torchkeeper.settings import vllm as variables
from torchkeeper.verdict.vllm import Factor, Judged
from torchkeeper.verdict.vllm import variable as factor

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import VllmRow
    from torchkeeper.verdict.probed import FactorTold

#: Characters of a value, and variables that a sentence names.
_SHORT, _NAMED = 60, 4
#: Characters of a text that is to be set.
_LONG = 2000

VERDICTS: dict[str, Text] = {"hits": "hits", "misses": "misses", "open": "may hit"}
#: What vLLM makes of what, by the name of the hash.
_MADE_OF: dict[str, Text] = {
    "config": "the configuration of the server: the model and its options",
    "code": "the sources that torch traced, with their paths",
    "compiler": "torch, its settings and the GPU",
}
_SAME: Text = "No factor of the key differs: a server of one finds what the other has compiled"
_ONE: Text = "Only {name} differs ({a}, {b}); {why}"
_SEVERAL: Nouns = ("{n} factor differs: {names}", "{n} factors differ: {names}")
_SGLANG: Text = (
    "SGLang looks into {folder} with this interpreter, and not into {others}: that was made with "
    "another torch, or for another GPU"
)
_IDLE: Text = "it is in the key and cannot change code"
_IDLE_ALL: Text = "they are in the key and cannot change code"
_CODE: Text = "it is in the key and may change code"
_HASH: Text = "it is made of {what}"
_ODD: Text = "{name}: vLLM {version} has no such variable; what it changes is not known."
_MEANT: Text = "{name}: vLLM {version} has no such variable, so it changes nothing; {meant} is one."
_LACKS: Text = "one of both knows no such variable: another version of vLLM"


def together(rows: Iterable[VllmRow]) -> list[list[VllmRow]]:
    """Keys of a place, those with the same factors together: the ranks and parts of a model."""
    found: dict[tuple[str, ...], list[list[VllmRow]]] = {}
    for row in rows:
        about = row["folder"], *(row["hashes"].get(name, "") for name in HASHES)
        like = found.setdefault(about, [])
        same = next((one for one in like if one[0]["env"] == row["env"]), None)
        if same is None:
            like.append([row])
        else:
            same.append(row)
    return [one for like in found.values() for one in like]


def factors(row: VllmRow) -> Factors:
    """What a key was made of."""
    return Factors(row["env"], *(row["hashes"].get(name, "") for name in HASHES))


def lacking(a: VllmRow, b: VllmRow) -> list[str]:
    """Lines on what only one of two ranks has of a part."""
    if a["part"] != b["part"]:
        return []
    own, other = ({one["name"] for one in row["pieces"]} for row in (a, b))
    only = (a, own - other), (b, other - own)
    return [tr("Only {rank} has {names}.", rank=printable(row["rank"], _SHORT),
               names=say.together(sorted(map(printable, some)), _NAMED))
            for row, some in only if some]  # fmt: skip


def sentence(found: Judged) -> str:
    """What of two keys differs."""
    if not found.factors:
        return tr(_SAME)
    if len(found.factors) == 1:
        one = found.factors[0]
        a, b = values(one)
        return tr(_ONE, name=name(one.name), a=a, b=b, why=why(one))
    said = several(len(found.factors), *_SEVERAL, names=names(found))
    return f"{said}; {tr(_IDLE_ALL)}" if all(one.idle for one in found.factors) else said


def judged(rows: Iterable[FactorTold]) -> Judged:
    """What an engine has told of two entries of keys, as factors of these."""
    found = []
    for row in rows:
        plain = row["factor"].removesuffix("_hash")
        known = plain if plain in HASHES else row["factor"]
        made = factor(known, row["a"], row["b"])
        hidden = made.hidden or "…" in (row["a"], row["b"])
        found.append(Factor(known, row["a"], row["b"], made.idle, hidden))
    return Judged(tuple(found))


def why(one: Factor) -> str:
    """What a factor is, in a clause."""
    if one.name in _MADE_OF:
        return tr(_HASH, what=tr(_MADE_OF[one.name]))
    if one.a is None or one.b is None:
        return tr(_LACKS)
    return tr(_IDLE if one.idle else _CODE)


def values(one: Factor) -> tuple[str, str]:
    """Both values as a user writes them."""
    if one.hidden:
        return ("…", "…")
    a, b = (_value(x, one.name in _MADE_OF) for x in (one.a, one.b))
    return (a, b)


def _value(text: str | None, is_hash: bool) -> str:
    if text is None:
        return "-"
    try:
        value = text[:10] if is_hash else json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if value is None:
        return tr("none")
    return printable(value if isinstance(value, str) and value else text, _SHORT)


def name(factor: str) -> str:
    """A factor as it is called in the file."""
    return f"{factor}_hash" if factor in _MADE_OF else printable(factor, 80)


def names(found: Judged) -> str:
    """The factors that differ, some of them."""
    return say.together([name(one.name) for one in found.factors], _NAMED)


def to_set(found: Judged) -> dict[str, str | None]:
    """What another server needs to find the key, where variables are all that differs: each with a
    text, or None for one that is not to be set; nothing where one has no text, or is a secret.
    """
    texts = dict[str, str | None]()
    for one in found.factors if not found.named else ():
        if one.hidden or one.a is None or one.name in _MADE_OF:
            return {}
        text = None
        if one.a != variables.value(one.name, {}):
            text = variables.text_for(one.name, one.a)
            if text is None:
                return {}
        texts[one.name] = text
    return texts


def remedy(found: Judged) -> list[str]:
    """The same as lines for a shell."""
    told = ((name(of), text) for of, text in to_set(found).items())
    return [shlex.join(["unset", of]) if text is None
            else f"{of}={printable(shlex.quote(text), _LONG)}" for of, text in told]  # fmt: skip


def left_open(open_: Mapping[str, str], odd: Mapping[str, str]) -> list[str]:
    """Lines on what is not known of the variables of a server, or may be a slip."""
    lines = []
    if open_:
        lines.append(tr("Not known, so nobody can tell what it changes:"))
        lines += [f"  {name(of)}: {printable(why, 200)}" for of, why in open_.items()]
    for of, meant in odd.items():
        about = {"name": name(of), "version": variables.VERSION, "meant": meant}
        lines.append(tr(_MEANT if meant else _ODD, **about))
    return lines


def unknown(found: Judged, told: Collection[str] = ()) -> list[str]:
    """Lines on what nobody can know before vLLM runs. told: what is said elsewhere."""
    hashes = [one for one in found.unknown if one in _MADE_OF]
    others = [one for one in found.unknown if one not in _MADE_OF and one not in told]
    lines = [f"{name(one)}: {tr(_HASH, what=tr(_MADE_OF[one]))}" for one in hashes]
    if others:
        depends = tr("what these come to depends on more than variables: {names}",
                     names=", ".join(map(name, others[:20])))  # fmt: skip
        lines.append(depends)
    return lines


def sources(a: VllmRow, b: VllmRow) -> str:
    """What the graphs tell of why the hashes of the code differ; "" where they tell nothing."""
    if a["hashes"].get("code") == b["hashes"].get("code") or not (a["sources"] and b["sources"]):
        return ""
    own, other = (set(row["sources"]) for row in (a, b))
    if own == other:
        return tr("The graphs name the same files: the text of one of them is another.")
    mine, its = min(own - other, default=""), min(other - own, default="")
    if mine and its and {_below(x) for x in own} == {_below(x) for x in other}:
        return tr(
            "The sources lie elsewhere, and the key has their paths: {a}, {b}.",
            a=printable(mine, 200), b=printable(its, 200),
        )  # fmt: skip
    named = [printable(x, 200) for x in (mine, its) if x]
    return tr("The graphs name other files: {names}.", names=", ".join(named))


def _below(path: str) -> str:
    """A path from the folder of packages on."""
    return path.rpartition("-packages/")[2]


def pieces(row: VllmRow) -> str:
    """How many pieces a graph has, for which sizes."""
    counts = Counter((one["low"], one["high"]) for one in row["pieces"])
    said = []
    for (low, high), count in sorted(counts.items()):
        sizes = tr("size {n}", n=low) if low == high else tr("{low} to {high}", low=low, high=high)
        said.append(tr("{count} for {sizes}", count=count, sizes=sizes))
    return ", ".join(said[:_NAMED]) + (", …" if len(said) > _NAMED else "")


def named(row: VllmRow) -> str:
    """Whether the folder of a key has the name that its factors make; "" where it has."""
    if not row["folder"] or row["folder"] == row["named"]:
        return ""
    if not row["named"]:
        return tr("Not all factors are recorded.")
    return f"{misnamed(row['named'])}."


def misnamed(made: str) -> str:
    """That the folder of a key has another name than its factors make; "" of none."""
    if not made:
        return ""
    return tr("Its factors make another name, {name}: vLLM finds it only where it is told to look "
              "there", name=made)  # fmt: skip


def changed(row: VllmRow) -> list[str]:
    """The variables that are not as they are without any, and their values, a line each."""
    lines = []
    for variable, text in sorted(row["env"].items()):
        default = variables.value(variable, {})
        if default is not None and default != text:
            lines.append(f"{name(variable)}: {values(factor(variable, default, text))[1]}")
    return lines


def sglang(looks_for: str, there: Collection[str]) -> str:
    """What is said where SGLang would not look into any of the folders that are there; else ""."""
    if not looks_for or not there or looks_for in there:
        return ""
    return tr(_SGLANG).format(folder=looks_for, others=say.together(sorted(there), _NAMED))
