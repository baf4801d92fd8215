"""What secrets look like: the tokens that services give out, and the names of what holds one.

One list for all who look: ``artifacts.leaks`` finds them in payloads, where a false alarm costs
somebody's time, ``client.hiding`` hides them in texts that are written down, where a miss costs
more. So a token has two lengths, from which on it is taken for one.
"""

from __future__ import annotations

from typing import NamedTuple


class Form(NamedTuple):
    """A kind of token: who gives it out, what it begins with (a regular expression without groups),
    the characters after that, and how many of them make one for ``found`` and for ``hidden``.

    checked: what the characters must be like besides, a lookahead. begins: texts of which one is
    at the beginning of each, in lower case, by which they are found fast.
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
