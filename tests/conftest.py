"""Every test process computes on one thread, so that equal seeds mean equal bits."""

from rlassay import runtime

runtime.use_threads(1)
