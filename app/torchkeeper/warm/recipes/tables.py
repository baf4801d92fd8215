"""The tables of a recipe that nothing is wrong with, as types (``warm.recipes.recipe``)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

#: The source that a recipe names.
Kind = Literal["callable", "script", "exported", "eager", "triton"]


class Settings(TypedDict, total=False):
    """How something is compiled (``items``). options: Inductor's."""

    mode: str
    dynamic: bool
    fullgraph: bool
    backward: bool
    grad: bool
    training: bool
    options: Mapping[str, object]
    device: str
    dtype: str
    autocast: str
    precision: str
    threads: int
    portable: bool


class Called(TypedDict, total=False):
    """args: for a factory or an example. inputs, keywords: what ``values`` describes."""

    args: Mapping[str, object]
    inputs: Sequence[object]
    keywords: Mapping[str, object]
    backward: bool
    grad: bool
    training: bool
    autocast: str


class Item(Called, total=False):
    """One thing to compile; what its source does not take is not there (``items.KEYS``). calls:
    several, one after another. signature: Triton's types, by the names of arguments. targets: GPUs;
    of a variant it is one ``target``, None for the GPU that is there.
    """

    name: str
    compile: Settings
    example: str
    factory: str
    function: str
    calls: Sequence[Called]
    command: Sequence[str]
    folder: str
    file: str
    op: str
    kernel: str
    signature: Mapping[str, str]
    constants: Mapping[str, object]
    num_warps: int | None
    num_stages: int | None
    targets: Sequence[str]
    target: str | None


class Limits(TypedDict, total=False):
    """What a variant may take. memory: bytes, or a text such as "8 GiB"."""

    seconds: float
    memory: int | str


#: The values of each name: whole numbers for sizes, texts for devices and the like.
Matrix = Mapping[str, Sequence[Any]]


class Tables(TypedDict, total=False):
    """A recipe as its file has it, with the items of one source. machine: another one that it was
    recorded on.
    """

    name: str
    about: str
    machine: str
    callable: Item | Sequence[Item]
    script: Item | Sequence[Item]
    exported: Item | Sequence[Item]
    eager: Item | Sequence[Item]
    triton: Item | Sequence[Item]
    matrix: Matrix
    compile: Settings
    environment: Mapping[str, str]
    limits: Limits
