"""Made-up recipes for the pictures; what is wrong with a text is found as always."""

from __future__ import annotations

import time

from torchkeeper.client.kept.verified import Warmed
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.pages.recipes.known import BUILTIN, Known, Listed, Made, looked

FOLDER = "/home/ada/llama/recipes"
GOOD = """\
# What the server compiles: one graph for each batch that it makes.
name = "decode"
about = "The decoder, one token at a time"

[[callable]]
factory = "models.llm:Decoder"
args = { hidden = 4096, heads = 32 }
inputs = [
    { shape = ["batch", 1, 4096], dtype = "bfloat16" },
    { shape = ["batch", "cached", 4096], dtype = "bfloat16" },
]

[matrix]
batch = [1, 8, 32]
cached = [512, 2048]
mode = ["default", "max-autotune"]

[compile]
fullgraph = true
dynamic = false

[limits]
seconds = 600
memory = "24 GiB"
"""
_RESNET = """\
# One graph for each size of image that the service gets.
name = "resnet"
about = "ResNet-50, as the image service runs it"

[[callable]]
factory = "models.vision:ResNet"
args = { layers = 50 }
inputs = [
    { shape = ["batch", 3, "side", "side"], dtype = "float16" },
]

[matrix]
batch = [1, 16]
side = [224, 384]
mode = ["default", "max-autotune"]

[compile]
fullgraph = true

[limits]
seconds = 600
memory = "24 GiB"
"""
BAD = (
    _RESNET.replace('mode = ["default", "max-autotune"]', 'mode = ["default", "max-autotuned"]')
    .replace("fullgraph = true", "fulgraph = true")
    .replace('memory = "24 GiB"', 'memory = "24 gigs"')
)
PATHS = {
    f"{FOLDER}/decode.toml": GOOD,
    f"{FOLDER}/prefill.toml": GOOD.replace("decode", "prefill")
    .replace("one token at a time", "all of a prompt at once")
    .replace("[1, 8, 32]", "[1]"),
    "/home/ada/vision/resnet.toml": BAD,
}


def _known(path: str, name: str, warmed: Warmed | None = None) -> Known:
    found = looked(PATHS[path], path)
    said = (line for line in PATHS[path].splitlines() if line.startswith("about"))
    about = next(said).partition(" = ")[2].strip('"')
    variants = len(found.variants)
    return Known(path, name, about, found.source, variants, found.faults, None, warmed)


def listed(*, empty: bool = False) -> list[Listed]:
    """A folder of two, one that is wrong, one that is gone, and the built-in one."""
    now, place = time.time(), "/tmp/torchinductor_ada"
    first = Known(BUILTIN, BUILTIN, source=BUILTIN, variants=1,
                  warmed=None if empty else Warmed(now - 90_000, place, 1, 0))  # fmt: skip
    if empty:
        return [Listed(BUILTIN, False, [first])]
    decode, prefill, resnet = PATHS
    gone = "/home/ada/old/recipes"
    return [
        Listed(BUILTIN, False, [first]),
        Listed(FOLDER, True, [_known(decode, "decode", Warmed(now - 5_400, place, 12, 0)),
                              _known(prefill, "prefill", Warmed(now - 3_000, place, 2, 2))]),
        Listed("/home/ada/vision/resnet.toml", False, [_known(resnet, "resnet")]),
        Listed(gone, False, [], user_error("recipe-unknown", {"recipe": gone})),
    ]  # fmt: skip


def made(names: list[str]) -> Made:
    """What recipes make."""
    variants: list[tuple[str, str, str]] = []
    recipes = 0
    for name in names:
        texts = {p: t for p, t in PATHS.items() if p == name or p.startswith(f"{name}/")}
        if name == BUILTIN:
            variants.append((BUILTIN, BUILTIN, BUILTIN))
            recipes += 1
        for path, text in texts.items():
            found = looked(text, path)
            stem = path.rpartition("/")[2].removesuffix(".toml")
            variants += [(stem, variant, found.source) for variant in found.variants]
            recipes += 1
    sent = [name for name in names if name != BUILTIN]
    return Made(variants, recipes, [{"name": name, "folder": "/", "data": {}} for name in sent])
