"""Torch-TensorRT: DiskEngineCache and BaseEngineCache of torch_tensorrt/dynamo/_engine_cache.py and
the default of _defaults.py in 2.13.0. An engine is a pickle in a folder that three digests name.
It removes whole folders when it has no more room, whatever is in them.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import Cache, Form

CACHE = Cache(
    "Torch-TensorRT",
    ("{tmp}/torch_tensorrt_engine_cache",),
    r"torch_tensorrt_engine_cache",
    "torch_tensorrt_engine_cache",
    (
        Form(r"(?P<key>[a-z2-7]{153})", r"blob\.bin",
             head=r"\x80[\x04\x05]\x95.{8}\}\x94\(\x8c\x11serialized_engine"),
    ),
    r"/libtorchtrt",
)  # fmt: skip
