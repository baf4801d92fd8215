"""``torchkeeper``: the command line, or the window when no command is given."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the program; returns its exit code."""
    try:
        from torchkeeper.cli.main import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # so early that nothing has begun
        sys.stderr.write("torchkeeper: Cancelled.\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
