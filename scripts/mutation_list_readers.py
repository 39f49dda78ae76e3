"""Mistakes in the readers of files: each is caught by the tests it names.

A mutation is (file under src/rlassay, text, the mistake in its place, tests that must fail).
"""

from __future__ import annotations

LAYOUTS = "tests/formats/test_layouts.py"
D4RL = "tests/formats/test_d4rl.py"
OTHERS = "tests/formats/test_other_formats.py"
HOSTILE = "tests/formats/test_hostile.py"
HEAPS = "tests/formats/test_heaps.py"
STREAMING = "tests/formats/test_streaming.py"

MUTATIONS_READERS: list[tuple[str, str, str, str]] = [
    (
        "formats/d4rl.py",
        "for name in sorted(numbered, key=int)",
        "for name in sorted(numbered)",
        f"{D4RL}::test_numbered_chunks_are_joined_in_numeric_order",
    ),
    (
        "formats/assemble.py",
        "at_limit = step % limit == limit - 1",
        "at_limit = step % limit == 0",
        f"{D4RL}::test_without_timeouts_episodes_are_cut_at_the_task_limit",
    ),
    (
        "formats/assemble.py",
        "        terminals = terminals & ~at_limit\n",
        "        pass\n",
        f"{OTHERS}::test_aliases_and_merged_dones",
    ),
    (
        "formats/robomimic.py",
        "return sorted(demos, key=lambda name: _number(name) or 0)",
        "return sorted(demos)",
        f"{OTHERS}::test_robomimic_mask_and_order",
    ),
    (
        "formats/robomimic.py",
        ".max() > 1 + 1e-6",
        ".max() > 10",
        f"{OTHERS}::test_robomimic_actions_beyond_the_convention",
    ),
    (
        "formats/hdf5.py",
        "    if not isinstance(link, h5py.HardLink):\n        raise",
        "    if link is None:\n        raise",
        f"{HOSTILE}::test_external_link_is_not_followed",
    ),
    (
        "formats/hdf5.py",
        "size > EXPANSION_LIMIT * stored + FREE_FILL",
        "size < 0",
        f"{HOSTILE}::test_a_shape_beyond_the_stored_bytes_is_measured_by_them",
    ),
    (
        "formats/chunks.py",
        "if not _OBJECT_HEADER <= step <= end - position:",
        "if step < _OBJECT_HEADER:",
        HEAPS,
    ),
    (
        "formats/detect.py",
        "if names & set(ogbench.SIMULATOR_STATE):",
        "if names:",
        f"{OTHERS}::test_archive_that_may_be_either_is_not_guessed",
    ),
    (
        "data/column_checks.py",
        "if not np.array_equal(as_flags, array):",
        "if False:",
        f"{OTHERS}::test_bad_columns_are_named",
    ),
    (
        "formats/spilled.py",
        "first = name not in self._files and name not in self._parts",
        "first = name not in self._files",
        f"{STREAMING}::test_an_episode_of_another_shape_is_refused",
    ),
    (
        "formats/spilled.py",
        "        if name in self._files:\n            self._files[name].add",
        "        if name in self._files and part.ndim == 2:\n            self._files[name].add",
        f"{STREAMING}::test_an_episode_of_another_shape_is_refused",
    ),
    (
        "formats/npy.py",
        "        info = self._members[name]\n        self._check_packing(name, info)\n",
        "        info = self._members[name]\n",
        f"{HOSTILE}::test_archive_member_that_expands_without_end",
    ),
    (
        "formats/guards.py",
        "if number in NO_ROOM:",
        "if False:",
        "tests/test_memory.py::test_only_damage_is_called_damage",
    ),
    (
        "repair/command.py",
        ", like=data.origin.source)",
        ")",
        "tests/faults/test_manners.py::test_private_data_stays_private",
    ),
    (
        "formats/chunks.py",
        "if done.returncode in NO_ROOM:",
        "if False:",
        "tests/formats/test_chunks.py::test_no_room_to_unpack_is_no_damage",
    ),
    (
        "formats/spilled.py",
        "        if to_disk is not None:\n            require_space(to_disk)",
        "        require_space(to_disk or 0)",
        f"{STREAMING}::test_no_temporary_folder_at_all",
    ),
    (
        "scoring/many.py",
        "            store.forget(task)",
        "            pass",
        "tests/scoring/test_many.py::test_a_damaged_or_lost_card_in_the_store_is_made_again",
    ),
    (
        "inspection/values.py",
        "if not stated and data.discrete_actions and np.min(low) < 0:",
        "if False:",
        "tests/test_inspect.py",
    ),
    (
        "runtime.py",
        'ThreadpoolController().limit(limits=1, user_api="blas")',
        'ThreadpoolController().limit(limits=2, user_api="blas")',
        "tests/scoring/test_quick.py::test_products_take_one_thread_whoever_calls",
    ),
]
