"""``python -m tests.shots DIR [--scene NAME]… [--scale 1|2]``"""

from __future__ import annotations

import argparse
import sys

from tests.shots.run import SCENES, run


def main() -> int:
    """Take the pictures that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.shots", description=__doc__)
    parser.add_argument("dir", metavar="DIR", help="folder for the pictures")
    parser.add_argument(
        "--scene", action="append", choices=SCENES, metavar="NAME",
        help="this state only, for example table or export; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--scale", type=int, choices=(1, 2), help="at this scale only, instead of at 1 and 2"
    )
    args = parser.parse_args()
    return run(args.dir, args.scale, args.scene)


if __name__ == "__main__":
    sys.exit(main())
