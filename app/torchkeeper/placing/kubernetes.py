"""Manifests for Kubernetes: a Job for each type of device, which compiles recipes in a container
and leaves a bundle on a volume, or publishes to a Redis. Nothing is sent to a cluster: whoever has
one applies them. The same has the same names, so that to apply it twice changes nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torchkeeper.artifacts.masking import has_login
from torchkeeper.client.recipes import sending
from torchkeeper.client.recipes.files import RecipeFile
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, failing_as, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.stores.names import SUFFIX

#: What YAML has of one, or of a part of one.
Manifest = MutableMapping[str, Any]
#: Where things are in the container.
_RECIPES, _WORK, _VOLUME = "/recipes", "/work", "/bundles"
#: A place on a volume: a claim, and a folder in it.
CLAIM = "pvc:"
#: What Kubernetes takes as an image, a name, a label's name and its value.
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_LABEL = re.compile(
    r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?"
)
_VALUE = re.compile(r"[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?", re.ASCII)
#: Bytes of a ConfigMap, as the API server has it, with room for the rest of it.
_MOST = (1 << 20) - (32 << 10)
#: The resource of each maker's GPUs, and the label by which a node tells their product: of NVIDIA's
#: GPU feature discovery, and of the node labeller of AMD's device plugin.
_GPUS = {
    "nvidia": ("nvidia.com/gpu", "nvidia.com/gpu.product"),
    "amd": ("amd.com/gpu", "amd.com/gpu.product-name"),
}
#: How torchkeeper ends where it would again: what is asked for is wrong, or does not compile.
_FOR_GOOD = [1, 2, 4]


#: That a container asks for, how often it is started again that was ended, and the seconds that a
#: Job is kept after its end.
_ASKS = {"cpu": "4", "memory": "16Gi"}
_RETRIES, _KEPT = 2, 86_400


@dataclass(frozen=True)
class Wanted:
    """What the Jobs are. image: has torchkeeper and torch. into: ``pvc:CLAIM/FOLDER``, or a Redis.
    devices: as ``device`` has them. threads, portable: as of ``warm``. secret: a Secret whose
    ``password`` is that of the Redis.
    """

    image: str
    into: str
    devices: Sequence[str]
    threads: int | None = None
    portable: bool = False
    secret: str = ""


class Device(NamedTuple):
    """A type of device: what a node must be labelled with, and the resource that a container takes
    one of, "" for none.
    """

    labels: Mapping[str, str]
    resource: str = ""


def device(text: str) -> Device:
    """The device of ``cpu``, ``cpu:ARCH``, ``MAKER`` or ``MAKER:PRODUCT``, where the maker is
    ``nvidia`` or ``amd``, and instead of a product there may be a label of the cluster's:
    ``LABEL=VALUE``. Raises UserError.
    """
    maker, _, what = text.partition(":")
    label, named, value = what.rpartition("=")
    if (maker == "cpu" or maker in _GPUS) and (not what or _VALUE.fullmatch(value)):
        resource, product = _GPUS.get(maker, ("", "kubernetes.io/arch"))
        if not named or _LABEL.fullmatch(label):
            return Device({label or product: value} if what else {}, resource)
    raise UserError(
        tr("“{device}” is no type of device.", device=text),
        remedy=tr("Give cpu, cpu:arm64, nvidia:NVIDIA-H100-80GB-HBM3, amd:… or nvidia:LABEL=VALUE, "
                  "with a label that the nodes have."),
        code="device-type-unknown",
    )  # fmt: skip


def packed(recipes: Sequence[RecipeFile]) -> tuple[list[str], dict[str, bytes]]:
    """The names of recipes in a container, and all files that they need, by their paths. Raises
    UserError.
    """
    folders = list(dict.fromkeys(os.path.dirname(one.path) for one in recipes))
    names, files = list[str](), dict[str, bytes]()
    for number, folder in enumerate(folders):
        mine = [one for one in recipes if os.path.dirname(one.path) == folder]
        own = [os.path.basename(one.path) for one in mine]
        names += [f"{_RECIPES}/{number}/{name}" for name in own]
        needed = sending.needed(folder, [one.to_wire() for one in mine])
        for path in dict.fromkeys([*own, *needed]):
            file = os.path.join(folder, path)
            with failing_as("recipe-unreadable", file=file), open(file, "rb") as opened:
                files[f"{number}/{path}"] = opened.read(_MOST + 1)
            if sum(map(len, files.values())) > _MOST:
                raise UserError(
                    tr("The recipes in {folder} are too large for a ConfigMap.", folder=folder),
                    tr("It holds {most} at most.", most=say.size(_MOST)),
                    tr("Put them into the image, and name them as they are there."),
                    code="recipe-folder-large",
                )
    return names, files


def manifests(
    wanted: Wanted, recipes: Sequence[str], files: Mapping[str, bytes] | None = None
) -> list[Manifest]:
    """A Job for each device, after a ConfigMap with the files, if there are any; else the recipes
    are those of the image. Raises UserError.
    """
    _check(wanted)
    jobs = [_job(wanted, text, recipes, files or {}) for text in dict.fromkeys(wanted.devices)]
    return [_config_map(files), *jobs] if files else jobs


def text_of(found: Sequence[Mapping[str, Any]]) -> str:
    """Manifests as YAML."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Texts of several lines as such; nothing by a reference, which not all readers know."""

        def ignore_aliases(self, _data: object) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
        style = "|" if "\n" in data else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Dumper.add_representer(str, text)
    return yaml.dump_all(found, Dumper=Dumper, sort_keys=False, explicit_start=True, width=100)


def _check(wanted: Wanted) -> None:
    def wrong(what: str, value: str) -> UserError:
        why = tr("Kubernetes takes no such {what}.", what=what)
        return UserError(tr("“{value}” cannot be used.", value=value), why, code="manifest-wrong")

    for what, value, form in (
        (tr("image"), wanted.image, _IMAGE),
        (tr("name of a Secret"), wanted.secret or "x", _NAME),
    ):
        if not form.fullmatch(value):
            raise wrong(what, value)
    if wanted.into.startswith(CLAIM):
        claim, folder = _claim(wanted.into)
        if not _NAME.fullmatch(claim) or ".." in folder.split("/"):
            raise wrong(tr("claim of a volume"), wanted.into)
    elif not wanted.into.startswith(("redis://", "rediss://")):
        raise UserError(
            tr("{place} cannot be reached from a cluster.", place=wanted.into),
            tr("A Job’s own folders go with it."),
            tr("Give redis://HOST, or pvc:CLAIM for a volume."),
            code="place-not-reachable",
        )
    elif has_login(wanted.into):
        raise UserError(
            tr("A manifest has no passwords: others read it."),
            remedy=tr("Leave the password out, and name a Secret that has it."),
            code="manifest-password",
        )
    if not wanted.devices:
        raise user_error("fleet-no-nodes", {})


def _claim(into: str) -> tuple[str, str]:
    claim, _, folder = into.removeprefix(CLAIM).partition("/")
    return claim, folder.strip("/")


def _meta(name: str) -> Manifest:
    return {"name": name, "labels": {"app.kubernetes.io/name": "torchkeeper-warm"}}


def _hashed(*of: object) -> str:
    return hashlib.sha256(json.dumps(of, sort_keys=True, default=repr).encode()).hexdigest()[:10]


def _config_name(files: Mapping[str, bytes]) -> str:
    return f"torchkeeper-recipes-{_hashed(sorted(files.items()))}"


def _key(path: str) -> str:
    """The key of a file in a ConfigMap, which takes no slashes."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", path)[-200:]
    return f"{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}-{plain}"


def _config_map(files: Mapping[str, bytes]) -> Manifest:
    data, binary = dict[str, str](), dict[str, str]()
    for path, content in sorted(files.items()):
        try:
            data[_key(path)] = content.decode()
        except UnicodeDecodeError:
            binary[_key(path)] = base64.b64encode(content).decode()
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _meta(_config_name(files)),
            "immutable": True, "data": data}  # fmt: skip
    return {**made, "binaryData": binary} if binary else made


def _job(wanted: Wanted, text: str, recipes: Sequence[str], files: Mapping[str, bytes]) -> Manifest:
    on = device(text)
    about = {one: value for one, value in vars(wanted).items() if one != "devices"}
    # A Job cannot be changed: another one has another name.
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:30].strip("-")
    name = f"torchkeeper-warm-{plain}-{_hashed(about, text, list(recipes), sorted(files.items()))}"
    command = ["torchkeeper", "warm", *recipes, "--into", f"{_WORK}/cache"]
    if wanted.threads is not None:
        command += ["--threads", str(wanted.threads)]
    command += ["--portable"] * wanted.portable
    if text.partition(":")[0] == "cpu":
        command += ["--device", "cpu"]
    #: Where what is mounted, by its name.
    mounted: dict[str, tuple[str, Manifest]] = {
        "work": (_WORK, {"emptyDir": {}}), "tmp": ("/tmp", {"emptyDir": {}}),  # noqa: S108
    }  # fmt: skip
    variables: list[Manifest] = [{"name": "HOME", "value": _WORK}]
    if files:
        items = [{"key": _key(path), "path": path} for path in sorted(files)]
        mounted["recipes"] = _RECIPES, {"configMap": {"name": _config_name(files), "items": items}}
    if wanted.into.startswith(CLAIM):
        claim, folder = _claim(wanted.into)
        mounted["bundles"] = _VOLUME, {"persistentVolumeClaim": {"claimName": claim}}
        # One for each device, so that no two write to one.
        command += ["--bundle", "/".join(filter(None, (_VOLUME, folder, f"{name}{SUFFIX}")))]
    else:
        command += ["--publish", wanted.into]
    if wanted.secret:
        secret = {"secretKeyRef": {"name": wanted.secret, "key": "password"}}
        variables.append({"name": "TORCHKEEPER_REDIS_PASSWORD", "valueFrom": secret})
    limits = {"memory": _ASKS["memory"]} | ({on.resource: 1} if on.resource else {})
    container = {
        "name": "warm",
        "image": wanted.image,
        "command": command,
        "env": variables,
        "resources": {"requests": _ASKS, "limits": limits},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": one, "mountPath": at} for one, (at, _) in mounted.items()],
    }
    pod: Manifest = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "runAsGroup": 1000,
            "fsGroup": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": one, **of} for one, (_, of) in mounted.items()],
    }
    if on.labels:
        pod["nodeSelector"] = dict(on.labels)
    if on.resource:
        # Nodes with GPUs often take nobody else.
        pod["tolerations"] = [{"key": on.resource, "operator": "Exists", "effect": "NoSchedule"}]
    metadata = _meta(name)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "backoffLimit": _RETRIES,
            "ttlSecondsAfterFinished": _KEPT,
            # A node that goes costs no retry; what cannot be compiled is not tried again.
            "podFailurePolicy": {"rules": [
                {"action": "Ignore",
                 "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {"action": "FailJob",
                 "onExitCodes": {"containerName": "warm", "operator": "In", "values": _FOR_GOOD}},
            ]},
            "template": {"metadata": {"labels": metadata["labels"]}, "spec": pod},
        },
    }  # fmt: skip
