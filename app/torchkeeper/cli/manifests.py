"""Manifests of a fleet for Kubernetes, for whoever has a cluster to apply: warm --on kubernetes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from torchkeeper.cli import contract, output
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.words import say
from torchkeeper.warm.recipes.recipe import BUILTIN

#: How such a target begins; a type of device may follow.
TARGET = "kubernetes"
#: The type of device that a recipe's device means.
_TYPES = {"cuda": "nvidia", "hip": "amd"}


def is_one(target: str) -> bool:
    return target.partition(":")[0] == TARGET


def add_options(command: argparse._ActionsContainer) -> None:
    command.add_argument("--image", metavar="IMAGE", default="", help="with --on kubernetes: the "
                         "image of the containers, which has torchkeeper and torch")  # fmt: skip
    command.add_argument("--secret", metavar="NAME", default="", help="with --on kubernetes: a "
                         "Secret whose key “password” is that of the Redis")  # fmt: skip


def show(args: argparse.Namespace, targets: Sequence[str]) -> int:
    """Print a Job for each type of device; nothing is sent anywhere."""
    from torchkeeper.placing import kubernetes

    if len(targets) < len(args.on):
        why = "What it prints is for a cluster alone."
        raise output.misuse("--on kubernetes stands alone.", why, "Leave the others out.")
    if not args.dry_run:
        why = "Torchkeeper sends nothing to a cluster; it writes the manifests."
        how = f"Add --dry-run, and give them to “kubectl apply -f -”; --into is {kubernetes.CLAIM}"
        raise output.misuse("--on kubernetes needs --dry-run.", why, f"{how}CLAIM or redis://HOST.")
    if not args.image:
        why = "The containers need one with torchkeeper and torch."
        raise output.misuse("--on kubernetes needs --image.", why)
    paths = recipes.chosen(args.recipes)
    names, files = kubernetes.packed([recipes.read(one) for one in paths if one != BUILTIN])
    default = _TYPES.get((args.device or "").partition(":")[0], args.device or "nvidia")
    devices = [one.partition(":")[2] or default for one in targets]
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
