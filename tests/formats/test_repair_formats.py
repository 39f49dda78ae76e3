"""The remedy that inspect prints works for every layout that is read, and writes one that is read again."""

import os
import re
import shlex
import subprocess
import sys

import io_layouts
import numpy as np
import pytest
from io_layouts import FLAGGED, record

from rlassay.formats import load
from rlassay.inspection import inspect_source

LAYOUTS = (
    "d4rl",
    "minari",
    "npz",
    "npy",
    "ogbench",
    "d3rlpy_v2",
    "d3rlpy_v1",
    "robomimic",
    "lerobot",
)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_printed_remedy_works_for_every_layout(layout, tmp_path):
    episodes = record(FLAGGED)
    episodes[1].actions[2] = np.nan
    source = getattr(io_layouts, layout)(episodes, tmp_path)
    before = load(source)
    check = inspect_source(source)["finite"]
    assert check.status == "fail"
    (command,) = re.findall(r"`(rlassay [^`]*)`", check.remedy)
    words = shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    out = words[words.index("-o") + 1]
    after = load(out)
    assert inspect_source(out)["finite"].status == "pass"
    whole = np.isfinite(before.actions).all(axis=1)
    assert (~whole).sum() == 1
    for name in ("observations", "actions", "rewards", "terminals"):
        ours, theirs = getattr(after, name), getattr(before, name)
        assert (theirs is None) == (ours is None)
        if theirs is not None:
            assert ours.tobytes() == theirs[whole].tobytes(), name
    assert after.episode_count == before.episode_count + 1
    assert after.origin.metadata["repair"]["fingerprint"] == before.fingerprint
