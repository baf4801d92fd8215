"""What a setting is: plain data about one environment variable that steers a cache."""

from __future__ import annotations

from typing import NamedTuple

#: What a value is, for whoever edits it: on or off; on, off, or left to PyTorch; a text; a folder;
#: an address with scheme; the name of a host; a port; a whole number; MODULE:CLASS.
TYPES = ("switch", "tristate", "text", "folder", "url", "host", "port", "number", "class")

#: How the text of a variable becomes a value:
#: config: "1" and "0" are on and off, of any other text a switch is on unless it is empty, and a
#:   text that is "1" or "0" is no text any more but True or False (_read_env_variable in
#:   torch/utils/_config_module.py).
#: tristate: "1" and "0", any other is as if it were not set (get_tristate_env there).
#: one: on is "1" and nothing else.
#: triton: as getenv_bool of Triton, in any case: 1, true, on, y, yes (knobs.py, python/src/ir.cc).
#: number: as int() takes it; else the import of torch, or the compile, fails.
#: text: as it is.
READINGS = ("config", "tristate", "one", "triton", "number", "text")

#: What a setting is about, in the order of a form.
GROUPS = ("local", "folders", "remote", "server", "profiles", "keys", "triton")


class Setting(NamedTuple):
    """One environment variable. name: of the variable. type: one of TYPES. reading: one of
    READINGS. group: one of GROUPS. does: what it does, in a sentence. defaults: (torch version from
    which it is so, the value that a user would write, or None for none), the oldest first; Triton's
    variables have Triton's versions. config: the attribute in Python, as
    torch._inductor.config.fx_graph_cache, or "". forces: whether the variable wins over what a
    program sets there; None where there is no such attribute. needs: variables that have to be on,
    or set, for this one to have an effect. conflicts: variables that take its effect away, or whose
    effect it takes away. same: where more variables than one mean the same, all of them, this one
    included, the winner first. secret: whether its value may hold a password. in_key: whether it is
    part of the keys of entries, so that with another value others are used. since: the first
    version that has it, until: the first that has it no more; "" where not known or not so. source:
    where that stands, a file of PyTorch or Triton.
    """

    name: str
    type: str
    reading: str
    group: str
    does: str
    defaults: tuple[tuple[str, str | None], ...]
    source: str
    config: str = ""
    forces: bool | None = None
    needs: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    secret: bool = False
    in_key: bool = False
    since: str = ""
    until: str = ""
