"""Small lists of the user's, one JSON file each in the folder for settings.

A damaged one is never taken for an empty one: whoever reads it is told.
"""

from __future__ import annotations

import json
import os

from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import user_error
from torchkeeper.client.words.tongue import Text, tr

#: Bytes of a list; ten thousand paths have less than one.
_MOST = 4 << 20
#: That a file is no such list, by what it should be a list of.
_NOT_A_LIST: dict[str, Text] = {
    "paths": "it is not a list of paths",
    "places": "it is not a list of places",
    "settings": "it is not a list of settings",
}


def file(name: str) -> str:
    """Where the list of this name is."""
    from platformdirs import user_config_dir

    return os.path.join(user_config_dir("torchkeeper"), f"{name}.json")


def load(name: str, code: str, of: str) -> list[str]:
    """The texts of a list in their order, each once; none where there is no file.

    Raises UserError(code) where it cannot be read. of: what it is a list of, in a word of
    _NOT_A_LIST.
    """
    path = file(name)
    try:
        kept = json.loads(whole.read(path, _MOST))
    except FileNotFoundError:
        return []
    except OSError as e:
        raise user_error(code, {"file": path, "why": e.strerror}) from e
    except (ValueError, RecursionError) as e:
        raise user_error(code, {"file": path, "why": tr("it is not JSON")}) from e
    if not isinstance(kept, list) or not all(isinstance(one, str) for one in kept):
        raise user_error(code, {"file": path, "why": tr(_NOT_A_LIST[of])})
    return list(dict.fromkeys(kept))


def save(name: str, texts: list[str], code: str) -> None:
    """Replace a list at once or not at all. Raises UserError(code)."""
    path = file(name)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        whole.write(path, list(dict.fromkeys(texts)))
    except OSError as e:
        raise user_error(code, {"file": path, "why": e.strerror}) from e
