"""Who projects to whom: CSR with rows = source neurons and columns = targets.

A neuron has two synaptic channels, so the matrix has shape (N, 2 N): column j is the excitatory
channel of neuron j, column N + j its inhibitory one. One product then serves both channels.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse

from event_ops_harness.networks.balanced.network import BalancedParameters

DRAWS_AT_ONCE = 1 << 22
MAX_SYNAPSES = np.iinfo(np.int32).max


class ConnectivityError(ValueError):
    """A connectivity cannot be simulated; the message is one line for the user."""


@dataclass(frozen=True)
class Connectivity:
    """Hold a CSR matrix (data, indices, indptr) of shape (N, 2 N), and the meaning of its entries."""

    data: np.ndarray  # float32; 0-d: every synapse weighs the same; (nse,): a weight for each
    indices: np.ndarray  # int32 (nse,)
    indptr: np.ndarray  # int32 (N + 1,)
    channel_scale: tuple[float, float]  # excitatory, inhibitory: the weight that one unit of data is
    excitatory: np.ndarray  # bool (N,): colour of the neuron in the raster
    source: str

    @property
    def neurons(self) -> int:
        return self.indptr.size - 1

    @property
    def synapses(self) -> int:
        return self.indices.size

    @property
    def shape(self) -> tuple[int, int]:
        return self.neurons, 2 * self.neurons

    def of_channel(self, channel: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the entries of one channel as a CSR matrix (data, indices, indptr) of shape (N, N)."""
        own = self.indices // self.neurons == channel
        # The entries of this channel in front of each place: by it the row ends of all become those of one.
        ends = np.append(0, np.cumsum(own, dtype=np.int32))[self.indptr].astype(np.int32)
        return self.data[own] if self.data.ndim else self.data, self.indices[own] % self.neurons, ends


def random_connectivity(neurons: int, model: BalancedParameters, seed: int) -> Connectivity:
    """Connect every ordered pair, self-connections included, with probability p.

    Raises ConnectivityError if there are more synapses than int32 indices can count.
    """
    probability = min(1.0, model.inputs_per_neuron / neurons)
    # The number is random: a hundredth more than the expected one.
    if 1.01 * probability * neurons**2 > MAX_SYNAPSES or 2 * neurons > MAX_SYNAPSES:
        raise ConnectivityError(f"{neurons} neurons have more synapses than int32 indices can count")
    cells = bernoulli_cells(neurons * neurons, probability, np.random.default_rng(seed))
    source, target = np.divmod(cells, neurons)
    n_ex = model.excitatory_count(neurons)
    first_inhibitory = np.searchsorted(source, n_ex)
    target[first_inhibitory:] += neurons
    return Connectivity(
        data=np.ones((), np.float32),
        indices=target.astype(np.int32),
        indptr=np.searchsorted(source, np.arange(neurons + 1)).astype(np.int32),
        channel_scale=(model.weight_ex, model.weight_in),
        excitatory=np.arange(neurons) < n_ex,
        source=f"random, p = {probability:.3g}",
    )


def bernoulli_cells(cells: int, probability: float, rng: np.random.Generator) -> np.ndarray:
    """Return the sorted indices of the successes in `cells` Bernoulli trials; the cost is that of successes.

    The gaps between successes are geometric, so they are drawn instead of the trials.
    """
    # A tenth more than the expected number, so that one batch is mostly enough.
    batch = int(min(DRAWS_AT_ONCE, 1.1 * probability * cells + 100))
    chunks, last = [], -1
    while last < cells:
        chunk = last + np.cumsum(rng.geometric(probability, size=batch))
        last = int(chunk[-1])
        chunks.append(chunk)
    drawn = np.concatenate(chunks)
    return drawn[: np.searchsorted(drawn, cells)]


def load_connectivity(path: Path, scale: float = 1.0) -> Connectivity:
    """Read a square matrix, rows = source and columns = target: .mtx (Matrix Market) or .npz (scipy).

    Entries times `scale` are weights in the network's unit; positive ones are excitatory synapses,
    negative ones inhibitory, zeros none. Raises ConnectivityError with one line that says what is wrong.
    """
    matrix = checked(read_matrix(path), path, scale)
    neurons = matrix.indptr.size - 1
    excitatory = np.asarray(matrix.sum(axis=1)).ravel() >= 0
    return Connectivity(
        data=matrix.data,
        indices=np.where(matrix.data < 0, matrix.indices + neurons, matrix.indices).astype(np.int32),
        indptr=matrix.indptr.astype(np.int32),
        channel_scale=(1.0, 1.0),
        excitatory=excitatory,
        source=path.name,
    )


def read_matrix(path: Path) -> scipy.sparse.coo_array:
    """Read the matrix of a file as COO, without summing duplicates."""
    readers = {".mtx": scipy.io.mmread, ".npz": scipy.sparse.load_npz}
    if path.suffix not in readers:
        raise ConnectivityError(f"{path}: expected a .mtx (Matrix Market) or .npz (scipy.sparse) file")
    if not path.is_file():
        raise ConnectivityError(f"{path}: no such file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            matrix = readers[path.suffix](path)
            if hasattr(matrix, "check_format"):  # of compressed ones: conversions trust indptr and indices
                matrix.check_format(full_check=True)
            return scipy.sparse.coo_array(matrix)
    except Exception as error:  # scipy raises nearly every type here, and all mean the same
        reason = " ".join(str(error).split()).partition(". ")[0] or type(error).__name__
        raise ConnectivityError(f"{path}: not a readable {path.suffix} matrix ({reason})") from error


def checked(matrix: scipy.sparse.coo_array, path: Path, scale: float) -> scipy.sparse.csr_array:
    """Return scaled float32 CSR, duplicates summed, zeros dropped; raise unless it can be a network."""
    shape: tuple[int, ...] = matrix.shape or ()
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ConnectivityError(
            f"{path}: shape {shape}; expected a square matrix, rows = source, columns = target"
        )
    if matrix.dtype.kind not in "biuf":
        raise ConnectivityError(f"{path}: entries are {matrix.dtype}; expected real weights")
    if max(2 * shape[0], matrix.nnz) > MAX_SYNAPSES:
        raise ConnectivityError(f"{path}: too large for int32 indices ({matrix.nnz} entries)")
    csr = scipy.sparse.csr_array(matrix.astype(np.float64))
    csr.sum_duplicates()
    # A weight that overflows gets infinite, and is refused below.
    with np.errstate(over="ignore"):
        csr.data = (csr.data * scale).astype(np.float32)
    csr.eliminate_zeros()
    if not np.isfinite(csr.data).all():
        raise ConnectivityError(f"{path}: weights are NaN or infinite in float32; expected finite ones")
    return csr
