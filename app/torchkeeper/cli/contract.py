"""What scripts can rely on: the exit statuses. Each is here once, for the commands, their help, the
manual (``resources/manual/scripts.md``) and the tests.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

#: How a command has ended, by the name of its status.
Name = Literal["done", "no", "usage", "unreachable", "partly", "errors"]


class Exit(NamedTuple):
    """An exit status. problems: the codes of the errors that end so, and with a dash at its end
    all that begin so; what has none of the codes ends with “no”.
    """

    number: int
    name: Name
    meaning: str
    problems: tuple[str, ...] = ()


EXITS = (
    Exit(0, "done", "The command did what you asked for. An empty list is an answer."),
    Exit(1, "no", "The answer is no: a check fails, something that you named does not exist, or "
         "the command can do nothing of what you asked for."),
    Exit(2, "usage", "The command line, or a file that it reads, is wrong. Nothing is done.", (
        "bad-filter", "times-of-servers", "age-unknown", "owner-unknown", "use-unknown",
        "verify-server", "key-ambiguous", "kinds-differ", "recipe-unknown", "variant-unknown",
        "recipe-wrong", "recipe-syntax", "recipe-program", "recipe-too-large", "recipes-too-large",
        "recipes-too-many", "recipes-none", "variants-too-many", "threads-out-of-range",
        "wrong-usage", "display-unknown", "signer-name", "signer-unknown", "key-unusable",
        "address-wrong", "ssh-address-wrong", "ray-address-wrong", "place-machine", "places-apart",
        "hosts-name", "hosts-group", "hosts-none", "hosts-unknown", "environment-wanted",
        "command-not-python", "recording-stdin", "run-ambiguous", "profile-name",
        "profile-setting-unknown", "profile-setting-misnamed", "profile-value-impossible",
        "profile-stage-unknown", "profile-container-which", "profile-container-unknown",
        "profile-no-password", "secret-name", "target-unknown", "fleet-unsignable",
        "fleet-keeps-all", "slurm-partition", "slurm-no-node",
        "target-kubernetes",
    )),
    Exit(3, "unreachable", "A place, a file, a server or an interpreter cannot be reached or read. "
         "Nothing is done.", (
        "place-missing", "place-not-folder", "place-unreadable", "file-missing",
        "desktop-unreadable", "bundle-unreadable", "ssh-keygen-missing", "interpreter-unusable",
        "environment-no-torch", "environment-torch-elsewhere", "probe-stuck", "torch-broken",
        "environments-none", "machine-stuck", "slurm-",
        "environment-unasked", "environment-not-started", "trace-missing", "recipe-unreadable",
        "display-missing", "display-silent", "qt-library-missing", "qt-missing",
        "processes-untold", "process-gone", "process-kernel", "process-of-other",
        "process-not-python", "profile-unreadable", "server-", "socket-", "password-", "ssh-",
        "certificate-", "client-certificate-", "tls-", "database-out-of-range", "redis-missing",
        "ray-",
    )),
    Exit(4, "partly", "The command did a part, and could not do the rest; standard error says why. "
         "What a target cannot hold by what it is is listed as left, and does not count. For "
         "doctor and config check: the worst finding is a warning."),
    Exit(5, "errors", "For doctor and config check: a finding is an error."),
)  # fmt: skip

DONE, NO, USAGE, UNREACHABLE, PARTLY, ERRORS = (one.number for one in EXITS)
#: Of what the commands print as JSON: it grows when a field goes, or means something else. That
#: there are more fields changes nothing.
VERSION = 1
#: What is added to the number of a signal that ends a command.
SIGNAL = 128
_SIGNAL = "A signal ended it: 130 is Ctrl-C, 143 SIGTERM. Its changes are complete, or taken back."
RUN = (
    "“torchkeeper run” ends with the status of the program, with 126 if the program cannot start, "
    "and with 127 if it does not exist."
)

#: What the commands can end with besides 0 to 3.
BEYOND: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        ("places", "ls", "du", "check", "overview", "warm", "copy", "export", "import", "purge",
         "undo", "recover", "ttl", "config list", "install-desktop", "fleet run", "fleet status",
         "fleet nodes"), (PARTLY,),
    ),
    **dict.fromkeys(("doctor", "config check"), (PARTLY, ERRORS)),
}  # fmt: skip


def number(name: Name) -> int:
    """The status of this name."""
    return next(one.number for one in EXITS if one.name == name)


def of_problem(code: str) -> int:
    """The status that an error with this code ends with."""
    for one in EXITS:
        if code in one.problems or code.startswith(tuple(x for x in one.problems if x[-1] == "-")):
            return one.number
    return NO


def partly(done: object, short: object) -> int:
    """The status where some of what was asked for is ``done``, and some of it fell ``short``."""
    if not short:
        return DONE
    return PARTLY if done else NO


def schema_of(command: str) -> str:
    """What a line of JSON of a command, such as ``config check``, says that it is."""
    return f"torchkeeper/{command.replace(' ', '-')}/{VERSION}"


def beyond(command: str) -> str:
    """What the help of a command says of its statuses; "" of one with those of all only."""
    if not (numbers := BEYOND.get(command)):
        return ""
    said = ["4 if a part could not be done"]
    if len(numbers) > 1:
        said = [f"{n} for {'errors' if n == ERRORS else 'warnings'}" for n in numbers]
    return f"Exit status: {', '.join(said)}; for others see “torchkeeper help exit-status”."


def rows() -> list[tuple[str, str, str]]:
    """Each status as it is shown, with its name and meaning."""
    rows = [(str(one.number), one.name, one.meaning) for one in EXITS]
    return [*rows, (f"{SIGNAL}+n", "signal", _SIGNAL)]


def lines() -> list[str]:
    """The statuses as ``torchkeeper help exit-status`` prints them."""
    import textwrap  # only here: few commands wrap lines

    said = ["Exit status:", ""]
    for shown, name, meaning in rows():
        first = f"  {shown:<6} {name + ':':<12} "
        said += textwrap.wrap(first + meaning, 80, subsequent_indent=" " * len(first))
    return [*said, "", *textwrap.wrap(RUN, 80)]
