"""The command line: ``nearfar`` and ``python -m nearfar``."""

import sys

from . import _nearfar


def main() -> int:
    """Run the command line with the arguments of the process; return its exit code."""
    return _nearfar.run_command(["nearfar", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
