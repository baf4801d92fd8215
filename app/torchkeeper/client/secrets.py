"""Passwords of servers: given with an address, or found in the environment or the system's keyring.
They are never part of a place's name, and are written nowhere but into the keyring, when asked to.
Also what looks like a password in the texts of a run, and is hidden.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.masking import SURE, has_login, hidden
from torchkeeper.client.words.problems import user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend


#: The variable that holds a password for whoever cannot be asked.
VARIABLE = "TORCHKEEPER_REDIS_PASSWORD"
#: Under what the keyring keeps them.
SERVICE = "torchkeeper"

#: Keyrings that are looked for on other systems than this one, and what joins several.
_BACKENDS = {"darwin": "keyring.backends.macOS", "win32": "keyring.backends.Windows"}
_ELSEWHERE = {"keyring.backends.chainer", *_BACKENDS.values()} - {_BACKENDS.get(sys.platform)}

_given: dict[str, str] = {}


def named(text: str, *, alone: bool = False) -> str:
    """The name of a place, an address without its password, which is kept. alone: or of a machine,
    without the path that a place there has. Raises UserError.
    """
    scheme = scheme_of(text)
    if scheme.local:
        if has_login(text) and not os.path.lexists(text):
            # As the path of a folder the password would be shown and kept.
            why = tr("It must start with redis://, rediss:// or unix://")
            raise user_error("address-wrong", {"why": why})
        return scheme.normal(text)
    try:
        place, password = scheme.parted(text)
        machine = scheme.machine(place)
    except Problem as problem:
        raise user_error(problem.code, problem.params) from None
    if place == machine and not alone:
        raise user_error("place-machine", {"machine": machine})
    if password:
        give(place, password)
    return place


def typed(text: str) -> bool:
    """Whether the text of a place is a server's address with a password in it."""
    scheme = scheme_of(text)
    try:
        return scheme.may_want_password and bool(scheme.parted(text)[1])
    except Problem:
        return False


def give(place: str, password: str) -> None:
    """Use this password for a server in this run."""
    _given[place] = password


def given(place: str) -> str | None:
    return _given.get(place)


def password_of(place: str) -> str | None:
    """The password of a server: given in this run, of the environment, or of the keyring."""
    return _given.get(place) or for_any() or _named_by_environment(place) or _from_keyring(place)


def own_password_of(place: str) -> str | None:
    """The same without that which is ``for_any``; where there is one, no keyring is asked."""
    own = _given.get(place) or _named_by_environment(place)
    return own or (None if for_any() else _from_keyring(place))


def for_any() -> str | None:
    """The environment's password for any server that wants one; the others would refuse it."""
    return os.environ.get(VARIABLE)


def _named_by_environment(place: str) -> str | None:
    from torchkeeper.stores.redis.address import from_environment

    found = (one.password for one in from_environment(os.environ) if str(one.address) == place)
    return next(found, None)


def _backend() -> KeyringBackend | None:
    """What keeps passwords on this system, or None. May take long: it asks the desktop."""
    try:
        from keyring import core
        from keyring.backends.fail import Keyring as Nothing
    except ImportError:  # it comes with the window
        return None

    backend = core.load_env() or core.load_config() or _detected()
    return None if isinstance(backend, Nothing) else backend


@functools.cache
def _detected() -> KeyringBackend:
    """The keyring that keyring.get_keyring() finds, without joining several: that loads those of
    all systems, and for macOS runs the C compiler four times, which takes long.
    """
    from importlib.metadata import entry_points

    from keyring.backend import KeyringBackend
    from keyring.backends.fail import Keyring as Nothing

    for plugin in entry_points(group="keyring.backends"):
        if plugin.module not in _ELSEWHERE:
            with contextlib.suppress(Exception):  # whoever wrote it, the others are to be found
                plugin.load()
    fit = KeyringBackend.get_viable_backends()
    return max(fit, key=lambda one: one.priority, default=Nothing)()


def can_keep() -> bool:
    """Whether there is a keyring to keep passwords in. May take long, as asking it does."""
    return _backend() is not None


def _from_keyring(place: str) -> str | None:
    if (backend := _backend()) is not None:
        with _declined():
            return backend.get_password(SERVICE, place)
    return None


def keep(place: str, password: str) -> bool:
    """Use this password from now on, in later runs too; False where it could not be kept."""
    give(place, password)
    if (backend := _backend()) is not None:
        with _declined():
            backend.set_password(SERVICE, place, password)
            return True
    return False


def moved(old: str, new: str) -> str | None:
    """The password of a server that has another name now, kept if it was; None without its own."""
    given, kept = _given.pop(old, None), _from_keyring(old)
    if kept is not None:
        keep(new, kept)
    if given is not None:
        give(new, given)
    forget(old)
    return given or kept or password_of(new)


def forget(place: str) -> None:
    """Forget the password of a server, in the keyring too."""
    _given.pop(place, None)
    if (backend := _backend()) is not None:
        with _declined():
            backend.delete_password(SERVICE, place)


def _declined() -> contextlib.suppress:
    """For a keyring that is locked, a user who says no, a password that is not there."""
    from keyring.errors import KeyringError

    return contextlib.suppress(KeyringError, OSError, RuntimeError)


# What looks like a password or a token, which an ellipsis stands for. Nobody can tell for certain:
# what is written down for others to read errs towards hiding.

#: A text that is nothing but such: letters and digits as nobody would name something.
_RANDOM = (
    re.compile(r"[0-9a-f]{32,}", re.IGNORECASE),
    re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE),
    re.compile(
        r"(?=.*[a-z])(?=.*[A-Z])(?=(?:.*\d){2})"
        r"(?:[A-Za-z\d]{24,}|[A-Za-z\d+/]{40}|[A-Za-z\d+/]{22,}={1,2})"
    ),
)
#: Names that give away a secret, wherever they stand in one; and as a word of it, for a text alone:
#: a model has a ``pad_token`` that is a number.
_ANYWHERE = re.compile(SURE, re.IGNORECASE)
_WORDS = frozenset({"pass", "auth", "authorization", "bearer", "jwt", "cookie"})
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_secret(name: str, value: Any) -> bool:
    """Whether the value of an argument, or in a list (name: ""), looks like a secret."""
    if isinstance(value, dict):
        return any(is_secret(name, value.get(form)) for form in ("list", "tuple"))
    if isinstance(value, (list, tuple)):
        return any(is_secret(name, one) for one in value)
    if value is None or isinstance(value, bool):
        return False
    if _ANYWHERE.search(name):
        return True
    if not isinstance(value, str):
        return False
    words = re.split(r"[^a-z]+", _CAPITAL.sub("_", name).lower())
    named = any(word in _WORDS or word.endswith("token") for word in words)
    return named or hidden([value]) != [value] or any(x.fullmatch(value.strip()) for x in _RANDOM)
