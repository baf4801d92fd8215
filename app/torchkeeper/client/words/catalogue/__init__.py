"""The words for every problem that an engine can report, by its code: a module for each subject."""

from torchkeeper.client.words.catalogue import (
    bundles,
    compiling,
    fleet,
    machines,
    places,
    programs,
    servers,
)
from torchkeeper.client.words.catalogue.words import Words

CATALOGUE: dict[str, Words] = {
    **places.WORDS, **bundles.WORDS, **servers.WORDS, **compiling.WORDS, **programs.WORDS,
    **machines.WORDS, **fleet.WORDS,
}  # fmt: skip
