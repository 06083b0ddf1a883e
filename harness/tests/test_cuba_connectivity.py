"""Random connectivity has the right statistics; files become the matrix they hold, or one clear line."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from event_ops_harness.networks.balanced.connectivity import (
    Connectivity,
    ConnectivityError,
    bernoulli_cells,
    load_connectivity,
    random_connectivity,
)
from event_ops_harness.networks.cuba import CubaParameters

MODEL = CubaParameters()


def dense(connectivity: Connectivity) -> np.ndarray:
    data = np.broadcast_to(connectivity.data, connectivity.indices.shape)
    parts = (data, connectivity.indices, connectivity.indptr)
    return scipy.sparse.csr_array(parts, shape=connectivity.shape).toarray()


def test_random_has_80_inputs_on_average_at_every_size():
    for neurons in (1000, 4000, 20_000):
        connectivity = random_connectivity(neurons, MODEL, seed=3)
        spread = np.sqrt(80 * neurons) / neurons
        assert abs(connectivity.synapses / neurons - 80) < 5 * spread


def test_random_rows_excite_or_inhibit():
    matrix = dense(random_connectivity(1000, MODEL, seed=0))
    assert set(np.unique(matrix)) == {0, 1}  # no pair is drawn twice
    assert not matrix[:800, 1000:].any() and not matrix[800:, :1000].any()
    assert matrix[:800, :1000].any() and matrix[800:, 1000:].any()


def test_random_depends_on_the_seed_only():
    first, again, other = (random_connectivity(500, MODEL, seed).indices for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_few_neurons_are_all_connected():
    assert random_connectivity(10, MODEL, seed=0).synapses == 100
    assert random_connectivity(1, MODEL, seed=0).synapses == 1


def test_bernoulli_cells_are_sorted_unique_and_uniform():
    cells = bernoulli_cells(1_000_000, 0.01, np.random.default_rng(0))
    assert (np.diff(cells) > 0).all() and cells[0] >= 0 and cells[-1] < 1_000_000
    per_tenth = np.bincount(cells // 100_000, minlength=10)
    assert np.abs(per_tenth - 1000).max() < 5 * np.sqrt(1000)


def test_too_many_synapses_are_refused():
    with pytest.raises(ConnectivityError, match="int32"):
        random_connectivity(100_000_000, MODEL, seed=0)


SIGNED = np.array([[0.0, 1.5, 0.0], [-2.0, 0.0, 0.25], [0.0, -4.0, 0.0]])


@pytest.mark.parametrize("suffix", [".mtx", ".npz"])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_file_splits_by_sign(tmp_path: Path, suffix: str, layout: str):
    path, matrix = tmp_path / f"net{suffix}", scipy.sparse.coo_array(SIGNED).asformat(layout)
    if suffix == ".mtx":
        scipy.io.mmwrite(path, matrix)
    else:
        scipy.sparse.save_npz(path, matrix)
    connectivity = load_connectivity(path, scale=2.0)
    expected = np.hstack([np.where(SIGNED > 0, SIGNED, 0), np.where(SIGNED < 0, SIGNED, 0)])
    assert np.array_equal(dense(connectivity), 2 * expected)
    assert connectivity.excitatory.tolist() == [True, False, False]


def write_csr(path: Path, data, indices, indptr, shape=(2, 2)) -> None:
    np.savez(path, data=data, indices=indices, indptr=indptr, shape=shape, format=np.array(b"csr"))


HEADER = "%%MatrixMarket matrix coordinate real general\n"
TEXT_FILES = {
    "empty.mtx": ("", "Matrix Market"),
    "words.mtx": (HEADER + "3 3 1\n1 1 hello\n", "not a readable"),
    "outside.mtx": (HEADER + "3 3 1\n4 1 1.0\n", "not a readable"),
    "oblong.mtx": (HEADER + "3 4 1\n1 1 1.0\n", "square"),
    "nan.mtx": (HEADER + "3 3 1\n1 1 nan\n", "finite"),
    "huge.mtx": (HEADER + "3 3 1\n1 1 1e300\n", "finite"),
    "complex.mtx": (HEADER.replace("real", "complex") + "2 2 1\n1 1 1 2\n", "real weights"),
    "noise.npz": ("PK not a zip", "not a readable"),
    "matrix.txt": ("1 2", ".mtx"),
}


@pytest.mark.parametrize("name", TEXT_FILES)
def test_broken_file_says_what_is_wrong_in_one_line(tmp_path: Path, name: str):
    content, expected = TEXT_FILES[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(ConnectivityError, match=expected) as caught:
        load_connectivity(tmp_path / name)
    assert name in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [([0, 99], [0, 1, 2]), ([0, -5], [0, 1, 2]), ([0, 1], [0, 1_000_000, 2]), ([0, 1], [0, 2])],
)
def test_corrupt_csr_is_refused_before_anything_follows_its_pointers(tmp_path, indices, indptr):
    write_csr(tmp_path / "bad.npz", np.ones(2), np.array(indices, np.int32), np.array(indptr, np.int32))
    with pytest.raises(ConnectivityError, match="not a readable"):
        load_connectivity(tmp_path / "bad.npz")


def test_missing_file_and_folder(tmp_path: Path):
    (tmp_path / "folder.mtx").mkdir()
    for name in ("missing.npz", "folder.mtx"):
        with pytest.raises(ConnectivityError, match="no such file"):
            load_connectivity(tmp_path / name)
