"""What a script tells a container that it starts: docker run, podman and nerdctl alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

PROGRAMS = ("docker", "podman", "nerdctl")
#: The options that set variables: one, or those of a file.
ONE, FILE = "--env", "--env-file"
_STARTS = ("run", "create")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:=.*)?", re.DOTALL)
#: Options that no value follows.
_ALONE = re.compile(
    r"-[ditPq]+|--(?:detach|init|interactive|no-healthcheck|oom-kill-disable|privileged|quiet|"
    r"publish-all|read-only|replace|rm|sig-proxy|tls|tty)"
)


def passed(arguments: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Each option that sets variables, ONE or FILE, which of the arguments has its value, and that;
    until the image is named.
    """
    begins = next((n for n, text in enumerate(arguments) if text in _STARTS), len(arguments))
    at = begins + 1
    while at < len(arguments) and arguments[at].startswith("-"):
        option, sign, value = arguments[at].partition("=")
        if re.match("-e.", option):
            option, value = ONE, arguments[at][2:].removeprefix("=")
        elif not sign and not _ALONE.fullmatch(option) and at + 1 < len(arguments):
            at += 1
            value = arguments[at]
        option = ONE if option == "-e" else option
        if option == FILE or (option == ONE and _VARIABLE.fullmatch(value)):
            yield option, at, value
        at += 1
