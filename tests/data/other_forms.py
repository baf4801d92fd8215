"""Has stock torch write what programs keep besides caches, into the folder that is named: a package
of AOTInductor, one of torch.export, and what aot_compile saves of a function.
"""

import sys

import torch

torch.manual_seed(0)


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x).sin()


def wave(x):
    return (x @ x).cos()


folder = sys.argv[1]
program = torch.export.export(Small().eval(), (torch.rand(2, 4),))
torch.export.save(program, f"{folder}/exported.pt2")
torch._inductor.aoti_compile_and_package(program, package_path=f"{folder}/model.pt2")
ahead = torch.compile(wave, fullgraph=True).aot_compile(((torch.rand(4, 4),), {}))
ahead.save_compiled_function(f"{folder}/compiled")
