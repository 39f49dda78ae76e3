"""Files of other kinds: what they are, and how to turn them into something that is read."""

from __future__ import annotations

import shlex
from pathlib import Path

from rlassay.formats import npy

# A pickle is a list of dicts, one a trajectory, or one such dict; the names are those people use.
PICKLE = (
    "python -c \"import pickle,sys,numpy as np; d=pickle.load(open(sys.argv[1],'rb'),encoding='latin1'); "
    "d=d if isinstance(d,list) else [d]; g=lambda t,*n: next(np.asarray(t[k]) for k in n if k in t); "
    "a=[g(t,'actions','action','acts') for t in d]; n=[len(x) for x in a]; "
    "np.savez('plain.npz', observations=np.concatenate([g(t,'observations','observation','obs')[:m] for t,m in zip(d,n)]), "
    "actions=np.concatenate(a), rewards=np.concatenate([g(t,'rewards','reward','rews') for t in d]), "
    'terminals=np.zeros(sum(n)), timeouts=np.concatenate([np.arange(m)==m-1 for m in n]))" %s'
)


def foreign(path: Path, head: bytes) -> tuple[str | None, str | None]:
    """What a file is that is not read, and the remedy."""
    place = shlex.quote(str(path))
    if head.startswith(npy.SIGNATURE):
        return None, "this is one array; name the folder that holds all .npy files"
    if head.startswith(b"ARROW1"):
        return None, "this is one table; name the dataset's folder"
    if head[:1] == b"\x80" or head[:3] in (b"(lp", b"(dp", b"cnu"):
        what = f"{path} is a pickle, which can run code and is never loaded"
        return what, f"if you trust it, write plain.npz and read that: {PICKLE % place}"
    return None, None
