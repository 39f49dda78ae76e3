"""Layouts of other projects and plain tables: every transition, flag and border; maps and what they refuse."""

import json
import shlex
import subprocess
import sys

import h5py
import io_more_layouts as more
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_layouts import FLAGGED, TAIL_OPEN, assert_holds, d3rlpy_v1, joined, npy, npz, record
from io_more_layouts import MORE_LAYOUTS, TEXT_LAYOUTS
from test_mutations import Worker
from typer.testing import CliRunner

from rlassay.cli import app
from rlassay.errors import DatasetError, SettingsError
from rlassay.formats import load
from rlassay.formats.mapping import column_map, guessed_map

ALL = MORE_LAYOUTS | TEXT_LAYOUTS
CSV_MAP = "observations=obs_0+obs_1+obs_2,actions=act_*,rewards=r,terminals=end,timeouts=cut,episode=id,step=k"


def codes(data):
    return [note.code for note in data.origin.notes]


@pytest.mark.parametrize("name", ALL)
def test_every_transition_flag_and_border(name, tmp_path):
    write, ends, final_known = ALL[name]
    episodes = record(ends)
    assert_holds(load(write(episodes, tmp_path)), episodes, final_known=final_known)


@pytest.mark.parametrize("name", MORE_LAYOUTS)
def test_every_truncation_is_refused(name, tmp_path):
    write, ends, _ = MORE_LAYOUTS[name]
    path = write(record(ends), tmp_path)
    suffixes = (".arrow", ".parquet")
    files = [path] if path.is_file() else sorted(p for p in path.iterdir() if p.suffix in suffixes)
    content = files[0].read_bytes()
    for share in (0.0, 0.3, 0.7, 0.99):
        files[0].write_bytes(content[: int(share * len(content))])
        with pytest.raises(DatasetError):
            load(path)


def test_damage_never_crashes_or_hangs(tmp_path):
    for name, (write, ends, _) in ALL.items():
        (tmp_path / name).mkdir()
        write(record(ends), tmp_path / name)
    worker = Worker(tmp_path)
    try:
        outcomes = [worker.run(seed) for seed in range(90)]
    finally:
        worker.close()
    assert not [outcome for outcome in outcomes if not outcome.startswith("ok")]
    assert sum("refused" in outcome for outcome in outcomes) > 25


# -- d3rlpy 1 ---------------------------------------------------------------------------------------------------------


def test_d3rlpy_v1_terminals_on_the_last_two_rows(tmp_path):
    episodes = record(FLAGGED)
    path = d3rlpy_v1(episodes, tmp_path)
    with h5py.File(path, "a") as file:
        ends = np.flatnonzero(joined(episodes)["terminals"])
        file["terminals"][ends - 1] = 1.0
    data = load(path)
    assert_holds(data, episodes, final_known=False)
    note = next(note for note in data.origin.notes if note.code == "terminals_inside")
    assert note.rows == tuple(ends - 1)


# -- maps -------------------------------------------------------------------------------------------------------------


def test_map_of_a_csv(tmp_path):
    episodes = record(TAIL_OPEN, dtype="f8")
    data = load(more.csv(episodes, tmp_path), map=CSV_MAP)
    assert_holds(data, episodes, final_known=False)
    assert data.origin.format == "mapped" and data.origin.metadata["container"] == "csv"


def test_pattern_takes_columns_in_natural_order(tmp_path):
    text = CSV_MAP.replace("obs_0+obs_1+obs_2", "obs_*")
    data = load(more.csv(record(TAIL_OPEN), tmp_path), map=text)
    assert data.observation_dim == 12
    np.testing.assert_array_equal(data.observations[0, 3:], np.arange(9.0))


def _hdf5(episodes, folder):
    path = folder / "odd.h5"
    with h5py.File(path, "w") as file:
        for name, column in joined(episodes).items():
            file[f"run/{name}_x"] = column
    return path


def _npz(episodes, folder):
    path = folder / "odd.npz"
    np.savez(path, **{f"{name}_x": column for name, column in joined(episodes).items()})
    return path


def _npy(episodes, folder):
    path = npy(episodes, folder)
    for file in list(path.iterdir()):
        file.rename(path / f"{file.stem}_x.npy")
    return path


def _parquet(episodes, folder):
    path = folder / "odd.parquet"
    pq.write_table(pa.table({f"{k}_x": v.tolist() for k, v in joined(episodes).items()}), path)
    return path


def _json(episodes, folder):
    path = folder / "odd.json"
    columns = {f"{k}_x": v.tolist() for k, v in joined(episodes).items()}
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("write", [_hdf5, _npz, _npy, _parquet, _json])
def test_map_of_every_container(write, tmp_path):
    episodes = record(TAIL_OPEN)
    path = write(episodes, tmp_path)
    prefix = "run/" if write is _hdf5 else ""
    text = ",".join(f"{name}={prefix}{name}_x" for name in joined(episodes))
    with pytest.raises(DatasetError):
        load(path)
    assert_holds(load(path, map=text), episodes, final_known=True)
    saved = tmp_path / "map.toml"
    saved.write_text("".join(f'{name} = "{prefix}{name}_x"\n' for name in joined(episodes)))
    assert_holds(load(path, map=str(saved)), episodes, final_known=True)


def test_the_proposed_command_works_as_printed(tmp_path):
    path = tmp_path / "log of steps.csv"
    rows = ["episode,t,obs_0,obs_1,action,reward,done"]
    rows += [f"{i // 5},{i % 5},{i},0.5,0.25,1,{int(i % 5 == 4)}" for i in range(20)]
    path.write_text("\n".join(rows))
    with pytest.raises(DatasetError, match="try: rlassay inspect") as caught:
        load(path)
    words = shlex.split(str(caught.value).partition("try: ")[2])
    result = CliRunner().invoke(app, words[1:])
    assert words[0] == "rlassay" and result.exit_code in (0, 1), result.output
    assert load(path, map=words[-1]).episode_count == 4


def test_constant_stands_for_a_column(tmp_path):
    path = tmp_path / "bandit.csv"
    path.write_text("x,y,item,click\n0.5,1,3,0\n0.25,2,4,1\n")
    data = load(path, map="observations=x+y,actions=item,rewards=click,terminals=1")
    assert data.episode_count == 2 and data.terminals.all() and data.discrete_actions


@pytest.mark.parametrize(
    ("text", "kind", "match"),
    [
        ("observations=nothing,actions=act_0,terminals=end", DatasetError, "no column nothing"),
        ("observations=obs_0,actions=act_0,reward=r", SettingsError, "unknown role"),
        ("observations=obs_0", SettingsError, "names no actions"),
        ("observations=obs_0,actions=act_0", DatasetError, "nothing tells where"),
        ("observations=obs_0,actions=act_0,terminals=end,dones=cut", DatasetError, "both"),
        ("missing.toml", SettingsError, "cannot be read"),
        ("observations=id,actions=act_0,terminals=end", DatasetError, "numbers"),
    ],
)
def test_maps_that_cannot_be(tmp_path, text, kind, match):
    path = more.csv(record(TAIL_OPEN), tmp_path)
    with pytest.raises(kind, match=match):
        load(path, map=text)


def test_guess():
    assert guessed_map(["obs_0", "obs_1", "action", "reward", "done"]) == (
        "observations=obs_*,actions=action,rewards=reward,dones=done"
    )
    assert guessed_map(["time", "reward"]) is None
    assert column_map(None) is None


# -- rows that are missing, repeated or elsewhere -----------------------------------------------------------------------


def test_missing_steps_split_the_episode(tmp_path):
    path = more.json_lines(record(TAIL_OPEN), tmp_path)
    lines = path.read_text().splitlines()
    kept = [
        x for x in lines if not (json.loads(x)["episode"] == "run-1" and json.loads(x)["step"] == 2)
    ]
    path.write_text("\n".join(kept))
    data = load(path)
    note = next(note for note in data.origin.notes if note.code == "steps_missing")
    assert data.episode_count == 5 and note.rows == (6,)
    assert not data.next_valid[5]


def test_repeated_steps_are_refused(tmp_path):
    path = more.json_lines(record(TAIL_OPEN), tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[0]]))
    with pytest.raises(DatasetError, match="repeat a step"):
        load(path)


def test_a_column_that_one_row_lacks_is_left_out_and_named(tmp_path):
    path = more.json_lines(record(TAIL_OPEN), tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1].pop("rewards" if "rewards" in rows[1] else "reward")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = load(path)
    told = next(note for note in data.origin.notes if note.code == "partial_columns")
    assert data.rewards is None and "reward" in told.message


def test_rlds_with_a_lost_row(tmp_path):
    path = more.rlds(record(FLAGGED), tmp_path)
    table = pq.read_table(path)
    pq.write_table(table.filter(pa.array(np.arange(table.num_rows) != 4)), path)
    with pytest.raises(DatasetError, match="do not meet"):
        load(path)


def test_sparse_parts_are_zero_and_said(tmp_path):
    path = tmp_path / "log.json"
    rows = [
        {
            "mdp_id": "7",
            "sequence_number": n,
            "reward": 1.0,
            "state_features": {"0": n, "1": 0.5},
            "action": {"4": 1.0} if n % 2 else {"5": 1.0},
        }
        for n in range(6)
    ]
    path.write_text("\n".join(json.dumps(row) for row in reversed(rows)))
    data = load(path)
    np.testing.assert_array_equal(data.actions, [[n % 2, 1 - n % 2] for n in range(6)])
    np.testing.assert_array_equal(data.observations[:, 0], np.arange(6))
    assert data.origin.format == "reagent" and "sparse_filled" in codes(data)


# -- refused ----------------------------------------------------------------------------------------------------------


def test_packed_rllib_is_refused(tmp_path):
    path = tmp_path / "packed.json"
    path.write_text(
        json.dumps({"type": "SampleBatch", "obs": "BCJNGGhA" + "A" * 200, "actions": [0]})
    )
    with pytest.raises(DatasetError, match="LZ4 and pickle.*python -c"):
        load(path)


def test_pickle_recipe_works_as_printed(tmp_path):
    import pickle

    episodes = record(FLAGGED)
    listed = [
        {"observations": e.observations[:-1], "actions": e.actions, "rewards": e.rewards}
        for e in episodes
    ]
    path = tmp_path / "expert data.pkl"
    path.write_bytes(pickle.dumps(listed))
    with pytest.raises(DatasetError, match="is a pickle") as caught:
        load(path)
    recipe = "python -c" + str(caught.value).partition("python -c")[2]
    command = recipe.replace("python", shlex.quote(sys.executable), 1)
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    data = load(tmp_path / "plain.npz")
    np.testing.assert_array_equal(data.observations, joined(episodes)["observations"])
    assert data.episode_count == len(episodes)


def test_pointer_of_git_lfs(tmp_path):
    path = tmp_path / "data.npz"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(DatasetError, match="git lfs pull"):
        load(path)


def test_archive_of_something_else(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("data.json", "{}")
    with pytest.raises(DatasetError, match="unpack it first"):
        load(tmp_path / "data.zip")


def test_unity_pictures_are_refused(tmp_path):
    path = more.unity(record(FLAGGED), tmp_path)
    path.write_bytes(path.read_bytes().replace(b"\x0a\x01\x03\x22", b"\x1a\x01\x03\x22"))
    with pytest.raises(DatasetError, match="arrays of shape|observation"):
        load(path)


def test_npz_of_known_names_is_still_plain(tmp_path):
    assert load(npz(record(FLAGGED), tmp_path)).origin.format == "npz"
