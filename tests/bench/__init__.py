"""Speed, each figure beside a reference measured in the same run: ``python -m tests.bench``."""
