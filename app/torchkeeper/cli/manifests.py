"""Manifests of a fleet for Kubernetes, for whoever has a cluster to apply: warm --on kubernetes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from torchkeeper.cli import contract, output
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.words import say
from torchkeeper.placing.targets import KUBERNETES
from torchkeeper.warm.recipes.recipe import BUILTIN

#: The type of device that a recipe's device means.
_TYPES = {"cuda": "nvidia", "hip": "amd"}

#: Options that say nothing of a Job.
_NOT = ("prove", "report", "sign", "state", "profile", "bundle", "publish", "only", "limit",
        "jobs", "env")  # fmt: skip
#: How what is needed is given.
_HOW = {"dry_run": "--dry-run", "image": "--image IMAGE"}


def is_one(target: str) -> bool:
    """Whether a target is Kubernetes; a type of device may follow."""
    return target.partition(":")[0] == KUBERNETES


def add_options(command: argparse._ActionsContainer) -> None:
    command.add_argument("--image", metavar="IMAGE", default="", help="with --on kubernetes: the "
                         "image of the containers, which has torchkeeper and torch")  # fmt: skip
    command.add_argument("--secret", metavar="NAME", default="", help="with --on kubernetes: a "
                         "Secret whose key “password” is that of the Redis")  # fmt: skip


def show(args: argparse.Namespace, targets: Sequence[str]) -> int:
    """Print a Job for each type of device; nothing is sent anywhere."""
    from torchkeeper.placing import kubernetes

    default = _TYPES.get((args.device or "").partition(":")[0], args.device or "nvidia")
    devices = [one.partition(":")[2] or default for one in targets]
    for one in devices:  # first what was typed, then what is missing
        kubernetes.device(one)
    if len(targets) < len(args.on):
        why = "What it prints is for a cluster alone."
        raise output.misuse("--on kubernetes stands alone.", why, "Leave the others out.")
    for name in _NOT:
        if getattr(args, "key" if name == "sign" else name):
            why = "What the Jobs have made stays where --into says."
            raise output.misuse(f"--{name} is not for --on kubernetes.", why, "Leave it out.")
    if missing := [how for name, how in _HOW.items() if not getattr(args, name)]:
        what = " and ".join(one.partition(" ")[0] for one in missing)
        why = ("Torchkeeper sends nothing to a cluster: it prints a Job for each type of device, "
               "which compiles the recipes there into a volume or a Redis. Its image has "
               "torchkeeper and torch.")  # fmt: skip
        how = (f"Add {' and '.join(missing)}, with --into {kubernetes.CLAIM}CLAIM or redis://HOST, "
               "and give what is printed to “kubectl apply -f -”.")  # fmt: skip
        raise output.misuse(f"--on kubernetes needs {what}.", why, how)
    paths = recipes.chosen(args.recipes)
    names, files = kubernetes.packed([recipes.read(one) for one in paths if one != BUILTIN])
    wanted = kubernetes.Wanted(
        args.image, args.into, devices, threads=args.threads, portable=args.portable,
        secret=args.secret,
    )  # fmt: skip
    built_in = [one for one in paths if one == BUILTIN]
    found = kubernetes.manifests(wanted, [*names, *built_in], files)
    if args.json:
        output.emit_all({"manifest": one} for one in found)
    else:
        output.line(kubernetes.text_of(found).rstrip("\n"))
    said = f"{say.count(len(found), 'manifest', 'manifests')}."
    if args.json:
        output.result(args, {"manifests": len(found)}, said)
    return contract.DONE
