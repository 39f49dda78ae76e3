"""Examples of the public names, as doctest; `tests/test_docs.py` runs them and docs/api.md shows them."""

from __future__ import annotations

EXAMPLES = {
    "load": """
>>> import rlassay
>>> from rlassay import samples
>>> data = rlassay.load(samples.paths()[1])
>>> len(data), data.episode_count, data.env_id
(18638, 42, 'Hopper-v5')
""",
    "save": """
>>> import tempfile, rlassay
>>> from pathlib import Path
>>> from rlassay import samples
>>> data = rlassay.load(samples.paths()[1])
>>> with tempfile.TemporaryDirectory() as folder:
...     notes = rlassay.save(data, Path(folder) / "medium.npz")
...     rlassay.load(Path(folder) / "medium.npz").fingerprint == data.fingerprint
True
""",
    "Dataset": """
>>> import numpy as np, rlassay
>>> data = rlassay.Dataset.from_columns(
...     observations=np.zeros((4, 2)),
...     actions=np.zeros((4, 1)),
...     rewards=np.array([1.0, 2.0, 3.0, 4.0]),
...     terminals=np.array([False, True, False, True]),
... )
>>> data.episode_returns.tolist()
[3.0, 7.0]
>>> list(data.to_frame()["end"])
['terminal', 'terminal']
""",
    "inspect_dataset": """
>>> import rlassay
>>> from rlassay import samples
>>> rlassay.inspect_dataset(samples.paths()[1]).status
'pass'
""",
    "score": """
>>> import rlassay
>>> from rlassay import samples
>>> card = rlassay.score(samples.paths()[1], scores=["return", "return_top10"])
>>> round(card["return"].value), [round(bound) for bound in card["return"].interval]
(1306, [1251, 1361])
>>> card["return_top10"].direction
'higher'
""",
    "compare": """
>>> import rlassay
>>> from rlassay import samples
>>> comparison = rlassay.compare(samples.paths(), scores=["return"])
>>> first = comparison.ranking["return"][0]
>>> first.source.rpartition("/")[2], first.rank, first.tied_with
('hopper-expert-v5.hdf5', 1, [])
""",
    "curate": """
>>> import rlassay
>>> from rlassay import samples
>>> better = rlassay.curate(samples.paths()[1], keep=0.5, by="return")
>>> better.episode_count, bool(better.episode_returns.min() > 1200)
(21, True)
""",
    "register_score": """
>>> import numpy as np, rlassay
>>> from rlassay import samples
>>> rlassay.register_score(
...     "longest",
...     lambda episode_lengths: np.asarray(float(episode_lengths.max())),
...     direction="higher",
...     unit="steps",
...     needs=("episode_lengths",),
...     description="length of the longest episode",
...     per="dataset",
... )
>>> rlassay.score(samples.paths()[1], scores=["longest"])["longest"].value
609.0
""",
    "RlassayError": """
>>> import rlassay
>>> try:
...     rlassay.load("absent.hdf5")
... except rlassay.RlassayError as error:
...     print(error.exit_code)
2
""",
}
