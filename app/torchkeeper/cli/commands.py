"""The table of commands: help, completion and the manual page are made from it."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from typing import NamedTuple

#: Which interpreter is asked where none is named (``client.engines.interpreters.chosen``).
DEFAULT_ENV = (
    "by default TORCHKEEPER_TORCH_PYTHON, else the app's own, or the active environment's if only "
    "that has a torch"
)


class Command(NamedTuple):
    """where: its module in this package and function there, as ``module:function``; one without a
    function has parts, each with its own. about: what it is for. examples: command lines, and what
    each does; none where the module has its own among more that it says. filtered: whether it takes
    --filter. json: whether it takes --json in the same way as others. lists: whether what it prints
    may be longer than a screen, and it asks nothing meanwhile.
    """

    group: str
    where: str
    about: str
    examples: Sequence[tuple[str, str]] = ()
    filtered: bool = False
    json: bool = True
    lists: bool = False


LOOK, WHY, FILL = "look at caches", "say what is used, and why", "fill caches"
CARRY, CLEAN, REST = "carry them elsewhere", "clean up", "this machine, and servers"
#: In the order in which help has them.
GROUPS = (LOOK, WHY, FILL, CARRY, CLEAN, REST)

COMMANDS = {
    "places": Command(
        LOOK, "looking:places", "list the caches found on this machine",
        (("torchkeeper places", "where caches are, and who says so"),
         ("torchkeeper places --protect /srv/cache", "nothing changes it from now on")),
        lists=True,
    ),
    "ls": Command(
        LOOK, "looking:ls", "list the entries of places",
        (("torchkeeper ls cache --filter 'kind:fxgraph size>1M'", "large graphs"),
         ("torchkeeper ls cache redis://host --sort size --limit 20", "the largest of both"),
         ("torchkeeper ls cache --columns key,size --no-header", "for a script")),
        filtered=True, lists=True,
    ),
    "du": Command(
        LOOK, "looking:du", "sum up places by kind, and their trash",
        (("torchkeeper du cache", "what each kind takes, and the trash"),
         ("torchkeeper du cache model.torchcache", "two places"),
         ("torchkeeper du cache --filter 'age>30d'", "what is old comes to")),
        filtered=True, lists=True,
    ),
    "overview": Command(
        LOOK, "overviewing:overview",
        "sum up all places: what they hold, what is usable, what could go",
        (("torchkeeper overview", "all that this machine has"),
         ("torchkeeper overview cache redis://host --older 90d", "two places, and what is old")),
        lists=True,
    ),
    "show": Command(
        LOOK, "entries:show", "show all that is known of an entry",
        (("torchkeeper show cache f3jp4pg", "the beginning of a key is enough"),
         ("torchkeeper show model.torchcache f3jp4pg --json", "for a program")),
        lists=True,
    ),
    "inspect": Command(
        LOOK, "bundles:inspect", "list what is in a bundle or mega-cache",
        (("torchkeeper inspect model.torchcache", "what is in it, who signed it, is it usable"),
         ("ssh host torchkeeper export cache -o - | torchkeeper inspect -", "from a pipe")),
        lists=True,
    ),
    "check": Command(
        WHY, "entries:check",
        "say of each entry of places whether it will be used here, and who else can change it",
        (("torchkeeper check cache", "in the environment that PyTorch is started from"),
         ("torchkeeper check cache --env /opt/venv/bin/python", "in another one"),
         ("torchkeeper check cache --quiet --filter kind:fxgraph", "of graphs, for cron")),
        filtered=True, lists=True,
    ),
    "explain": Command(
        WHY, "entries:explain", "say why an entry is used here or not, or how two differ",
        (("torchkeeper explain cache f3jp4pg", "why it is used here, or is not"),
         ("torchkeeper explain cache f3jp4pg fabc123", "what makes two keys different"),
         ("torchkeeper explain cache --trace trace", "what a program found and missed")),
        lists=True,
    ),
    "env": Command(
        WHY, "entries:env", "list the interpreters with torch, and what decides there",
        (("torchkeeper env", "all that are known"),
         ("torchkeeper env --add /opt/venv/bin/python", "one more from now on")),
        lists=True,
    ),
    "run": Command(
        WHY, "running:run",
        "run a program, then say which graphs were in the cache, and why not",
        (("torchkeeper run -- python serve.py", "what hit, what missed, and why"),
         ("torchkeeper run --recipe serve.toml -- python serve.py", "write down what it compiles")),
        json=False,
    ),
    "runs": Command(
        WHY, "running:kept_runs", "list the programs that were run, with hits and misses",
        (("torchkeeper runs", "those that are kept"),
         ("torchkeeper runs last", "what the latest one found and missed")),
        lists=True,
    ),
    "warm": Command(
        FILL, "warming:warm", "compile recipes into a place, and take it on from there"
    ),
    "recipe": Command(FILL, "warming:", "show, check, write and keep recipes", json=False),
    "verify": Command(
        FILL, "verifying:verify",
        "run a recipe with nothing but a place or bundle, and compare",
        (("torchkeeper verify cache --recipe model.toml", "is all of it found, and how fast"),
         ("torchkeeper verify model.torchcache --recipe model.toml --trust", "of a bundle")),
    ),
    "prepare": Command(
        FILL, "telling:prepare", "build ahead what PyTorch builds once before CPU programs start",
        (("torchkeeper prepare", "for programs of this user"),
         ("torchkeeper prepare --env /opt/venv/bin/python --into /var/tmp", "with another TMPDIR")),
    ),
    "copy": Command(
        CARRY, "bundles:copy", "copy entries from any place to any other",
        (("torchkeeper copy cache redis://host", "share a folder through Redis"),
         ("torchkeeper copy redis://host cache --filter torch:2.13", "take some of it back"),
         ("torchkeeper copy cache other --dry-run", "only say what would be copied")),
        filtered=True,
    ),
    "export": Command(
        CARRY, "bundles:export", "write entries to a bundle",
        (("torchkeeper export cache -o model.torchcache", "all of it, in one file"),
         ("torchkeeper export cache -o new.torchcache --filter 'age<1d' --with-needed", "news"),
         ("torchkeeper export cache -o - | ssh host torchkeeper import - --into cache --trust",
          "straight to another machine")),
        filtered=True,
    ),
    "import": Command(
        CARRY, "bundles:import_", "place the entries of a bundle in a cache",
        (("torchkeeper import model.torchcache --into cache --dry-run", "what is new in it"),
         ("torchkeeper import model.torchcache --into cache", "show what is in it, and ask"),
         ("torchkeeper import - --into cache --trust < model.torchcache", "from a pipe or a file")),
    ),
    "sign": Command(CARRY, "signing:sign", "sign a bundle with an SSH key"),
    "signers": Command(
        CARRY, "signing:", "say whose signatures are trusted, and whether one is needed", json=False
    ),
    "purge": Command(
        CLEAN, "removing:purge", "move entries to the trash; on a server, remove them for good",
        (("torchkeeper purge cache --stale --dry-run", "what nobody here can use"),
         ("torchkeeper purge cache --filter 'age>30d'", "show what is old, and ask"),
         ("torchkeeper purge cache --keep 10G --yes --quiet", "for cron: what is used least goes")),
        filtered=True,
    ),
    "undo": Command(
        CLEAN, "removing:undo", "put the latest purge back",
        (("torchkeeper undo cache", "what went last is there again"),
         ("torchkeeper undo cache --json", "for a program")),
    ),
    "trash": Command(
        CLEAN, "removing:trash", "show the trash of a place, or empty it",
        (("torchkeeper trash cache", "what was purged, and when"),
         ("torchkeeper trash cache --empty", "ask, and remove it for good")),
    ),
    "recover": Command(
        CLEAN, "removing:recover", "complete what was cut off in a folder",
        (("torchkeeper recover cache", "after a crash, or a full disk"),
         ("torchkeeper recover cache --json", "for a program")),
    ),
    "server": Command(
        REST, "servers:server", "say how a Redis server is, and what that means",
        (("torchkeeper server redis://host", "its room, its rules, who can write to it"),
         ("torchkeeper server rediss://host:6380 --json", "for a program")),
    ),
    "ttl": Command(
        REST, "servers:ttl", "say how long a Redis server keeps entries",
        (("torchkeeper ttl redis://host 30d", "everything goes in 30 days"),
         ("torchkeeper ttl redis://host never --filter torch:2.13", "some of it stays")),
        filtered=True,
    ),
    "doctor": Command(
        REST, "doctor:doctor", "say what is wrong with the caches of this machine, and mend it",
        (("torchkeeper doctor", "what is wrong, why, and what to do"),
         ("torchkeeper doctor --fix --dry-run", "what it would mend"),
         ("torchkeeper doctor cache redis://host", "of these only")),
    ),
    "config": Command(
        REST, "config:", "show, check and carry the settings of the caches, as profiles", json=False
    ),
    "jobs": Command(
        REST, "history:jobs",
        "list what the window is at and has done, and what came of it",
        (("torchkeeper jobs", "the jobs that are kept"),
         ("torchkeeper jobs --json", "for a program")),
        lists=True,
    ),
    "install-desktop": Command(
        REST, "desktop:install_desktop",
        "put the app into the menus of the desktop, and have it open bundles",
        (("torchkeeper install-desktop", "for this user"),
         ("torchkeeper install-desktop --remove", "and back")),
    ),
    "completion": Command(
        REST, "completion:completion", "print what makes a shell complete commands and values",
        (("torchkeeper completion bash > ~/.local/share/bash-completion/completions/torchkeeper",
          "for bash; or eval \"$(torchkeeper completion bash)\" in ~/.bashrc"),
         ("torchkeeper completion zsh > ~/.zfunc/_torchkeeper", "for zsh, in a folder of fpath"),
         ("torchkeeper completion fish > ~/.config/fish/completions/torchkeeper.fish", "for fish")),
        json=False,
    ),
    "shots": Command(
        REST, "main:shots", "save pictures of the window",
        (("torchkeeper shots pictures", "of the default cache"),
         ("torchkeeper shots pictures --place cache --scale 1", "of this one, small")),
        json=False,
    ),
    "help": Command(
        REST, "main:help_", "say what a command does and takes, or print a page of the manual",
        (("torchkeeper help ls", "the same as “torchkeeper ls --help”"),
         ("torchkeeper help recipe new", "of a part of a command")),
        json=False,
    ),
}  # fmt: skip


class Blocks(argparse.HelpFormatter):
    """Wraps paragraphs, and leaves blocks that are lines already as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        blocks = text.split("\n\n")
        return "\n\n".join(x if "\n" in x else fill(x, width, indent) for x in blocks)


def in_groups() -> str:
    """All commands in their groups, as the help has them, in the width of the terminal."""
    import textwrap  # only here: few commands wrap lines

    wide = max(map(len, COMMANDS))
    room = shutil.get_terminal_size().columns - 2
    blocks = []
    for group in GROUPS:
        lines = [f"{group}:"]
        for name, one in COMMANDS.items():
            if one.group == group:
                about = textwrap.wrap(one.about, max(room - wide - 4, 20))
                lines.append(f"  {name:<{wide}}  {about[0]}")
                lines += [" " * (wide + 4) + line for line in about[1:]]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


#: What an example may take of a line before its comment goes on the next one.
_WIDE = 40


def examples(name: str) -> str:
    """The examples of a command as its help has them; "" where its module has its own."""
    lines = []
    for command, about in COMMANDS[name].examples:
        if len(command) > _WIDE:
            lines += [f"  {command}", f"      {about}"]
        else:
            lines.append(f"  {command:<{_WIDE}}  {about}")
    return "\n".join(["examples:", *lines]) if lines else ""
