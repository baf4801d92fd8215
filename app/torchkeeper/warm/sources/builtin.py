"""The built-in recipe: an op, an MLP trained at two batch sizes, an attention block.

It makes 7 FX graphs and 4 AOTAutograd entries: one graph for the op, which needs no gradient;
forward and backward of the MLP for a fixed batch size and again for any batch size, which the
second one asks for; forward and backward of the attention block.
"""

from __future__ import annotations

from typing import Any

from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.sources import Step, Work


def make(_: Variant, device: str, __: Any) -> Work:
    """The steps on ``device``. Nothing is compiled until one is run."""
    import torch  # noqa: TID251
    from torch import nn  # noqa: TID251

    class MLP(nn.Module):  # type: ignore[misc]  # torch is not there when types are checked
        def __init__(self) -> None:
            super().__init__()
            self.up = nn.Linear(64, 128)
            self.down = nn.Linear(128, 64)
            self.norm = nn.LayerNorm(64)

        def forward(self, x: Any) -> Any:
            return self.norm(self.down(nn.functional.gelu(self.up(x))) + x)

    @torch.compile  # type: ignore[untyped-decorator]
    def sin_matmul(x: Any, y: Any) -> Any:
        return x.sin() @ y

    torch.manual_seed(0)
    mlp = torch.compile(MLP().to(device))
    # Dropout would put random numbers into the graph for nothing.
    layer = nn.TransformerEncoderLayer(64, 4, batch_first=True, dropout=0.0)
    attention = torch.compile(layer.to(device))

    def train(model: Any, *shape: int) -> None:
        model(torch.rand(*shape, device=device)).sum().backward()

    op = [torch.rand(100, 100, device=device) for _ in range(2)]
    steps = [
        Step("op", lambda: sin_matmul(*op)),
        Step("MLP, batch 8", lambda: train(mlp, 8, 64)),
        Step("MLP, batch 16", lambda: train(mlp, 16, 64)),
        Step("attention block", lambda: train(attention, 2, 16, 64)),
    ]
    return Work(steps)
