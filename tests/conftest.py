"""Every test process computes on one thread, so that equal seeds mean equal bits, and keeps runs in a store of its own."""

import atexit
import os
import shutil
import signal
import tempfile

from rlassay import runtime

runtime.use_threads(1)

# Compiled programs are shared between test runs; cards and runs are not, and never meet those of the user.
runtime.keep_compiled_programs(start=False)
os.environ["RLASSAY_STORE"] = tempfile.mkdtemp(prefix="rlassay-tests-")
atexit.register(shutil.rmtree, os.environ["RLASSAY_STORE"], ignore_errors=True)

# A shell that starts a job in the background lets it ignore Ctrl-C, and children inherit that; tests send Ctrl-C to theirs.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
