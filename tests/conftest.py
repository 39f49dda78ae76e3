"""Every test process computes on one thread, so that equal seeds mean equal bits."""

import signal

from rlassay import runtime

runtime.use_threads(1)

# A shell that starts a job in the background lets it ignore Ctrl-C, and children inherit that; tests send Ctrl-C to theirs.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
