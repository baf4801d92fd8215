"""The parser and the dispatch."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import itertools
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

from torchkeeper.artifacts.masking import without_logins
from torchkeeper.artifacts.version import VERSION
from torchkeeper.cli import contract, output, screen
from torchkeeper.cli.commands import COMMANDS, Blocks, examples, in_groups
from torchkeeper.client.paths import only_whole
from torchkeeper.client.terminal import Terminal
from torchkeeper.client.words.problems import UserError, printable, user_error, visible

if TYPE_CHECKING:
    from torchkeeper.client.desktop.placing import Draw
    from torchkeeper.client.engines.process import Engine


#: Commands that always ask an engine.
_WITH_ENGINE = frozenset({
    "check", "copy", "du", "export", "import", "inspect", "ls", "purge", "show", "undo",
})  # fmt: skip
#: What other programs call a command, which may look like another one here.
_ELSEWHERE = {
    **dict.fromkeys(
        ("clean", "cleanup", "clear", "delete", "drop", "evict", "gc", "prune"), "purge"
    ),
    **dict.fromkeys(("remove", "rm", "trim", "uninstall"), "purge"),
    **dict.fromkeys(("dir", "find", "list"), "ls"),
    **dict.fromkeys(("size", "stat", "stats", "usage"), "du, overview"),
    **dict.fromkeys(("status", "summary"), "overview"),
    **dict.fromkeys(("compare", "diff", "why"), "explain"),
    **dict.fromkeys(("cat", "info", "view"), "show, inspect"),
    **dict.fromkeys(("restore", "revert", "rollback"), "undo"),
    **dict.fromkeys(("cp", "pull", "push", "sync"), "copy"),
    **dict.fromkeys(("load", "unpack"), "import"),
    **dict.fromkeys(("pack", "save"), "export"),
    **dict.fromkeys(("build", "compile", "fill"), "warm"),
    **dict.fromkeys(("diagnose", "fix"), "doctor"),
    **dict.fromkeys(("settings", "variables"), "config"),
    **dict.fromkeys(("docs", "man", "manual"), "help topics"),
    # Only there where --yes is none: whoever imports says more than that something may be done.
    "--yes": "--trust",
}


def alike(word: str, known: Iterable[str]) -> list[str]:
    """The words that a mistyped one may have been meant for, or what other programs call so."""
    there = list(known)
    if meant := [x for x in _ELSEWHERE.get(word, "").split(", ") if x.split(" ")[0] in there]:
        return meant
    import difflib  # only here: few commands are mistyped

    return difflib.get_close_matches(word, there, cutoff=0.65)


def meant(words: Sequence[str]) -> str:
    """``Did you mean “ls”?``; empty where nobody can guess."""
    if not words:
        return ""
    quoted = [f"“{word}”" for word in words]
    last = f" or {quoted[-1]}" if len(quoted) > 1 else ""
    return f"Did you mean {', '.join(quoted[: -1 or None] if last else quoted)}{last}?"


class _Wrong(Exception):
    """What a parser, of all or of one command, found wrong."""

    def __init__(self, parser: Parser, message: str) -> None:
        super().__init__(message)
        self.parser = parser


class Parser(argparse.ArgumentParser):
    """As its base; what is wrong is said with what may have been meant."""

    def parsed(self, words: Sequence[str]) -> argparse.Namespace:
        """As ``parse_args``: prints the usage, what is wrong, and what may have been meant, and
        exits with 2. A password that was typed where none belongs is not said, and what a terminal
        would obey is shown: a shell puts names of files among the words.
        """
        try:
            return self.parse_args(words)
        except _Wrong as wrong:
            message, parser, walked = str(wrong), wrong.parser, [*self._walk(words)]
            if parser is self and walked:
                parser = walked[-1][0]  # what no command has, the parser of all comes upon
            options = ((one, word) for one, word in walked if word.startswith("-"))
            stray = [word for one, word in options if not one._takes(word.partition("=")[0])]
            # argparse misses something before it looks at options.
            if message.startswith("the following arguments are required") and stray:
                message = f"unrecognized arguments: {stray[0]}"
            said = "\n".join(filter(None, [message, self._guess(words)]))
            if "--json" in words[: words.index("--") if "--" in words else None]:
                json = argparse.Namespace(json=True)
                output.emit_error(json, output.misuse(f"{message}.", "", self._guess(words)))
            argparse.ArgumentParser.error(parser, visible(without_logins(said)))

    def error(self, message: str) -> NoReturn:
        raise _Wrong(self, message)

    def _walk(self, words: Sequence[str]) -> Iterator[tuple[Parser, str]]:
        """Each word up to “--”, with the parser, of all or of a command, that it is for."""
        parser = self
        for word in itertools.takewhile("--".__ne__, words):
            yield parser, word
            parser = next((some[word] for some in parser._commands() if word in some), parser)

    def _guess(self, words: Sequence[str]) -> str:
        """What the first word that no parser knows may have been meant for."""
        for parser, word in self._walk(words):
            option = word.partition("=")[0]
            if word.startswith("--") and not parser._takes(option):
                return meant(alike(option, parser._option_string_actions))
            for commands in parser._commands() if not word.startswith("-") else ():
                if word not in commands and (guess := meant(alike(word, commands))):
                    return guess
        return ""

    def _takes(self, option: str) -> bool:
        """Whether it is an option, or the beginning of one, which is taken for it."""
        return any(name.startswith(option) for name in self._option_string_actions)

    def every(self) -> Iterator[Parser]:
        """This parser, those of its parts, and theirs."""
        yield self
        for parts in self._commands():
            for part in parts.values():
                yield from part.every()

    def _commands(self) -> list[dict[str, Parser]]:
        return [
            {name: one for name, one in action.choices.items() if isinstance(one, Parser)}
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
        ]


#: Asks for a window besides the one that is open.
ALONE = "--new-window"


def filter_help() -> str:
    from torchkeeper.stores.query import FILTERS

    return (
        f"Filter: {', '.join(FILTERS)}. An entry must match all words; “torchkeeper help "
        "places.md” explains each."
    )


def run(argv: list[str]) -> int:
    """Run a command line without the program's name; returns the exit code."""
    gc.set_threshold(200_000, 10, 10)  # as the engine does, for its rows
    only_whole()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        stream = getattr(sys, name)
        own = stream is getattr(sys, f"__{name}__")
        if own and isinstance(getattr(stream, "buffer", None), io.RawIOBase):
            # With PYTHONUNBUFFERED a write of which a full disk or a pipe takes a part would pass
            # for whole (io.TextIOWrapper over io.FileIO).
            whole = io.BufferedWriter(stream.detach())
            wrapped = io.TextIOWrapper(whole, stream.encoding, line_buffering=True)
            setattr(sys, name, wrapped)
            setattr(sys, f"__{name}__", wrapped)  # whence shutil has the width of a terminal
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")
    if "_ARGCOMPLETE" in os.environ:
        from torchkeeper.cli.completion import answer

        answer(parser_of)
    asks = argv[:1] == ["help"] and not any(word.startswith("-") for word in argv)
    if asks and (not argv[1:] or argv[1] in COMMANDS):
        argv = [*argv[1:], "--help"]
    # Who waits for a standard input, perhaps for long, has no engine meanwhile.
    if not argv or argv[0] not in _WITH_ENGINE or not {"-h", "--help", "-"}.isdisjoint(argv):
        return _run(argv)
    # To start takes an engine as long as it takes to load what understands and prints.
    from torchkeeper.client.engines.process import Engine
    from torchkeeper.stores.names import scheme_of

    if any(scheme_of(word).elsewhere for word in argv):
        return _run(argv)  # an engine on another machine is asked
    with contextlib.ExitStack() as ends:
        engine = None
        with contextlib.suppress(UserError):  # the command comes upon it again, and tells
            engine = ends.enter_context(Engine())
        return _run(argv, engine)


def _run(argv: list[str], engine: Engine | None = None) -> int:
    """As ``run``; engine: one that is there for the command."""
    args = None
    if argv and argv[0] != ALONE and (argv[0] in COMMANDS or argv[0].startswith("-")):
        output.begin(argv[0] if argv[0] in COMMANDS else "options")
        args = parser_of(argv[0]).parsed(argv if argv[0] == "run" else joined(argv))
        args.engine = engine
        if part := getattr(args, "part", ""):
            output.begin(f"{argv[0]} {part}")
    # Only here, as the next: they take longer to load than --version and --help take.
    from torchkeeper.client.engines import interpreters
    from torchkeeper.client.temporary import Ended, signals_as_interrupts

    interpreters.heeding[:] = [output.warn_of_interpreter]
    try:
        if args is None:
            return _window([word for word in argv if word != ALONE], ALONE in argv)
        screen.settle(args)
        Terminal.tells = screen.rewrites()
        with signals_as_interrupts(), screen.paged():
            code: int = args.run(args)
            sys.stdout.flush()
            return code
    except UserError as error:
        _leave_off()
        output.report(args, error)
        return contract.of_problem(error.code)
    except KeyboardInterrupt as interrupt:
        _leave_off()
        with contextlib.suppress(OSError):  # the terminal may be gone
            output.warn("torchkeeper: Cancelled.")
            output.emit_error(args, UserError("Cancelled.", code="cancelled"))
        ended = interrupt.number if isinstance(interrupt, Ended) else signal.SIGINT
        return contract.SIGNAL + ended
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return contract.DONE
    except OSError as e:
        output.complain(UserError("The output cannot be written.", f"{e.strerror}."))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return contract.NO


def _leave_off() -> None:
    """Have no ssh ask any more: what it would say has nobody who waits for it."""
    if Terminal.taken:
        from torchkeeper.client.engines import line

        line.close_all()


def joined(argv: list[str]) -> list[str]:
    """The arguments with a filter, or a number, joined to its option: it may start with a dash."""
    joined: list[str] = []
    for argument in argv:
        if joined and joined[-1] in ("--filter", "--older", "--keep"):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
        if joined[-1].startswith("--") and joined[-1].endswith("=--"):
            option = joined[-1].removesuffix("=--")  # argparse would take it for nothing
            raise output.misuse(f"The value of {option} is missing.", "“--” follows it.")
    return joined


def _window(files: list[str], alone: bool) -> int:
    """Open the window on what these words name. Raises UserError."""
    from torchkeeper.client.paths import what_at_once
    from torchkeeper.client.secrets import named
    from torchkeeper.stores.names import scheme_of

    for word in files:
        if word in COMMANDS:
            remedy = f"Write “torchkeeper {word}”, then the rest."
            raise output.misuse(f"“{word}” is a command, and a command comes first.", "", remedy)
    for file in files:
        if scheme_of(file).local:
            _check_word(file, what_at_once(file))
    # A password is taken out here: from now on nobody sees it.
    files = [file if scheme_of(file).local else named(file) for file in files]
    from torchkeeper.gui.start import run as run_window

    try:
        return run_window(files, alone)
    except UserError as error:
        if files or (how := _windowless(error.code)) is None:
            raise
    parser_of("").print_help()
    output.line(f"\n{how}")
    return contract.DONE


def _windowless(problem: str) -> str | None:
    """How one gets the window, where it is only not there; None where something is wrong."""
    from torchkeeper.client.desktop import display

    return {
        "qt-missing": f"The window is not installed; this installs it: {display.install()}",
        "display-missing": "The window needs a display: set DISPLAY or WAYLAND_DISPLAY, or log in "
        "with “ssh -X”.",
    }.get(problem)


def _check_word(word: str, what: str) -> None:
    """Raises UserError for a mistyped command, and not for what is to be opened: what is there by a
    path, or a bundle. what: as of ``what_at_once``.
    """
    is_path = os.sep in word or word in (os.curdir, os.pardir)
    if is_path and what != "missing":
        return
    if what == "file":
        # Loaded where it is needed: every command begins here.
        from torchkeeper.stores.names import SUFFIX

        if word.endswith(SUFFIX):
            return
    commands = "“torchkeeper help” lists the commands."
    if is_path or word.startswith("-"):
        shown = printable(without_logins(word))
        raise output.misuse(f"There is no file {shown}.", "", commands)
    why = ""
    if what != "missing":
        shown = printable(os.path.join(os.curdir, word))
        kind = "folder" if what == "folder" else "file"
        why = f"A {kind} here has that name: “torchkeeper {shown}” opens it."
    guess = meant(alike(word, COMMANDS))
    said = f"There is no command “{printable(without_logins(word))}”."
    remedy = " ".join(filter(None, [guess, commands]))
    raise output.misuse(said, why, remedy)


def add_help(command: argparse.ArgumentParser) -> None:
    command.add_argument("command", metavar="COMMAND", nargs="*", help="a command, and its part; "
                         "or a page of the manual, which “topics” lists")  # fmt: skip


def help_(args: argparse.Namespace) -> int:
    """torchkeeper help TOPIC; or with options that it does not have."""
    if not args.command:
        parser_of("help").print_help()
        return contract.DONE
    from torchkeeper.cli import manual

    manual.show(args.command[0], COMMANDS, lambda word, known: meant(alike(word, known)))
    return contract.DONE


def parser_of(chosen: str) -> Parser:
    """The parser; of the commands, only the module of the one that is chosen is loaded."""
    about = "See, warm, bundle and purge torch.compile caches. Without a command, opens the "
    about += "window; with files, opens it on them."
    more = "“torchkeeper help COMMAND” explains one, with examples; “torchkeeper help topics” "
    more += "lists the pages of the manual."
    parser = Parser(
        prog="torchkeeper", usage="%(prog)s [OPTION] [FILE ...] | COMMAND ...",
        description=f"{about}\n\n{in_groups()}", epilog=f"{more}\n\n{filter_help()}",
        formatter_class=Blocks,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"torchkeeper {VERSION}")
    parser.add_argument(ALONE, action="store_true", help="open a new window, even if one is open "
                        "that could open the files")  # fmt: skip
    commands = parser.add_subparsers(metavar="COMMAND", required=True, help=argparse.SUPPRESS,
                                     prog="torchkeeper")  # fmt: skip
    # Where one is chosen the others are not shown, and to make them takes as long as all the rest.
    alone = chosen in COMMANDS and chosen != "help"
    for name, one in {chosen: COMMANDS[chosen]}.items() if alone else COMMANDS.items():
        command = commands.add_parser(
            name, description=one.about[0].upper() + one.about[1:] + ".", formatter_class=Blocks,
            epilog="\n\n".join(filter(None, [filter_help() if one.filtered else "",
                                             contract.beyond(name)])) or None,
        )  # fmt: skip
        if name == chosen:
            module, _, function = one.where.partition(":")
            loaded = importlib.import_module(f"torchkeeper.cli.{module}")
            getattr(loaded, f"add_{name.replace('-', '_')}")(command)
            if function:
                command.set_defaults(run=getattr(loaded, function))
            if one.json:
                output.add_json(command)
            if one.lists:
                command.add_argument("--no-pager", dest="pager", action="store_false", help="print "
                                     "all at once on a terminal, too")  # fmt: skip
            for part in command.every() if name != "help" else ():
                if not part._commands():
                    output.add_common(part)
            said = [command.epilog, examples(name)]
            command.epilog = "\n\n".join(filter(None, said)) or None
    return parser


def add_shots(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("dir", metavar="DIR", help="folder for the pictures")
    add("--place", metavar="PLACE", help="the cache to show, else PyTorch's")  # fmt: skip
    add("--scale", type=int, choices=(1, 2), help="at this scale only, instead of at 1 and 2")


def shots(args: argparse.Namespace) -> int:
    from torchkeeper.client.desktop import display
    from torchkeeper.stores import places

    with display.needed():
        from torchkeeper.gui.shots import run as run_shots

    place = args.place or places.default_folder()
    if not os.path.exists(place):
        raise user_error("place-missing", {"place": place})
    return run_shots(args.dir, place, args.scale)


def drawing() -> Draw:
    """What makes pictures. Raises UserError as ``display.needed``."""
    from torchkeeper.client.desktop import display

    with display.needed():
        from torchkeeper.gui.desktop.front import draw
    return draw
