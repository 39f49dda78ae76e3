"""Sampling weights from a file: whatever it holds, a mistake is one sentence."""

import io

import numpy as np
import pytest

from probes import walks
from rlassay.agents.weights import probabilities, read_weights
from rlassay.errors import DatasetError

DATA = walks(episodes=3, length=10, dims=(3, 1))


def archive(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def single(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


GOOD = archive(weights=np.arange(30.0))
JUNK = {
    "empty": b"",
    "text": b"weights: 1, 2, 3\n",
    "zip magic alone": b"PK\x03\x04junk",
    "cut": GOOD[:-40],
    "damaged": GOOD.replace(b"descr", b"dxscr"),
    "one array, no archive": single(np.arange(30.0)),
    "no weights": archive(other=np.arange(30.0)),
    "words": archive(weights=np.array(["a"] * 30)),
    "objects": archive(weights=np.array([{}], object)),
    "more than memory": single(np.zeros(1)).replace(b"(1,), ", b"(99999999999999,), "),
}


@pytest.mark.parametrize("name", JUNK)
def test_junk_is_one_sentence(name, tmp_path):
    path = tmp_path / "weights.npz"
    path.write_bytes(JUNK[name])
    with pytest.raises(DatasetError, match="holds no sampling weights.*curate --weights"):
        read_weights(path, DATA)


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(DatasetError, match="holds no sampling weights"):
        read_weights(tmp_path / "no.npz", DATA)


def test_weights_become_probabilities_of_the_rows_that_are_used(tmp_path):
    path = tmp_path / "weights.npz"
    path.write_bytes(GOOD)
    rows = np.array([1, 3, 6])
    found = probabilities(read_weights(path, DATA), len(DATA), rows)
    np.testing.assert_allclose(found, [0.1, 0.3, 0.6])
    path.write_bytes(archive(weights=np.arange(30.0), fingerprint=np.array("another")))
    with pytest.raises(DatasetError, match="another dataset"):
        read_weights(path, DATA)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_what_is_no_probability_is_refused(value):
    weights = np.ones(len(DATA))
    weights[4] = value
    with pytest.raises(DatasetError, match="no probabilities"):
        probabilities(weights, len(DATA), np.arange(len(DATA)))
