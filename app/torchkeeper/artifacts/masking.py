"""A command line without its passwords and tokens: an ellipsis in their place. Also what secrets
look like: the tokens that services give out, and names of what holds one.

Nobody can tell for certain. What others may read errs towards hiding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from torchkeeper.artifacts.patterns import regex

# One list for all who look: ``artifacts.leaks`` finds them in payloads, where a false alarm costs
# somebody's time, ``client.secrets`` hides them in texts that are written down, where a miss costs
# more. So a token has two lengths, from which on it is taken for one.


class Form(NamedTuple):
    """A kind of token: who gives it out, what it begins with (a regular expression without groups),
    the characters after that, and how many of them make one for ``found`` and for ``hidden``.
    checked: what the characters must be like besides, a lookahead. begins: texts of which one is at
    the beginning of each, in lower case, by which they are found fast.
    """

    issuer: str
    prefix: str
    characters: str
    found: int
    hidden: int
    begins: tuple[str, ...]
    checked: str = ""

    def pattern(self, least: int, most: int | None = None) -> str:
        """A regular expression for it with so many characters after its beginning."""
        count = f"{{{least},{'' if most is None else most}}}"
        return f"{self.prefix}{self.checked}{self.characters}{count}"


#: As they are documented by those who give them out.
TOKENS = (
    Form("Hugging Face", "hf_", r"[0-9A-Za-z]", 20, 8, ("hf_",)),
    Form("OpenAI or Anthropic", "sk-", r"[0-9A-Za-z_-]", 20, 4, ("sk-",),
         r"(?=[0-9A-Za-z_-]{0,99}\d)"),
    Form("GitHub", "gh[opsur]_", r"[0-9A-Za-z]", 30, 16,
         ("gho_", "ghp_", "ghs_", "ghu_", "ghr_")),
    Form("GitHub", "github_pat_", r"[0-9A-Za-z_]", 22, 16, ("github_pat_",)),
    Form("GitLab", "glpat-", r"[0-9A-Za-z_-]", 18, 16, ("glpat-",)),
    Form("Slack", "xox[a-z]-", r"[0-9A-Za-z_-]", 10, 8, ("xox",), r"(?=[0-9A-Za-z_-]{0,99}\d)"),
    Form("AWS", "A[KS]IA", r"[0-9A-Z]", 16, 12, ("akia", "asia")),
    Form("Google", "AIza", r"[0-9A-Za-z_-]", 30, 20, ("aiza",)),
    Form("Google", r"ya29\.", r"[0-9A-Za-z_-]", 20, 8, ("ya29.",)),
    Form("npm", "npm_", r"[0-9A-Za-z]", 30, 20, ("npm_",)),
    Form("PyPI", "pypi-", r"[0-9A-Za-z_-]", 40, 16, ("pypi-",)),
    Form("NVIDIA", "nvapi-", r"[0-9A-Za-z_-]", 30, 16, ("nvapi-",)),
    # A JSON web token: the base64 of '{"', a dot, and the claims, which begin the same.
    Form("JSON web token", "eyJ", r"[0-9A-Za-z_.-]", 20, 10, ("eyj",),
         r"(?=[0-9A-Za-z_-]{8,300}\.)"),
)  # fmt: skip

#: Names that say that what they name is a secret, whatever it looks like.
SURE = (
    r"pass(?:word|wd|phrase)|pwd|secret|credentials?"
    r"|(?:api|access|secret|private|signing|account)[-_]?key"
)
#: Names that may: a model has a ``pad_token``, and what is ``auth`` may be a setting.
MAYBE = r"token|auth(?:orization)?"


#: Characters of a text that passwords are looked for in, where it may be anybody's: it takes time
#: that grows with the square of them.
MOST = 4 << 10

_URL = regex(r"([A-Za-z][\w+.-]*://[^/\s:@]*):[^@\s]*@")
#: The same of what is mistyped: of a path that is made of it one slash is left. The last @ ends it,
#: and where there is no scheme the name before it can be nothing else.
_LOGIN = regex(r"([A-Za-z][\w+.-]*:[/\\]{1,3}[^/\\\s:@]*):(?:\S*@|[^@\n]*@)")
#: The same where no @ follows: a host would have a port there, or be an IPv6 address. Of a Redis
#: the slashes may be missing, or the colon. It ends with its word, less what a sentence has there.
_ENDS = r"[”’\"'.,;:!?)}\]]{0,4}(?=\s|$)"
_HALF = regex(
    r"((?<![\w+.-])(?:[A-Za-z][\w+.-]{0,30}:[/\\]+|(?:rediss?|valkeys?)(?::[/\\]*|[/\\]+(?=:)))"
    r"(?!\[[\da-fA-F:.]+\])[^/\\\s:@]*):"
    rf"(?!\d{{1,5}}(?:[/?#]|{_ENDS})|{_ENDS})[^\s@]+?(?={_ENDS})(?![^\s@]*@)"
)
#: What keyboards of some languages have for the characters of an address.
_WIDE = str.maketrans("：﹕︓＠﹫／＼", ":::@@/\\")
_QUERY = regex(r"([?&]password=)[^&\s]+", re.IGNORECASE)
_BARE = regex(r"(?<![^\s“\"'‘(=/])([\w.-]*):[^\s/@:]+@(?=[\w\[])")
_USER = regex(r"([A-Za-z][\w+.-]*://)[^/\s:@]+@")
_HIDDEN = rf"(?:pass|{SURE}|{MAYBE})"
#: The address of a Redis, whose password may have anything in it, and its host may be missing.
_SCHEME = r"(?:rediss?|valkeys?|unix)://"
_REDIS = regex(rf"({_SCHEME})((?:(?!{_SCHEME}).)+)", re.IGNORECASE | re.DOTALL)
_HOST = regex(r"(?:[\w.-]*|\[[\da-fA-F:.]+\])(?::\d{1,5})?(?=$|[/?#\s'\",;)}\]])")
_USER_NAME = regex(r"[\w.-]*")
_REDIS_CLI = regex(r"(\bredis-cli\s(?:[^\n]*\s)?-a\s*)\S+")
_NAMED = regex(
    rf"((?:^|[\s?&;,('\"_-])[\w.-]*{_HIDDEN}['\"]?\s*[=:]\s*)(?:(?:bearer|basic|token)\s+)?"
    r"(?:'[^']*'|\"[^\"]*\"|[^\s&;,'\"]+['\"]?)",
    re.IGNORECASE,
)
#: All of an argument is the secret's, and of a line of a shell the next word.
_WHOLE = regex(rf"(-{{0,2}}[\w.-]*{_HIDDEN}=).+", re.IGNORECASE | re.DOTALL)
_NEXT = regex(rf"(\s-{{1,2}}[\w.-]*{_HIDDEN}\s+)[^\s-]\S*", re.IGNORECASE)
_OPTION = regex(rf"-{{1,2}}[\w.-]*{_HIDDEN}", re.IGNORECASE)
#: What those who give out tokens begin them with, and what HTTP has before one.
_TOKEN = regex(
    rf"\b(?:{'|'.join(form.pattern(form.hidden) for form in TOKENS)})"
    r"|\bBearer\s+\S+|\bBasic\s+(?=\S*[\d=])[A-Za-z\d+/]{6,}={0,2}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*",
    re.IGNORECASE,
)


def hidden(command: Sequence[str]) -> list[str]:
    """A command line with an ellipsis where a password or a token is, as far as can be told."""
    found: list[str] = []
    after = cli = False
    for argument in command:
        if whole := _WHOLE.fullmatch(argument):
            shown = f"{whole[1]}…"
        else:
            shown = _REDIS.sub(_without_login, without_logins(argument))
            shown = _REDIS_CLI.sub(r"\1…", shown)
            shown = _USER.sub(r"\1…@", _URL.sub(r"\1:…@", shown))
            shown = _TOKEN.sub("…", _NEXT.sub(r"\1…", _NAMED.sub(r"\1…", shown)))
        if after and not argument.startswith("-"):
            shown = "…"
        cli = cli or argument.rpartition("/")[2] == "redis-cli"
        after = _OPTION.fullmatch(argument) is not None or (cli and argument == "-a")
        found.append(shown)
    return found


def without_logins(text: str) -> str:
    """A text without the passwords in what looks like an address with one, mistyped or not."""
    text = _QUERY.sub(r"\1…", text)
    plain = hidden = text.translate(_WIDE)
    if "@" in plain:
        hidden = _BARE.sub(r"\1:…@", _LOGIN.sub(r"\1:…@", plain))
    hidden = _HALF.sub(r"\1:…", hidden)
    return text if hidden == plain else hidden


def has_login(text: str) -> bool:
    """Whether a text looks like an address with a password in it."""
    return without_logins(text) != text


def brief(text: str, most: int) -> str:
    """A text without passwords, and cut then: of one that is cut before, half a password stays. One
    that is longer than what is looked through is not shown at all.
    """
    return hidden([text])[0][:most] if len(text) <= MOST else "…"


def _without_login(found: re.Match[str]) -> str:
    """The address of a Redis, and all after it, without what is no host before the last @."""
    scheme, rest = found[1], found[2]
    if _HOST.match(rest):
        return found[0]
    login, at, where = rest.rpartition("@")
    if not at:
        return f"{scheme}…"
    user, colon, _ = login.partition(":")
    named = f"{user}:" if colon and _USER_NAME.fullmatch(user) else ""
    return f"{scheme}{named}…@{where}"
