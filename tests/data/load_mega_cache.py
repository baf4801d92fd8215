"""Has stock torch load a mega-cache; prints how many artifacts of each type it took."""

import json
import sys

import torch

torch.compiler.config.job_id = "my/job:1"
with open(sys.argv[1], "rb") as file:
    info = torch.compiler.load_cache_artifacts(file.read())
print(json.dumps({kind: len(keys) for kind, keys in info.artifacts.items()}))
