"""What callable.toml compiles: put your own model here, or have the recipe name where it is."""

from torch import nn


class Small(nn.Module):
    """Two layers; width: of both."""

    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, width)
        self.down = nn.Linear(width, width)

    def forward(self, x):
        return self.down(self.up(x).relu())
