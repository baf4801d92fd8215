"""What an engine reports, as an error for people: what happened, why, and what to do. An engine
sends a code and parameters; nothing an entry contains is shown as if the app had said it. Words are
in ``catalogue``; here is also what a recipe should have said (``warm.recipes.faults``).
"""

from __future__ import annotations

import contextlib
import re
import shlex
import string
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.masking import without_logins
from torchkeeper.client.words import say
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.catalogue.words import Forms, Words
from torchkeeper.client.words.tongue import Nouns, Text, form, is_english, several, tr

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import InUse, Using


#: What was expected; what was found is said after it. A text that ends with a full stop is about
#: a key, not its value, and says everything.
EXPECTED: dict[str, Text] = {
    # Plain values
    "table": "expected a table",
    "list": "expected a list, [ … ]",
    "not-empty": "expected at least one item",
    "fewer": "expected at most {most} items.",
    "text": "expected a text in quotes, which is not empty",
    "quoted": "expected a text in quotes",
    "shorter": "expected a text of at most {most} characters",
    "printable": "expected a text on one line, without control characters",
    "switch": "expected true or false",
    "true": "expected true",
    "whole": "expected a whole number from {least} to {most}",
    "number": "expected a number",
    "plain": "expected a text, a number, true, false, a list or a table",
    "shallower": "lists and tables lie more than {most} deep in each other.",
    "twice": "the same value is there twice",
    # Keys
    "key": "expected keys without control characters",
    "key-near": "there is no such key; did you mean “{near}”?",
    "key-known": "there is no such key; known are {known}.",
    "needed": "“{key}” is missing, which {source} cannot do without.",
    "parameter": "expected the name of a parameter, such as x",
    "variable": "expected the name of a variable, such as OMP_NUM_THREADS",
    "variable-ours": "Torchkeeper sets this variable itself.",
    "machine": "expected a machine, such as “ssh://gpu1”",
    # Sources
    "source": "nothing says what to compile: expected one of {known}.",
    "one-source": "a recipe has one kind of source, and there is “{first}” already; "
    "put this into a recipe of its own.",
    "item": "expected a table, or several as an array of tables",
    "called": "expected “example”, “factory” or “function”.",
    "one-called": "expected one of “example”, “factory” and “function”; "
    "there is “{first}” already.",
    "reference": "expected “module:function” or “path/file.py:function”",
    "kernel": "expected “module:kernel” or “path/file.py:kernel”",
    "example-returns": "an example returns its inputs itself; leave them out, or use “factory” or "
    "“function”.",
    "call": "expected a call, such as {{ inputs = [ … ] }}",
    "in-calls": "“calls” says what it is called with; put this into one of them.",
    "args-of-function": "a function is compiled as it is, nothing is handed to it before: put "
    "what it is called with into “inputs” and “keywords”.",
    "pt2": "expected a file that ends with .pt2, as torch.export.save writes it",
    "op": "expected an operator with its namespace, such as “aten::add.Tensor”",
    "signature": "expected a type of Triton, such as “*fp32:16”, “i32” or “fp32”",
    "target": "expected a target such as “cuda:90” or “hip:gfx942”",
    "constant": "expected a number, a text, true or false",
    "constant-or-argument": "this is in the signature, and a constant, too; it can be one of them.",
    "warps": "expected 1, 2, 4, 8, 16 or 32",
    # Inputs
    "input-list": "expected a value or a table; a list of inputs is {{ list = [ … ] }}",
    "input-form": "expected what it is, such as {{ shape = [8, 64] }}",
    "input-shape": "a tensor needs a “shape”.",
    "dtype": "expected a dtype of torch, such as float32",
    "layout": "expected one of {known}",
    "device": "expected a device, such as “cpu” or “cuda:0”",
    "fill": "expected one of {known}",
    "fill-integers": "tensors of {dtype} are filled with zeros, ones or randint",
    "grad-integers": "tensors of {dtype} have no gradient",
    "no-bounds": "only rand and randint have bounds",
    "above-low": "expected more than {low}, which “low” is",
    "size": "expected a whole number, or a size of [matrix] ({known})",
    "no-sizes": "expected a whole number: there are no sizes in [matrix]",
    # Matrix, compile, limits
    "size-name": "expected a name for a size, of letters, digits and _",
    "size-unused": "no shape uses this size.",
    "axis-unused": "this changes nothing here: nothing that is compiled depends on it.",
    "not-an-axis": "this belongs into [compile], or into the “compile” of an item: a matrix has "
    "sizes, dtype, device and mode.",
    "not-for-source": "this has no meaning for {source}.",
    "not-negative": "a shape uses this size: expected no number below 0",
    "huge": "the inputs are too large: together they have more than {most} elements.",
    "fewer-variants": "expected at most {most} combinations",
    "smaller": "written out, the combinations take more than {most} bytes: make the matrix "
    "smaller, or the inputs fewer.",
    "mode": "expected one of {known}",
    "one-of": "expected one of {known}",
    "in-matrix": "this is in [matrix], too; say it in one place.",
    "whole-recipe": "this holds for all of a recipe: say it in its [compile].",
    "mode-and-options": "PyTorch takes a mode or options, not both.",
    "grad-and-backward": "without gradients there is nothing to go backward from.",
    "dynamic-eager": "an eager operator is compiled for the shapes it says, never for any.",
    "option": "expected a text, a number, true or false",
    "seconds": "expected seconds above 0 and up to {most}",
    "memory": "expected bytes, or a text such as “8 GiB”",
}

_SOURCES: dict[str, Text] = {
    "callable": "a callable", "script": "a script", "exported": "an exported program",
    "eager": "an eager operator", "triton": "a kernel of Triton",
}  # fmt: skip


def expectation(code: str, found: str, params: Mapping[str, object]) -> str:
    """What was expected and what was found, as the end of a sentence."""
    shown = _Shown({name: str(value) for name, value in params.items()})
    if (source := shown.get("source")) in _SOURCES:
        shown["source"] = tr(_SOURCES[source])
    # One that is not known came over a wire, and is a text like any other.
    said = tr(EXPECTED[code]).format_map(shown) if code in EXPECTED else code
    if EXPECTED.get(code, code).endswith((".", "?")):
        return said
    if found:
        said = tr("{expected}, found {found}", expected=said, found=found)
    if near := params.get("near"):
        return tr("{expected}; did you mean “{near}”?", expected=said, near=near)
    return f"{said}."


#: What engines say with figures, in English, of why something cannot be, the longer of two that fit
#: first; what has none is found where it is said. What the system or PyTorch says stays as it is.
TEMPLATES: tuple[Text, ...] = (
    # Filters
    "the fields are {fields}; put quotes around a text that you look for",
    "did you mean “{word}”? The fields are {fields}; put quotes around a text that you look for",
    "{field} needs “:”",
    "{field} needs <, >, <=, >= or =",
    "the kinds are {kinds}",
    "the states are {states}",
    "it needs a number; units: {units}",
    # Bundles
    "{name} is compressed or encrypted",
    "{name} cannot be read ({why})",
    "{name} cannot be read",
    "It cannot be read ({why})",
    "It holds {name} twice",
    "It holds the path {name}",
    "{name} unpacks to far too much data",
    "{name} is compressed in an unusual way",
    "{name} lies outside of the zip file",
    "Its manifest has a wrong entry of kind {kind}",
    "it has more than {n} artifacts",
    # Who signed a bundle
    "by nobody",
    "by a key that is not among your signers ({key})",
    "by {key}, but not checked: there is no ssh-keygen here",
    "by {signer} ({key})",
    # Another machine
    "It said nothing for {n} seconds.",
    # What differs between two CPUs
    "{flags} is missing here and {more} is only here",
    "{flags} is missing here",
    "{flags} is only here",
    # Compiling
    "PyTorch compiled it, but cannot use it: {why}",
    "This Triton has no backend {backend}",
    "Its process ended by itself, with exit status {status}; its last line is: {last}",
    "Its process ended by itself, with exit status {status}",
)


def reworded(why: str) -> str:
    """The same in the language that is used, where it is a text of ours."""
    said = tr(why)
    if is_english() or said != why:
        return said
    for template in TEMPLATES:
        if match := _pattern(template).fullmatch(why):
            return tr(template, **match.groupdict())
    return why


@cache
def _pattern(template: str) -> re.Pattern[str]:
    parts = [
        re.escape(text) + (f"(?P<{name}>.+?)" if name else "")
        for text, name, _, _ in string.Formatter().parse(template)
    ]
    return re.compile("".join(parts), re.DOTALL)


#: What is done to a folder meanwhile.
_UNDER_WAY: dict[str, Text] = {
    "import": "An import began there at {when}, in process {pid}.",
    "purge": "A purge began there at {when}, in process {pid}.",
    "undo": "An undo began there at {when}, in process {pid}.",
    "empty": "The emptying of the trash there began at {when}, in process {pid}.",
}
#: No disk has more.
_MOST_BYTES = 1 << 63
#: Parameters in which an engine says something in its own words.
_REASONS = ("why", "how", "differs")
_KINDS = ("kind", "other_kind")
#: Parameters whose numbers are names of something, or exactly what somebody wrote: all others are
#: counts, and written 12,000.
_NAMES = frozenset(
    {"pid", "line", "column", "offset", "character", "status", "signal", "port", "version", "code",
     "value", "text", "token", "setting"}
)  # fmt: skip


@contextlib.contextmanager
def failing_as(code: str, **params: object) -> Iterator[None]:
    """What the system refuses is raised as UserError(code), with its reason as ``why``."""
    try:
        yield
    except OSError as e:
        raise user_error(code, {**params, "why": e.strerror or str(e)}) from e


class UserError(Exception):
    """What happened, why, and what the user can do about it.

    Attributes:
        what: what happened, in a sentence.
        why: the reason, in some sentences; may be empty.
        remedy: what you can do about it; may be empty.
        code: the name of the problem for programs, such as "place-missing".
        params: facts of the problem, by name.
    """

    def __init__(
        self,
        what: str,
        why: str = "",
        remedy: str = "",
        *,
        code: str = "",
        params: Mapping[str, object] | None = None,
    ) -> None:
        # What was typed may be a mistyped address with a password in it, and an error is read by
        # others: on a terminal, in a log, in the history of jobs.
        what, why, remedy = map(without_logins, (what, why, remedy))
        # It is one line: a name with several would say something of its own in the next.
        what = printable(what, len(what))
        super().__init__(what)
        self.what = what
        self.why = why
        self.remedy = remedy
        self.code = code
        self.params = {
            name: without_logins(value) if isinstance(value, str) else value
            for name, value in (params or {}).items()
        }

    def __str__(self) -> str:
        return "\n".join(part for part in (self.what, self.why, self.remedy) if part)


#: Why a device was chosen, by the code that ``torchkeeper.warm.job`` gives.
_DEVICE_REASONS: dict[str, Text] = {
    "asked": "as asked",
    "accelerator": "the accelerator that torch sees",
    "no-accelerator": "this torch sees no GPU here, so it compiles for the CPU",
    "no-triton": "there is a GPU, but no Triton that can compile for it",
}


def device_reason(code: object) -> str:
    """Why a device was chosen; empty where that is not known."""
    return tr(_DEVICE_REASONS.get(str(code), ""))


#: What a process has open, or mapped: other files; or those of one entry, or of several.
_OTHER: tuple[Text, Text] = (
    "{who} has other files of this folder open.",
    "{who} has other files of this folder mapped.",
)
_HAS: tuple[Nouns, Nouns] = (
    ("{who} has files of one entry open.", "{who} has files of {n} entries open."),
    ("{who} has files of one entry mapped.", "{who} has files of {n} entries mapped."),
)


def user_of_place(user: Using) -> str:
    """What a process has to do with a folder (engine/operations.py, ``in_use``), in a sentence."""
    name, many = printable(user["name"], 80), user["entries"]
    who = tr("{name} (process {pid})", name=name, pid=str(user["pid"]))
    if user["holds_all"]:
        return tr("{who} runs with this folder as its cache and may need any entry next.", who=who)
    if user["why"] == "environment":
        return tr("{who} merely has this folder in its environment.", who=who)
    mapped = user["why"] == "mapped"
    return several(many, *_HAS[mapped], who=who) if many else tr(_OTHER[mapped], who=who)


def removed_by_then(removed: Mapping[str, object]) -> str:
    """How much a purge that ended early has removed for good, or moved to the trash."""
    of, size = removed.get("of"), removed.get("bytes")
    if not (isinstance(of, Mapping) and isinstance(size, int)):
        return ""
    shown = {"some": say.part_of(removed, of), "size": say.size(size)}
    if removed.get("trash"):
        return tr("Moved to the trash by then: {some}, {size}.", **shown)
    sure = removed.get("sure")
    return tr(
        "Removed by then: {some}, {size}." if sure else "Removed by then: at least {some}, {size}.",
        **shown,
    )


def not_looked_at(count: int) -> str:
    """That not everything on a server could be looked at to see what needs an entry."""
    return tr("about {n} entries were not looked at", n=count)


def unseen_users(in_use: InUse) -> str:
    """What cannot be known of the processes that use a folder, or nothing."""
    if in_use["sees"] == "none":
        return tr("Whether a process uses this folder cannot be known on this system.")
    if in_use["sees"] == "own":
        return tr(
            "Whether another user's process uses this folder cannot be known: /proc hides them."
        )
    if not (hidden := in_use["hidden"]):
        return ""
    named = [
        tr("{pid} ({name}, user {user})", pid=str(one["pid"]), name=printable(one["name"], 60),
           user=printable(one["user"], 60))
        for one in in_use["unseen"]
    ]  # fmt: skip
    if not named:
        return several(
            hidden,
            "A process of another user may use this folder. Only that user and root can see: ask "
            "them, or look as root.",
            "{n} processes of other users may use this folder. Only they and root can see: ask "
            "them, or look as root.",
        )
    return several(
        hidden,
        "Process {such} may use this folder. Only that user and root can see: ask them, or look as "
        "root.",
        "{n} processes of other users may use this folder, as {such}. Only they and root can see: "
        "ask them, or look as root.",
        such=say.together(named),
    )


def waiting_for(said: Mapping[str, object]) -> str:
    """That a server is waited for (stores/redis/connecting.py, ``waiting``), and why."""
    params = said.get("params")
    error = user_error(str(said.get("code")), params if isinstance(params, dict) else {})
    return tr("{what} Waiting until it is back…", what=error.what)


def leftovers_gone(told: Mapping[str, object]) -> str:
    """That something was removed which an earlier export had left (stores/folders/locks.py)."""
    much = _size(told.get("bytes")) or tr("some files")
    return tr("Removed what an export that was cut off had left: {much}.", much=much)


def _size(value: object) -> str:
    """Bytes that there can be; else empty."""
    return say.size(value) if isinstance(value, int) and 0 <= value < _MOST_BYTES else ""


class _Shown(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def user_error(code: str, params: Mapping[str, object]) -> UserError:
    """The words for a code. An unknown code is said as such, with its parameters."""
    return words_for(CATALOGUE, code, params)


def answered(error: Mapping[str, Any]) -> UserError:
    """The words for what an engine answers in place of a result."""
    return user_error(error["code"], error.get("params", {}))


def words_for(catalogue: Mapping[str, Words], code: str, params: Mapping[str, object]) -> UserError:
    """As ``user_error``, with the words of this catalogue."""
    if (words := catalogue.get(code)) is None:
        said = printable(", ".join(f"{k}={v}" for k, v in params.items()), 2000)
        return UserError(tr("The engine reported “{code}”.", code=printable(code)), said, code=code)
    shown = _Shown({k: _shown(k, v) for k, v in params.items()})
    if "place" in shown:  # in a command it is pasted into a shell
        shown.setdefault("quoted", shlex.quote(shown["place"]))
    if code == "place-missing":
        shown["caches"] = _caches(str(params.get("place")))
        if _is_called_file(str(params.get("place"))):
            shown["file"], words = shown["place"], CATALOGUE["file-missing"]
    if "problem" in shown:
        shown["problem"] = _within(shown["problem"], shown)
    if code == "place-busy":
        shown["under_way"] = _under_way(params)
    if "expected" in shown:
        shown["expected"] = expectation(shown["expected"], shown.get("found", ""), shown)
    return UserError(*(_filled(one, params, shown) for one in words), code=code, params=params)


def _is_called_file(place: str) -> bool:
    from torchkeeper.stores.names import is_called_file  # only here: as below

    return is_called_file(place)


def _caches(place: str) -> str:
    """What lists the caches of the machine that a place is on."""
    with contextlib.suppress(Problem):
        from torchkeeper.stores.names import scheme_of  # only here: every command begins with this

        if machine := scheme_of(place).machine(place):
            return tr("“torchkeeper places {machine}” lists the caches of that machine",
                      machine=machine)  # fmt: skip
    return tr("“torchkeeper places” lists the caches of this machine")


def template(text: str | Forms, params: Mapping[str, object]) -> str:
    """A template in the language that is used, in the form that goes with these parameters."""
    if isinstance(text, str):
        return tr(text)
    return form(sum(_numbers(text, params).values()), text.one, text.many)


def _numbers(text: Forms, params: Mapping[str, object]) -> dict[str, int]:
    every = {name: params.get(name) for name in text.of.split("+")}
    return {name: value for name, value in every.items() if isinstance(value, int)}


def _filled(text: str | Forms, params: Mapping[str, object], shown: Mapping[str, str]) -> str:
    said = template(text, params)
    if isinstance(text, str):
        return said.format_map(shown)
    counted = {name: f"{value:,}" for name, value in _numbers(text, params).items()}
    return said.format_map(_Shown({**shown, **counted}))


def _shown(name: str, value: object) -> str:
    if name.endswith("_bytes"):
        return _size(value) or tr("less")
    if type(value) is int and name not in _NAMES:
        return f"{value:,}"
    if name in _KINDS:
        value = say.called(value)
    shown = "" if value is None else printable(str(value))
    return reworded(shown) if name in _REASONS else shown


def _under_way(params: Mapping[str, object]) -> str:
    """What somebody is at in a folder (stores/folders/guard.py), if it is known."""
    made = params.get("made")
    if (words := _UNDER_WAY.get(str(params.get("job")))) and isinstance(made, (int, float)):
        return tr(words, when=say.when(made), pid=printable(str(params.get("pid")), 20))
    return ""


def _within(problem: str, shown: Mapping[str, str]) -> str:
    """The words for a code, within a sentence that names the server; an unknown one as it is."""
    words = CATALOGUE.get(problem)
    what = _filled(words.what, {}, _Shown({"server": tr("it"), **shown})) if words else problem
    return what[:1].lower() + what[1:].rstrip(".")


#: Characters of a name, at most, that are shown of it.
SHORT = 400
#: What paths are called that tell nobody anything.
CALLED: dict[str, str] = {}


def printable(text: str, limit: int = SHORT) -> str:
    """The text with control and undecodable characters made visible, and cut to ``limit``."""
    text = CALLED.get(text, text)
    safe = text[: limit + 1]
    if not safe.isprintable():  # most are, and there are many
        safe = "".join(
            c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode()
            for c in safe
        )
    return safe if len(text) <= limit else safe[:limit] + "…"


def visible(text: str) -> str:
    """Lines of text as ``printable`` has each, however long they are."""
    if text.isprintable():
        return text
    lines = text.split("\n")
    return "\n".join(line if line.isprintable() else printable(line, len(line)) for line in lines)
