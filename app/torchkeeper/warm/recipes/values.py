"""The inputs that a recipe describes: numbers, texts, and tensors by shape and dtype."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping

from torchkeeper.warm.recipes.faults import DEEPEST, Faults, Where, shown

#: torch's dtypes that a tensor can be made of (torch/_C/_VariableFunctions, torch.dtype).
FLOATS = (
    "float32", "bfloat16", "float16", "float64", "float8_e4m3fn", "float8_e5m2",
    "float8_e4m3fnuz", "float8_e5m2fnuz", "complex64", "complex128",
)  # fmt: skip
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool")
DTYPES = (*FLOATS, *INTEGERS)
LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
#: What a tensor is filled with.
FILLS = ("rand", "randn", "zeros", "ones", "randint")
DEVICE = re.compile(r"[a-z][a-z0-9_]{0,30}(:[0-9]{1,3})?")
#: A size, or a constant: what a shape can name.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")
#: Dimensions and elements of a tensor at most: 64 Gi elements fit no device of today.
MOST_DIMENSIONS, MOST_ELEMENTS = 64, 2**36

_TENSOR = ("shape", "dtype", "device", "fill", "low", "high", "requires_grad")
#: What a table says an input is, by the key that decides.
_FORMS = ("shape", "list", "tuple", "none", "size", "layout")


def look(
    faults: Faults, value: object, where: Where, sizes: Collection[str], deep: int = 0
) -> None:
    """Note what is wrong with an input. sizes: the names that a shape can use."""
    if not isinstance(value, dict):
        if isinstance(value, list):
            faults.add(where, "input-list", shown(value))
        else:
            faults.plain(value, where)
        return
    if not faults.table(value, where):
        return
    if deep > DEEPEST:
        faults.add(where, "shallower", most=DEEPEST)
        return
    # A dtype or a device is one alone.
    forms = (*_FORMS, "dtype", "device") if len(value) == 1 else _FORMS
    form = next((name for name in forms if name in value), None)
    known = (*_TENSOR, *_FORMS[1:]) if form is None else (form,)
    if not faults.keys(value, _TENSOR if form == "shape" else known, where):
        return
    if form == "shape":
        _tensor(faults, value, where, sizes)
    elif form is None:
        faults.add((*where, "shape") if value else where, "input-shape" if value else "input-form")
    elif form in ("list", "tuple"):
        inner = value[form]
        if faults.items(inner, (*where, form)):
            for at, one in enumerate(inner):
                look(faults, one, (*where, form, at), sizes, deep + 1)
    elif form == "none":
        if value[form] is not True:
            faults.add((*where, form), "true", shown(value[form]))
    elif form == "size":
        _size(faults, value[form], (*where, form), sizes)
    elif form == "layout":
        faults.one_of(value[form], LAYOUTS, (*where, form), "layout")
    elif form == "dtype":
        faults.one_of(value[form], DTYPES, (*where, form), "dtype")
    else:
        faults.matching(value[form], DEVICE, (*where, form), "device")


def _tensor(
    faults: Faults, value: Mapping[str, object], where: Where, sizes: Collection[str]
) -> None:
    shape, fill, dtype = value["shape"], value.get("fill"), value.get("dtype")
    if faults.items(shape, (*where, "shape")):
        if len(shape) > MOST_DIMENSIONS:
            faults.add((*where, "shape"), "fewer", most=MOST_DIMENSIONS)
        for at, one in enumerate(shape):
            if isinstance(one, str):
                _size(faults, one, (*where, "shape", at), sizes)
            else:
                faults.whole(one, (*where, "shape", at), 0, MOST_ELEMENTS)
    if dtype is not None:
        faults.one_of(dtype, DTYPES, (*where, "dtype"), "dtype")
    if "device" in value:
        faults.matching(value["device"], DEVICE, (*where, "device"), "device")
    if fill is not None:
        faults.one_of(fill, FILLS, (*where, "fill"), "fill")
        if fill in ("rand", "randn") and dtype in INTEGERS:
            faults.add((*where, "fill"), "fill-integers", shown(fill), dtype=str(dtype))
    if "requires_grad" in value:
        faults.switch(value["requires_grad"], (*where, "requires_grad"))
        if value["requires_grad"] is True and dtype in INTEGERS:
            faults.add((*where, "requires_grad"), "grad-integers", "true", dtype=str(dtype))
    bounds = [name for name in ("low", "high") if name in value]
    right = [faults.number(value[name], (*where, name)) for name in bounds]
    if bounds and fill is not None and fill not in ("rand", "randint"):
        faults.add((*where, bounds[0]), "no-bounds", shown(fill), at_key=True)
        return
    low, high = value.get("low"), value.get("high")
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return
    if all(right) and low >= high:
        faults.add((*where, "high"), "above-low", shown(high), low=str(low))


def _size(faults: Faults, value: object, where: Where, sizes: Collection[str]) -> None:
    if isinstance(value, str) and not sizes:
        faults.add(where, "no-sizes", shown(value))
    else:
        faults.one_of(value, sizes, where, "size")


def used(value: object) -> Iterator[str]:
    """What of a matrix an input uses: names of sizes, and "dtype" where it says none itself."""
    if not isinstance(value, dict):
        return
    if "shape" in value:
        if "dtype" not in value:
            yield "dtype"
        yield from (one for one in value["shape"] if isinstance(one, str))
    elif "size" in value:
        yield value["size"]
    else:
        for one in value.get("list", ()) or value.get("tuple", ()):
            yield from used(one)


def resolved(value: object, sizes: Mapping[str, int], dtype: str | None) -> object:
    """An input that ``look`` found nothing wrong with: names of sizes replaced, a tensor's dtype
    and what it is filled with written out. Without a dtype a tensor has that of the variant, or
    float32; whole numbers are 0 or 1 unless it says how large, so that they can index anything.
    """
    if not isinstance(value, dict):
        return value
    if "size" in value:
        return sizes[value["size"]]
    for form in ("list", "tuple"):
        if form in value:
            return {form: [resolved(one, sizes, dtype) for one in value[form]]}
    if "shape" not in value:
        return dict(value)
    whole = {**value, "shape": [sizes.get(one, one) for one in value["shape"]]}
    whole["dtype"] = value.get("dtype") or dtype or "float32"
    integers = whole["dtype"] in INTEGERS
    whole.setdefault("fill", "randint" if integers else "rand")
    if integers and whole["fill"] in ("rand", "randn"):
        whole["fill"] = "randint"
    if whole["fill"] == "randint":
        whole["low"] = math.floor(value.get("low", 0))
        whole["high"] = max(math.ceil(value.get("high", whole["low"] + 2)), whole["low"] + 1)
    return whole


def elements(value: object) -> int:
    """Of all tensors in an input that was ``resolved`` together."""
    if not isinstance(value, dict):
        return 0
    if "shape" in value:
        return math.prod(value["shape"])
    return sum(map(elements, value.get("list", ()) or value.get("tuple", ())))
