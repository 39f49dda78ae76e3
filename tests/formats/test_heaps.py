"""Damaged text heaps are found before libhdf5 walks them."""

import h5py
import pytest

from rlassay.errors import DatasetError
from rlassay.formats.chunks import HEAP, check_heaps


@pytest.fixture
def file_with_text(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        for index in range(200):
            file.create_dataset(f"t{index}", data="word " * index)
    return path


def damage(path, offset, value):
    content = bytearray(path.read_bytes())
    start = content.index(HEAP) + offset
    content[start : start + 8] = value.to_bytes(8, "little")
    path.write_bytes(content)


def test_whole_heaps_pass(file_with_text):
    check_heaps(str(file_with_text))


@pytest.mark.parametrize("size", [0, 15, 2**20, 2**63])
def test_size_of_a_heap(file_with_text, size):
    damage(file_with_text, 8, size)
    with pytest.raises(DatasetError, match="text in"):
        check_heaps(str(file_with_text))


@pytest.mark.parametrize("size", [4_090, 2**40, 2**64 - 8])
def test_size_of_an_object(file_with_text, size):
    damage(file_with_text, 24, size)
    with pytest.raises(DatasetError, match="text in"):
        check_heaps(str(file_with_text))


def test_free_space_that_does_not_move_on(file_with_text):
    damage(file_with_text, 16, 0)  # index 0 marks free space ...
    damage(file_with_text, 24, 0)  # ... of no size, where libhdf5 would stay for ever
    with pytest.raises(DatasetError, match="text in"):
        check_heaps(str(file_with_text))
