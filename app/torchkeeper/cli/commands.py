"""The table of commands: help, completion and the manual page are made from it."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from typing import NamedTuple

#: Which interpreter is asked where none is named (``client.engines.interpreters.chosen``).
DEFAULT_ENV = (
    "by default TORCHKEEPER_TORCH_PYTHON, else that of the app, or of the active environment if "
    "only that has torch"
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


LOOK, WHY, FILL = "look at caches", "explain what hits, and why", "fill caches"
CARRY, CLEAN, REST = "carry them elsewhere", "clean up", "this machine, and servers"
#: In the order in which help has them.
GROUPS = (LOOK, WHY, FILL, CARRY, CLEAN, REST)

COMMANDS = {
    "places": Command(
        LOOK, "looking:places", "list the caches found on this machine",
        (("torchkeeper places", "where caches are, and who names them"),
         ("torchkeeper places ssh://gpu1", "those of another machine"),
         ("torchkeeper places --protect /srv/cache", "protect it from all changes")),
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
         ("torchkeeper du cache --filter 'age>30d'", "the size of what is old")),
        filtered=True, lists=True,
    ),
    "overview": Command(
        LOOK, "overviewing:overview",
        "sum up all places: what they hold, what is usable, what you can remove",
        (("torchkeeper overview", "all places of this machine"),
         ("torchkeeper overview --hosts all", "all places of the machines that you keep"),
         ("torchkeeper overview cache redis://host "
          "--older 90d", "two places, with another limit of age")),
        lists=True,
    ),
    "show": Command(
        LOOK, "entries:show", "show all facts of an entry",
        (("torchkeeper show cache f3jp4pg", "the beginning of a key is enough"),
         ("torchkeeper show ~/.cache/vllm", "the keys that vLLM has, their ranks and pieces"),
         ("torchkeeper show model.torchcache f3jp4pg --json", "for a program")),
        lists=True,
    ),
    "inspect": Command(
        LOOK, "bundles:inspect", "list what is in a bundle or mega-cache",
        (("torchkeeper inspect model.torchcache", "its entries, its signer, its verdicts"),
         ("torchkeeper inspect model.pt2", "what a package of AOTInductor holds, and is for"),
         ("ssh host torchkeeper export cache -o - | torchkeeper inspect -", "from a pipe")),
        lists=True,
    ),
    "check": Command(
        WHY, "entries:check",
        "tell for each entry of places whether programs find it here, and who else can change it",
        (("torchkeeper check cache", "in the default environment"),
         ("torchkeeper check cache --env /opt/venv/bin/python", "in another one"),
         ("torchkeeper check cache --quiet --filter kind:fxgraph", "of graphs, for cron"),
         ("torchkeeper check ~/.cache/vllm --against pod.env", "would vLLM hit with these?")),
        filtered=True, lists=True,
    ),
    "explain": Command(
        WHY, "entries:explain", "explain why a program finds an entry or not, or how two differ",
        (("torchkeeper explain cache f3jp4pg", "why a program finds it here, or not"),
         ("torchkeeper explain cache f3jp4pg fabc123", "the differences between two keys"),
         ("torchkeeper explain /a/1a2b3c4d5e /b/6f7a8b9c0d", "why another pod of vLLM missed"),
         ("torchkeeper explain cache --trace trace", "what a program found and missed")),
        lists=True,
    ),
    "env": Command(
        WHY, "entries:env", "list the interpreters with torch, and their facts",
        (("torchkeeper env", "all that are known"),
         ("torchkeeper env --add /opt/venv/bin/python", "add one to the list")),
        lists=True,
    ),
    "run": Command(
        WHY, "running:run",
        "run a program, then tell which graphs hit the cache, and why others missed",
        (("torchkeeper run -- python serve.py", "what hit, what missed, and why"),
         ("torchkeeper run --recipe serve.toml -- python serve.py", "write down what it compiles")),
        json=False,
    ),
    "runs": Command(
        WHY, "running:kept_runs", "list the runs of programs, with hits and misses",
        (("torchkeeper runs", "those that are kept"),
         ("torchkeeper runs last", "the hits and misses of the latest one")),
        lists=True,
    ),
    "warm": Command(
        FILL, "fleet:warm", "compile recipes into a place, then export or publish it"
    ),
    "fleet": Command(
        FILL, "fleet:", "keep a cache warm for many machines, as a file says", json=False
    ),
    "recipe": Command(FILL, "warming:", "show, check, write and keep recipes", json=False),
    "verify": Command(
        FILL, "verifying:verify",
        "run a recipe with only a place or bundle, and compare",
        (("torchkeeper verify cache --recipe model.toml", "whether all of it hits, and how fast"),
         ("torchkeeper verify model.torchcache --recipe model.toml --trust", "of a bundle")),
    ),
    "prepare": Command(
        FILL, "telling:prepare", "build the C++ headers of PyTorch ahead of the first CPU program",
        (("torchkeeper prepare", "for programs of this user"),
         ("torchkeeper prepare --env /opt/venv/bin/python --into /var/tmp", "with another TMPDIR")),
    ),
    "copy": Command(
        CARRY, "bundles:copy", "copy entries from any place to any other",
        (("torchkeeper copy cache redis://host", "share a folder through Redis"),
         ("torchkeeper copy redis://host cache --filter torch:2.13", "take some of it back"),
         ("torchkeeper copy cache other --dry-run", "only print the entries to copy")),
        filtered=True,
    ),
    "export": Command(
        CARRY, "bundles:export", "write entries to a bundle",
        (("torchkeeper export cache -o model.torchcache", "all of it, in one file"),
         ("torchkeeper export cache ~/.triton/cache ~/.deep_gemm -o server.torchcache",
          "all that a server needs"),
         ("torchkeeper export a.bin b.bin -o both.bin", "two mega-caches, as one"),
         ("torchkeeper export cache -o new.torchcache --filter 'age<1d' --with-needed", "news"),
         ("torchkeeper export cache -o - | ssh host torchkeeper import - --into cache --trust",
          "straight to another machine")),
        filtered=True,
    ),
    "import": Command(
        CARRY, "importing:import_", "place the entries of a bundle in a cache",
        (("torchkeeper import model.torchcache --into cache --dry-run", "what is new in it"),
         ("torchkeeper import server.torchcache --into-each", "each cache to its own place"),
         ("torchkeeper import model.torchcache --into cache", "show what is in it, and ask"),
         ("torchkeeper import - --into cache --trust < model.torchcache", "from a pipe or a file")),
    ),
    "sign": Command(CARRY, "signing:sign", "sign a bundle with an SSH key"),
    "signers": Command(
        CARRY, "signing:", "choose whose signatures to trust, and whether to need one", json=False
    ),
    "purge": Command(
        CLEAN, "removing:purge", "move entries to the trash; on a server, remove them for good",
        (("torchkeeper purge cache --stale --dry-run", "what no environment here can use"),
         ("torchkeeper purge cache --filter 'age>30d'", "show what is old, and ask"),
         ("torchkeeper purge cache --keep 10G "
          "--yes --quiet", "for cron: what was used longest ago goes")),
        filtered=True,
    ),
    "undo": Command(
        CLEAN, "removing:undo", "undo the latest purge or import",
        (("torchkeeper undo cache", "what was purged is back, or what came has gone"),
         ("torchkeeper undo cache --json", "for a program")),
    ),
    "trash": Command(
        CLEAN, "removing:trash", "show the trash of a place, or empty it",
        (("torchkeeper trash cache", "the purged entries, and when"),
         ("torchkeeper trash cache --empty", "ask, and remove it for good")),
    ),
    "recover": Command(
        CLEAN, "removing:recover", "complete a change that was cut off in a folder",
        (("torchkeeper recover cache", "after a crash, or a full disk"),
         ("torchkeeper recover cache --json", "for a program")),
    ),
    "server": Command(
        REST, "servers:server", "show the state of a Redis server, with advice",
        (("torchkeeper server redis://host", "its memory, its rules, who can write to it"),
         ("torchkeeper server rediss://host:6380 --json", "for a program")),
    ),
    "ttl": Command(
        REST, "servers:ttl", "set how long a Redis server keeps entries",
        (("torchkeeper ttl redis://host 30d", "everything goes in 30 days"),
         ("torchkeeper ttl redis://host never --filter torch:2.13", "some of it stays")),
        filtered=True,
    ),
    "doctor": Command(
        REST, "doctor:doctor", "find and fix what is wrong with the caches of this machine",
        (("torchkeeper doctor", "the faults, their causes and their fixes"),
         ("torchkeeper doctor --fix --dry-run", "the fixes that it would make"),
         ("torchkeeper doctor cache redis://host", "of these only")),
    ),
    "hosts": Command(
        REST, "hosts:", "keep the machines that you ask together", json=False
    ),
    "config": Command(
        REST, "config:", "show, check and carry the settings of the caches, as profiles", json=False
    ),
    "jobs": Command(
        REST, "history:jobs",
        "list the jobs of the window, with their results; those of a machine",
        (("torchkeeper jobs", "the jobs that are kept"),
         ("torchkeeper jobs --json", "for a program"),
         ("torchkeeper jobs ssh://gpu1", "what goes on there without a connection")),
        lists=True,
    ),
    "serve": Command(
        REST, "serving:serve", "let a key of ssh see some folders of this machine, and no more",
        (("torchkeeper serve --only /srv/cache --read-only",
          "as command=\"…\" in a line of ~/.ssh/authorized_keys: its key may look at /srv/cache"),
         ("torchkeeper serve --only /srv/cache --env /opt/venv/bin/python",
          "the key may also change it, and ask that interpreter for verdicts")),
        json=False,
    ),
    "install-desktop": Command(
        REST, "desktop:install_desktop",
        "add the app to the menus of the desktop, to open bundles with it",
        (("torchkeeper install-desktop", "for this user"),
         ("torchkeeper install-desktop --remove", "and back")),
    ),
    "completion": Command(
        REST, "completion:completion", "print the completion script for a shell",
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
        REST, "main:help_", "explain a command, or print a page of the manual",
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
