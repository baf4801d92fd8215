"""Writes what exported.toml compiles."""

import os

import torch
from torch import nn

model = nn.Sequential(nn.Linear(16, 16), nn.ReLU())
program = torch.export.export(model, (torch.rand(4, 16),))
torch.export.save(program, os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.pt2"))
