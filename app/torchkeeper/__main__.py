"""``torchkeeper``: the command line, or the window when no command is given."""

from __future__ import annotations

import sys

from torchkeeper.artifacts.version import VERSION


def main() -> int:
    """Run the program; returns its exit code."""
    try:
        if sys.argv[1:] == ["--version"] and sys.stdout:  # often asked, and it needs nothing else
            sys.stdout.write(f"torchkeeper {VERSION}\n")
            return 0
        from torchkeeper.cli.main import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # so early that nothing has begun
        sys.stderr.write("torchkeeper: Cancelled.\n")
        return 130
    except OSError as e:  # of the version: of its own “run” tells itself
        sys.stderr.write(f"torchkeeper: The output cannot be written.\n  {e.strerror}.\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
