"""Profiles as they are edited: what is kept of each, and what somebody has made of it since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from torchkeeper.link.profiles.profile import Profile
from torchkeeper.link.words.problems import UserError


@dataclass(eq=False)
class Draft:
    """A profile under way. kept: as it is in its file, None where it has none yet. error: why its
    file cannot be read; then there is nothing to edit.
    """

    name: str
    values: dict[str, str] = field(default_factory=dict, repr=False)
    about: str = ""
    kept: Profile | None = field(default=None, repr=False)
    error: UserError | None = None

    @property
    def profile(self) -> Profile:
        """As it is now."""
        return Profile(self.name, dict(self.values), self.about)

    @property
    def changed(self) -> bool:
        """Whether something is not in its file."""
        return self.error is None and self.profile != self.kept

    def revert(self) -> None:
        """As it is in its file."""
        if self.kept is not None:
            self.values, self.about = dict(self.kept.values), self.kept.about


def draft_of(profile: Profile, *, kept: bool) -> Draft:
    """A draft that begins with a profile; kept: which is in its file so."""
    values = dict(profile.values)
    return Draft(profile.name, values, profile.about, profile if kept else None)


def free(name: str, taken: Iterable[str]) -> str:
    """A name that no other has: this one, or one with a number."""
    used = {one.casefold() for one in taken}
    number, found = 2, name
    while found.casefold() in used:
        found, number = f"{name}-{number}", number + 1
    return found
