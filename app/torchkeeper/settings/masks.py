"""What is shown of a setting that may hold a password: all but that, an ellipsis in its place; of
what cannot be read nothing, for nobody can tell where in it a password is. Also settings put into
an environment, or taken from one.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import unquote_plus

from torchkeeper.artifacts.entry import Problem
from torchkeeper.settings.known import BY_NAME
from torchkeeper.stores.redis import address

#: What stands for what is not shown.
HIDDEN = "…"
_HOST = re.compile(r"[\w.-]+")
_HOST_AND_PORT = re.compile(r"(?:[\w.-]+|\[[\da-fA-F:.]+\]):\d{1,5}", re.ASCII)
#: Host, port and database, or the path of a socket; the name of a user; the value of an option.
_WHERE = re.compile(r"(?:[\w.-]*|\[[\da-fA-F:.]+\])(?::\d{1,5})?[\w./%+~-]*")
_USER = re.compile(r"[\w.%+-]*")
_OPTION = re.compile(r"[\w.:/%+~-]*")


def shown(name: str, text: str) -> str:
    """The text of a variable without its password; as it is where it can have none."""
    setting = BY_NAME.get(name)
    if setting is None or not setting.secret or not text:
        return text
    if setting.type == "host":
        return text if _is_host(text) else HIDDEN
    return masked(text)


def masked(text: str) -> str:
    """An address without its password. The name of a user stays where there are both."""
    if _HOST_AND_PORT.fullmatch(text):
        return text  # without a scheme, which a finding tells
    try:
        address.parse(text)
    except Problem:
        return HIDDEN
    scheme, slashes, rest = text.partition("://")
    before, question, query = rest.partition("?")
    login, at, where = before.rpartition("@")
    if not _WHERE.fullmatch(where):
        return HIDDEN
    user, colon, password = login.partition(":")
    options = [part.partition("=") for part in query.split("&")]
    named = any(unquote_plus(name) == "password" and value for name, _, value in options)
    both = bool(password) or named
    user = _kept(user, both, _USER)
    made = "&".join(name + sign + _option(name, value, both) for name, sign, value in options)
    login = f"{user}{colon}{HIDDEN if password else ''}"
    return f"{scheme}{slashes}{login}{at}{where}{question}{made}"


def has_password(name: str, text: str) -> bool:
    """Whether the text of a variable holds something that ``shown`` hides."""
    return shown(name, text) != text


def is_masked(name: str, text: str) -> bool:
    """Whether something of it was hidden, of what ``shown`` made of the text of a variable."""
    return name in BY_NAME and BY_NAME[name].secret and HIDDEN in text


def _option(name: str, value: str, both: bool) -> str:
    name = unquote_plus(name)
    if name == "password":
        return HIDDEN if value else value
    return _kept(value, both or name != "username", _OPTION)


def _kept(text: str, may: bool, form: re.Pattern[str]) -> str:
    """A part that looks as it should; a user without a password may be a token."""
    return text if not text or (may and form.fullmatch(text)) else HIDDEN


def _is_host(text: str) -> bool:
    if _HOST.fullmatch(text) or _HOST_AND_PORT.fullmatch(text):
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


# Settings put into an environment, or taken from one: exactly those, and no other.

#: What others than PyTorch and Triton read, too, such as TMPDIR: where nobody sets it, it stays.
SHARED = frozenset(name for name in BY_NAME if not name.startswith(("TORCH", "TRITON")))


def applied(values: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """An environment with these of the described settings, and those that are SHARED."""
    stays = {name: text for name, text in env.items() if name not in BY_NAME or name in SHARED}
    return stays | dict(values)


def taken(env: Mapping[str, str]) -> dict[str, str]:
    """The described settings of an environment, as they stand there; they may hold a password."""
    return {name: env[name] for name in BY_NAME if name in env}
