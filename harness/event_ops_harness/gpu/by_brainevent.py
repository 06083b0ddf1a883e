"""Count BrainEvent's CUDA kernels beside ours, on the same inputs, and write it as JSON.

Their sources are read from the package that is installed, and compiled by NVRTC, which needs no GPU, without
the code of the host. Kernels are launched as that code does it: the one for rows of this length, with its
blocks, into zeros where threads add to the output. Nothing is timed.
"""

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np

from event_ops.cases import Case
from event_ops.discover import Operator, operators
from event_ops_harness.bench.traffic import bytes_moved
from event_ops_harness.conformance.cell import inputs_of
from event_ops_harness.gpu.count_catalog import COMPILERS, show, write
from event_ops_harness.gpu.counters import BACKENDS, CountedLaunch, Row, count, row_of
from event_ops_harness.results import RESULTS
from ffi_bridge.emulated import emulate_gpu
from ptx_on_cpu import Module
from ptx_on_cpu.counters import resources_of

nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")

_INTEGERS: Final = {8: "char", 16: "short", 32: "int", 64: "long long"}
# Stand-ins for headers of the host that files of kernels include, too.
HEADERS: Final = dict.fromkeys(("cuda_runtime.h", "cstdio", "cstdlib", "limits", "string"), "") | {
    "cstdint": "#pragma once\n"
    + "".join(
        f"typedef signed {kind} int{bits}_t; typedef unsigned {kind} uint{bits}_t;\n"
        for bits, kind in _INTEGERS.items()
    )
}


@dataclass(frozen=True)
class Compiled:
    """A kernel of CUDA C++: its PTX, its machine code, its mangled name."""

    ptx: str
    cubin: bytes
    entry: str


def compiled(text: str, kernel: str, headers: Mapping[str, str] = HEADERS) -> Compiled:
    """Compile a file for compute capability 9.0; `kernel` is an expression, "f<int>".

    Raises ValueError, with NVRTC's words, where it does not compile.
    """
    texts, names = ([word.encode() for word in words] for words in (headers.values(), headers))
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", len(names), texts, names)
    nvrtc.nvrtcAddNameExpression(program, kernel.encode())
    # Default device: a function without a qualifier would be one of the host, which is not compiled.
    options = ["--gpu-architecture=sm_90", "-lineinfo", "-default-device", f"-I{_cuda_headers()}"]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    if status:
        raise ValueError(_read(program, "ProgramLog").decode())
    _, entry = nvrtc.nvrtcGetLoweredName(program, kernel.encode())
    return Compiled(_read(program, "PTX").decode().rstrip("\0"), _read(program, "CUBIN"), entry.decode())


def _cuda_headers() -> Path:
    """Return the headers of CUDA, of float16 and more, that numba-cuda brings for this NVRTC."""
    _, major, _ = nvrtc.nvrtcVersion()
    spec = importlib.util.find_spec("numba_cuda")
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders or ()))) / "numba" / "cuda" / "include" / str(major)


def _read(program: Any, kind: str) -> bytes:
    content = b" " * getattr(nvrtc, f"nvrtcGet{kind}Size")(program)[1]
    getattr(nvrtc, f"nvrtcGet{kind}")(program, content)
    return content


OUTPUT: Final = RESULTS / "gpu_counters_brainevent.json"
THEIRS: Final = "brainevent"
THREADS: Final = 256  # of a block, in all of these kernels
ACTIVE: Final = 0.05  # of the events
SIZES: Final = ((2000, 100), (1000, 400))  # rows, and entries of each

# Stand-ins for headers of theirs that only the code of the host needs.
_OF_HOST: Final = {
    "brainevent/common.h": "namespace BE { enum class DType { Bool, Float16, BFloat16, Float32, Float64 }; }",
    "brainevent/dtypes.h": "",
    "xla/ffi/api/ffi.h": "namespace xla { namespace ffi {} }",
}


@dataclass(frozen=True)
class Source:
    """A file of theirs, below the package: the code before `host`, then `tail`."""

    path: str
    host: str
    tail: str


# With events that are numbers it is the product with any vector, which BrainEvent itself leaves to JAX where
# each entry has a weight. The macro comes after code of the host.
_NUMBERS: Final = "_f32_wv, float, READ_F32, float, float, READ_F32, WRITE_F32, warp_reduce_sum_f32, 0.0f"
GATHER: Final = Source(
    "_csr/binary_csrmv.cu", "// FFI Entry Points", f"DEFINE_CSRMV_NT_WARP_HETERO({_NUMBERS})"
)
SCATTER: Final = Source("_csr/binary_csrmv_hybrid.cu", "    static ffi::Error", "}")
FIXED: Final = Source("_fcn/binary_fcnmv.cu", "// FFI Entry Points", "")


@dataclass(frozen=True)
class Call:
    """A launch of theirs: a kernel of a source, its blocks, its arguments."""

    source: Source
    kernel: str
    blocks: int
    arguments: Sequence[Any]

    def counted(self) -> CountedLaunch:
        """Run it, and return its counters."""
        folder = package()
        text = (folder / self.source.path).read_text().partition(self.source.host)[0] + self.source.tail
        # NVRTC refuses functions of the host; one of this header computes numbers of blocks.
        common = (folder / "include" / "cuda_common.h").read_text().replace("__host__ __inline__", "inline")
        built = compiled(text, self.kernel, HEADERS | _OF_HOST | {"cuda_common.h": common})
        kernel = Module(built.ptx).kernel(built.entry, counted=True)
        launch = kernel.launch((self.blocks,), (THREADS,), self.arguments)
        return CountedLaunch.of_launch(launch, resources_of(built.cubin, built.entry), 0)


def package() -> Path:
    """Return the folder of the package; raise SystemExit where it is not installed."""
    spec = importlib.util.find_spec("brainevent")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(
            "brainevent is not installed, whose sources are read; with Python 3.12 or newer, "
            "`pip install --no-deps brainevent` brings them"
        )
    return Path(spec.submodule_search_locations[0])


Launches = Callable[[Sequence[Any], np.ndarray], Iterator[Call]]  # of inputs, into an output


def gathers(kind: str) -> Launches:
    """Return the launch for y[i] = sum of data[j] * x[indices[j]]: a warp for a row of 16 to 511 entries."""

    def calls(inputs: Sequence[Any], y: np.ndarray) -> Iterator[Call]:
        data, indices, indptr, x = inputs
        assert 16 <= indices.size // y.size < 512
        arguments = (data, indices, indptr, x, y, np.int32(y.size))
        yield Call(GATHER, f"_csrmv_nt_warp_hetero_kern_f32_{kind}<int>", _parts(y.size, 8), arguments)

    return calls


def scatters(inputs: Sequence[Any], y: np.ndarray) -> Iterator[Call]:
    """Yield the launches that add the rows of active events: a thread a row, then a block a long row."""
    data, indices, indptr, events = inputs
    lengths = np.diff(indptr)
    # As its host does: a row of more than 128 entries is long, and 4096 entries are one block's task.
    tasks = int(np.where(lengths > 128, -(-lengths // 4096), 0).sum())
    begin, end, status = (np.zeros(max(1, size), np.int32) for size in (tasks, tasks, 2))
    types, count = "<float, int8_t, int, int, false>", np.int32(tasks)
    arguments = (data, indices, indptr, events, y, begin, end, status, np.int32(events.size), count)
    yield Call(SCATTER, f"BinaryCsrmvWatHybridExtractKernel{types}", _parts(events.size, THREADS), arguments)
    if tasks:
        arguments = (data, indices, begin, end, status, count, y, indptr, events)
        yield Call(SCATTER, f"BinaryCsrmvWatHybridBlockKernel{types}", min(tasks, 2048), arguments)


def scatters_fixed(inputs: Sequence[Any], y: np.ndarray) -> Iterator[Call]:
    """Yield the launch that adds the rows of active events, all of one length: a warp a row."""
    data, indices, events = inputs
    rows, per_row = indices.shape
    assert per_row * 2084000 > rows * 1539  # else a thread a row
    arguments = (indices, events, y, data, np.int32(rows), np.int32(per_row))
    yield Call(FIXED, "_bs_wpr_hetero_kern_bool_f32", _parts(rows, 8), arguments)


def _parts(whole: int, part: int) -> int:
    return -(-whole // part)


# An operator, whether its vector is one of events, whether it is transposed, and what they launch.
_PRODUCTS: Final = (
    ("csr_matvec", False, False, gathers("wv")),
    ("csr_event_matvec", True, False, gathers("bool")),
    ("csr_event_matvec", True, True, scatters),
    ("ell_event_matvec", True, True, scatters_fixed),
)


def pairs() -> Iterator[tuple[str, Case, Launches]]:
    """Yield the name of an operator, a case, and their launches."""
    for operator, of_events, transpose, launches in _PRODUCTS:
        for rows, per_row in SIZES:
            name = f"{rows}-{per_row}" + of_events * f"-{ACTIVE:.0%}" + transpose * "-transposed"
            make = drawn(rows, per_row, operator.startswith("ell"), of_events, transpose)
            yield operator, Case(name, make), launches


def drawn(rows: int, per_row: int, is_ell: bool, of_events: bool, transpose: bool) -> Callable[..., Any]:
    """Return a function that draws a square matrix with `per_row` entries in each row, and a vector."""

    def make(rng: np.random.Generator, dtype: str, index_dtype: str) -> Any:
        indices = np.sort(rng.integers(rows, size=(rows, per_row)), axis=1).astype(index_dtype)
        data = rng.random(indices.shape).astype(dtype)
        vector = rng.random(rows) < ACTIVE if of_events else rng.random(rows).astype(dtype)
        indptr = np.arange(0, indices.size + 1, per_row).astype(index_dtype)
        matrix = (data, indices) if is_ell else (data.ravel(), indices.ravel(), indptr)
        return (*matrix, vector), {"shape": (rows, rows), "transpose": transpose}

    return make


def theirs(operator: Operator, case: Case, launches: Launches) -> Row:
    """Return the counters of their launches; raise AssertionError where they compute something else."""
    inputs, kwargs = inputs_of(case, "float32", "int32")
    expected = np.asarray(operator.function(*inputs, **kwargs, backend="reference"))
    y = np.zeros_like(expected)
    # Their kernels take flags as bytes.
    passed = [x.view(np.int8) if x.dtype == bool else x for x in inputs]
    counted = [call.counted() for call in launches(passed, y)]
    np.testing.assert_allclose(y, expected, rtol=1e-4, err_msg=f"{operator.name} {case.name}")
    ideal = bytes_moved(operator, inputs, kwargs)
    row = row_of(operator.name, case.name, "float32", THEIRS, counted, ideal)
    zeroed = y.nbytes if kwargs["transpose"] else 0  # by a call of the driver, before threads add to it
    return replace(row, compulsory=row.compulsory + zeroed, moved=row.moved + zeroed)


def beside() -> Iterator[Row]:
    """Yield the rows of each pair: ours on each backend, and theirs."""
    gpu, by_name = emulate_gpu(), {operator.name: operator for operator in operators()}
    for name, case, launches in pairs():
        yield from (count(gpu, by_name[name], case, backend) for backend in BACKENDS)
        yield theirs(by_name[name], case, launches)


def main(argv: Sequence[str] | None = None) -> int:
    """Count, show, write."""
    parser = argparse.ArgumentParser(prog="by_brainevent", description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FILE")
    options = parser.parse_args(argv)
    jax.config.update("jax_disable_most_optimizations", True)  # what is counted does not depend on it
    rows = list(beside())
    show(rows)
    write(options.output, "nox -s counters -- brainevent", (*COMPILERS, THEIRS), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
