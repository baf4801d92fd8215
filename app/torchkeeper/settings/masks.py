"""What is shown of a setting that may hold a password: all but that, an ellipsis in its place."""

from __future__ import annotations

import re

from torchkeeper.settings.known import BY_NAME

#: What redis.Redis.from_url takes from the end of an address, too.
_QUERY = re.compile(r"([?&;][^=&;]*(?:pass|token|secret)[^=&;]*=)[^&;]*", re.IGNORECASE)


def shown(name: str, text: str) -> str:
    """The text of a variable without its password; as it is where it can have none."""
    setting = BY_NAME.get(name)
    return masked(text) if setting is not None and setting.secret else text


def masked(text: str) -> str:
    """An address without its password. The name of a user stays where there are both.

    What is no address, and has an @, is masked up to that.
    """
    head, at, rest = text.rpartition("@")
    if at:
        # A password may have whatever an address has, but not before its scheme.
        scheme, slashes, login = head.partition("://") if "://" in head else ("", "", head)
        user, colon, _ = login.partition(":")
        shown = f"{user}:…" if colon and slashes else "…"
        text = f"{scheme}{slashes}{shown}@{rest}"
    return _QUERY.sub(r"\1…", text)


def has_password(name: str, text: str) -> bool:
    """Whether the text of a variable holds something that ``shown`` hides."""
    return shown(name, text) != text
