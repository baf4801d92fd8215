"""Manifests, held to the schema of Kubernetes' own API."""

from __future__ import annotations

import base64
import importlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import DATA
from torchkeeper.client.recipes import files as recipe_files
from torchkeeper.client.recipes.files import RecipeFile
from torchkeeper.client.words.problems import UserError
from torchkeeper.placing import kubernetes
from torchkeeper.placing.kubernetes import Wanted

SCHEMA = json.loads((DATA / "kubernetes/job-1.37.json").read_text())
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "object": (dict,), "array": (list,), "null": (type(None),),
}  # fmt: skip
KNOWN = {"$id", "$schema", "type", "properties", "required", "additionalProperties", "items",
         "enum", "oneOf", "$ref", "format"}  # fmt: skip


def faults(value: object, schema: Mapping[str, Any], where: str = "") -> list[str]:
    """What of a value does not fit."""
    assert schema.keys() <= KNOWN, schema.keys() - KNOWN
    if "$ref" in schema:
        return faults(value, SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]], where)
    if "oneOf" in schema:
        fit = [one for one in schema["oneOf"] if not faults(value, one)]
        return [] if len(fit) == 1 else [f"{where} fits {len(fit)} of oneOf"]
    names = schema.get("type", [])
    kinds = [
        kind for name in ([names] if isinstance(names, str) else names) for kind in TYPES[name]
    ]
    if kinds and (type(value) not in kinds):
        return [f"{where} is a {type(value).__name__}"]
    found = [] if value in schema.get("enum", [value]) else [f"{where} is {value}"]
    if isinstance(value, dict):
        known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [
            f"{where}.{name} is missing" for name in schema.get("required", []) if name not in value
        ]
        for name, one in value.items():
            if name in known or isinstance(more, dict):
                found += faults(one, known.get(name, more), f"{where}.{name}")
            elif more is False:
                found.append(f"{where}.{name} is unknown")
    if isinstance(value, list) and "items" in schema:
        found += [
            x for n, one in enumerate(value) for x in faults(one, schema["items"], f"{where}[{n}]")
        ]
    return found


RECIPE = """name = "scale"
[triton]
kernel = "kernels.py:scale"
signature = { x = "*fp32", n = "i32" }
constants = { BLOCK = 64 }
targets = ["cuda:80", "cuda:90", "hip:gfx942"]
"""
KERNEL = """import triton
import triton.language as tl


@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
"""
WANTED = Wanted("registry.example.org/serve:1", "pvc:bundles/serve", ["cpu", "nvidia"])


@pytest.fixture
def recipes(tmp_path: Path) -> list[RecipeFile]:
    folder = tmp_path / "recipes"
    (folder / "below").mkdir(parents=True)
    (folder / "scale.toml").write_text(RECIPE)
    (folder / "kernels.py").write_text(KERNEL)
    (folder / "below/more.py").write_bytes(b"# \xff\n")
    (folder / "secret.env").write_text("KEY=1")
    return [recipe_files.read(str(folder / "scale.toml"))]


def parts(found: Sequence[Mapping[str, Any]]) -> tuple[Any, Any]:
    """The pod and the container of the last Job."""
    pod = found[-1]["spec"]["template"]["spec"]
    return pod, pod["containers"][0]


DEVICES = [
    "cpu", "cpu:arm64", "nvidia", "nvidia:NVIDIA-H100-80GB-HBM3", "amd:AMD_Instinct_MI300X",
    "nvidia:cloud.google.com/gke-accelerator=nvidia-l4",
]  # fmt: skip


@pytest.mark.parametrize("into", ["pvc:bundles", "pvc:bundles/a/b", "redis://cache:6379/1"])
@pytest.mark.parametrize("packed", [True, False])
def test_manifests_are_what_kubernetes_takes(
    recipes: list[RecipeFile], into: str, packed: bool
) -> None:
    names, files = kubernetes.packed(recipes) if packed else (["/app/serve.toml"], {})
    secret = "" if into.startswith("pvc") else "redis"
    wanted = Wanted("a:1", into, DEVICES, 8, True, secret)
    found = kubernetes.manifests(wanted, names, files)
    assert [one["kind"] for one in found] == ["ConfigMap"] * packed + ["Job"] * len(DEVICES)
    for one in found:
        assert faults(one, SCHEMA[one["kind"]]) == []
        assert len(one["metadata"]["name"]) <= 63
    assert len({one["metadata"]["name"] for one in found}) == len(found)
    assert list(yaml.safe_load_all(kubernetes.text_of(found))) == found


@pytest.mark.slow
def test_kubernetes_own_schemas_say_the_same(recipes: list[RecipeFile]) -> None:
    """By the package that has them all, where it is installed: kubernetes-validate."""
    pytest.importorskip("kubernetes_validate")
    validate = importlib.import_module("kubernetes_validate").validate
    for one in kubernetes.manifests(WANTED, *kubernetes.packed(recipes)):
        validate(one, "1.37", strict=True)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.backoffLimit", "2"),
        ("spec.template.spec.restartPolicy", 1),
        ("spec.template.spec.nodeSelectors", {}),
        ("spec.template.spec.containers", {}),
        ("spec.podFailurePolicy.rules", [{"onExitCodes": {"operator": "In", "values": [1]}}]),
        ("spec.template", None),
        ("apiVersion", "batch/v2"),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: str, value: object) -> None:
    job: Any = kubernetes.manifests(WANTED, ["/a.toml"])[0]
    at, (*above, last) = job, path.split(".")
    for name in above:
        at = at[name]
    at[last] = value
    if value is None:
        del at[last]
    assert faults(job, SCHEMA["Job"])


def test_each_device_has_its_nodes() -> None:
    found = kubernetes.manifests(Wanted("a:1", "pvc:b", DEVICES), ["/a.toml"])
    told = [parts([one]) for one in found]
    assert [pod.get("nodeSelector") for pod, _ in told] == [
        None,
        {"kubernetes.io/arch": "arm64"},
        None,
        {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
        {"amd.com/gpu.product-name": "AMD_Instinct_MI300X"},
        {"cloud.google.com/gke-accelerator": "nvidia-l4"},
    ]
    limits = [set(one["resources"]["limits"]) - {"memory"} for _, one in told]
    assert limits == [set(), set(), *[{"nvidia.com/gpu"}] * 2, {"amd.com/gpu"}, {"nvidia.com/gpu"}]
    bundles = [one["command"][one["command"].index("--bundle") + 1] for _, one in told]
    assert len(set(bundles)) == len(DEVICES), "no two write to one"


def test_a_job_may_do_no_more_than_it_needs() -> None:
    """Pod Security Standards: restricted."""
    found = kubernetes.manifests(WANTED, ["/a.toml"])
    pod, container = parts(found)
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not pod["automountServiceAccountToken"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert {"cpu", "memory"} == set(container["resources"]["requests"])
    spec = found[-1]["spec"]
    assert (spec["backoffLimit"], spec["ttlSecondsAfterFinished"]) == (2, 86_400)


def test_only_what_recipes_need_is_in_it_and_all_of_that(recipes: list[RecipeFile]) -> None:
    names, files = kubernetes.packed(recipes)
    assert names == ["/recipes/0/scale.toml"]
    config, job = kubernetes.manifests(Wanted("a:1", "pvc:b", ["cpu"]), names, files)
    held = {one: text.encode() for one, text in config["data"].items()}
    held |= {one: base64.b64decode(text) for one, text in config["binaryData"].items()}
    (source,) = [one["configMap"] for one in parts([job])[0]["volumes"] if "configMap" in one]
    assert source["name"] == config["metadata"]["name"]
    mounted = {one["path"]: held[one["key"]] for one in source["items"]}
    assert mounted == {
        "0/scale.toml": RECIPE.encode(),
        "0/kernels.py": KERNEL.encode(),
        "0/below/more.py": b"# \xff\n",
    }


def test_the_same_has_the_same_names_and_another_has_others(recipes: list[RecipeFile]) -> None:
    def named(wanted: Wanted) -> list[str]:
        found = kubernetes.manifests(wanted, *kubernetes.packed(recipes))
        return [one["metadata"]["name"] for one in found]

    before = named(WANTED)
    assert named(WANTED) == before
    more = named(Wanted(WANTED.image, WANTED.into, ["nvidia", "cpu", "amd"]))
    assert set(before) < set(more), "another device changes nothing of the others"
    assert not set(before[1:]) & set(named(Wanted("serve:2", WANTED.into, WANTED.devices)))
    Path(recipes[0].path).with_name("kernels.py").write_text("# nothing\n")
    assert not set(before) & set(named(WANTED))


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted("", "pvc:b", ["cpu"]),
        Wanted("a b", "pvc:b", ["cpu"]),
        Wanted("a\nb", "pvc:b", ["cpu"]),
        Wanted("a", "/home/me/cache", ["cpu"]),
        Wanted("a", "ssh://host/cache", ["cpu"]),
        Wanted("a", "pvc:", ["cpu"]),
        Wanted("a", "pvc:B_", ["cpu"]),
        Wanted("a", "pvc:b/../../etc", ["cpu"]),
        Wanted("a", "redis://:secret@host", ["cpu"]),
        Wanted("a", "pvc:b", []),
        Wanted("a", "pvc:b", ["tpu"]),
        Wanted("a", "pvc:b", ["nvidia:a b"]),
        Wanted("a", "pvc:b", ["nvidia:=x"]),
        Wanted("a", "pvc:b", ["nvidia:../x=y"]),
        Wanted("a", "redis://h", ["cpu"], secret="a b"),
    ],
)
def test_what_no_cluster_takes_is_refused(wanted: Wanted) -> None:
    with pytest.raises(UserError) as raised:
        kubernetes.manifests(wanted, ["/a.toml"])
    assert "secret@" not in str(raised.value)


def test_recipes_that_are_too_large_are_refused(recipes: list[RecipeFile]) -> None:
    Path(recipes[0].path).with_name("large.py").write_text("#" * (1 << 20))
    with pytest.raises(UserError) as raised:
        kubernetes.packed(recipes)
    assert raised.value.code == "recipe-folder-large"


@pytest.mark.slow
def test_what_the_container_runs_leaves_the_bundle(
    recipes: list[RecipeFile], tmp_path: Path
) -> None:
    """Its command, as a process of this machine, with its mounts as folders of it."""
    config, job = kubernetes.manifests(Wanted("a:1", "pvc:b", ["cpu"]), *kubernetes.packed(recipes))
    pod, container = parts([job])
    roots = {
        one["mountPath"]: tmp_path / "mounts" / one["name"] for one in container["volumeMounts"]
    }
    for folder in roots.values():
        folder.mkdir(parents=True)
    (source,) = [one["configMap"] for one in pod["volumes"] if "configMap" in one]
    held = config["data"]
    for one in source["items"]:
        if one["key"] in held:
            path = roots["/recipes"] / one["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(held[one["key"]])

    def placed(word: str) -> str:
        for mount, folder in roots.items():
            if word.startswith(f"{mount}/"):
                return str(folder) + word[len(mount) :]
        return word

    _, *words = map(placed, container["command"])
    ran = subprocess.run(
        [sys.executable, "-m", "torchkeeper", *words, "--env", sys.executable],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    (bundle,) = roots["/bundles"].iterdir()
    assert bundle.name == f"{job['metadata']['name']}.torchcache"
    assert bundle.stat().st_size
