"""`python -m rlassay` is the command line."""

import os
import sys

from rlassay.runtime import leave_on_signals

leave_on_signals()
if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
    del sys.path[0]  # as with the installed command, modules do not come from the working folder
from rlassay.cli import main  # noqa: E402

main()
