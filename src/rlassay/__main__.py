"""`python -m rlassay` is the command line."""

import os
import sys

from rlassay.runtime import leave_on_signals


def main() -> None:
    """Listen for signals before anything else is imported, then run the command."""
    leave_on_signals()
    if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
        del sys.path[
            0
        ]  # as with the installed command, modules do not come from the working folder
    from rlassay.cli import main as run

    run()


if __name__ == "__main__":
    main()
