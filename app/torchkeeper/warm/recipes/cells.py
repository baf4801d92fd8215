"""A cell: one thing to compile, in one way, which is warmed, verified and told of by itself.

A recipe is a source (what to compile) and a matrix (in which ways); its cells are all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchkeeper.warm.recipes.tables import Item

#: What can be compiled: the names of the modules of ``warm.sources``, as a recipe says them.
SOURCES = ("builtin", "callable", "script", "exported", "eager", "triton")
#: Those that PyTorch's own process state is of no matter to: they need no torch in the job.
WITHOUT_TORCH = frozenset({"script", "triton"})
#: What an item names Python by, as ``module:name`` or ``file.py:name``: it has at most one of them.
REFERENCES = ("example", "factory", "function", "kernel")


def _nothing() -> Item:
    return {}


@dataclass(frozen=True)
class Cell:
    """One thing to compile.

    index: among all cells of a request. recipe: its recipe's name, and name: its own, unique in
    the recipe; both for people. source: one of SOURCES. item: what it is, as the recipe says it,
    checked, by its source. folder: where the recipe lies (an absolute path): what it names is
    relative to that, and modules are looked for there; None for the built-in one.
    device, dtype, mode: None for the default of each. sizes: the names that shapes use.
    dynamic: as torch.compile takes it. backward: whether gradients are computed, too. grad:
    False for calls under torch.no_grad() or inference_mode(). training: whether a model is in
    training, None where that is as ``backward`` has it. autocast: the dtype of a torch.autocast
    around the calls. precision: of torch.set_float32_matmul_precision. options:
    Inductor's. environment: variables to set. threads, portable: as ``supervise.environment``.
    seconds, memory: what it may take, in seconds and bytes; None without a limit.
    """

    index: int
    recipe: str
    name: str
    source: str
    item: Item = field(default_factory=_nothing)
    folder: str | None = None
    device: str | None = None
    dtype: str | None = None
    mode: str | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    dynamic: bool | None = None
    fullgraph: bool = False
    backward: bool = False
    grad: bool = True
    training: bool | None = None
    autocast: str | None = None
    precision: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    threads: int | None = None
    portable: bool = False
    seconds: float | None = None
    memory: int | None = None

    def to_json(self) -> Mapping[str, object]:
        """The cell as one JSON object, for the process that compiles it."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Cell:
        """What ``to_json`` made, which our own engine sends; other fields are passed over."""
        return cls(**{one.name: value[one.name] for one in fields(cls) if one.name in value})
