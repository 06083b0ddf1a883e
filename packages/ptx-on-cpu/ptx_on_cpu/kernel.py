"""A compiled kernel, and its launches."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ptx_on_cpu.buffers import GONE, NUMBERINGS, Buffer, Buffers
from ptx_on_cpu.checks.watch import WATCHED_AT_ONCE, Watch
from ptx_on_cpu.counters.counting import count
from ptx_on_cpu.counters.counts import Counts
from ptx_on_cpu.engine.grid import Settings, Shape, blocks_are_independent, run_grid
from ptx_on_cpu.engine.host import Host
from ptx_on_cpu.engine.jit import compiled
from ptx_on_cpu.errors import LaunchError
from ptx_on_cpu.explain import explain
from ptx_on_cpu.syntax.program import Function, Instruction, readable
from ptx_on_cpu.translate import Translation
from ptx_on_cpu.translate.operands import Layout, Options
from ptx_on_cpu.translate.runtime import runtime

MAX_SHARED: Final = 227 * 1024  # bytes for a block, from compute capability 9.0 on
MAX_THREADS: Final = 1024  # of a block, on every GPU
MAX_BLOCKS: Final = (1 << 31) - 1
PATIENCE: Final = 1 << 24
_AT_ONCE: Final = 1024  # unfinished blocks; memory that none of them touches costs nothing
_ROOM: Final = 16  # behind the parameters, which machine code may read in wide words


@dataclass(frozen=True)
class Checks:
    """Checks to add: bounds, alignment, read-only buffers and waiting are always checked.

    `initialised`: reads of shared and local memory and of outputs that nobody has written. `races`: accesses
    to one place of shared or global memory that nothing orders.
    """

    initialised: bool = False
    races: bool = False


@dataclass(frozen=True)
class Launch:
    """A launch that has succeeded; `accesses` and `executed`: the traces of a counted kernel."""

    kernel: Kernel = field(repr=False)
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    printed: str
    buffers: Buffers = field(repr=False)
    accesses: np.ndarray[Any, Any] = field(repr=False)
    executed: np.ndarray[Any, Any] = field(repr=False)

    @functools.cached_property
    def counts(self) -> Counts:
        """Return the counters of a launch by its traces; of a counted kernel only."""
        if not self.kernel.is_counted:
            raise LaunchError(
                f"kernel '{self.kernel.name}' is not counted; ask for kernel(..., counted=True)"
            )
        instructions, blocks = self.kernel.instructions, self.kernel.basic_blocks
        return count(self.executed, self.accesses, instructions, blocks, self.buffers.addressable)


class Kernel:
    """A kernel, compiled for the CPU; made by `Module.kernel`."""

    def __init__(
        self,
        function: Function,
        layout: Layout,
        shared: int,
        variables: Sequence[Buffer],
        checks: Checks,
        counted: bool,
        objects: MutableMapping[str, bytes] | None,
        launches: Iterator[int],
    ) -> None:
        self.name = readable(function.name)
        self.checks = checks
        self.is_counted = counted
        self.static_shared = shared
        self._function, self._layout, self._variables = function, layout, tuple(variables)
        self._launches = launches
        # Then all blocks have to be unfinished at a time.
        self._synchronises_grid = any("cudaCGSynchronize" in o for i in function.body for o in i.operands)
        self._is_independent = blocks_are_independent(function)
        translated = Translation(function, layout, Options(checks.races, counted, checks.initialised))
        body = translated.whole()
        self._frame_size, self._local_shadow = translated.frame_size, translated.local_shadow
        # The instructions of each basic block, by their numbers, by the first of them.
        self.basic_blocks = {pcs.start: tuple(pcs) for pcs in translated.flow.blocks}
        # Sorted, so that one kernel has one text, and one object file.
        text = "\n".join([body, runtime(body), *sorted(translated.text.declared.values())])
        self._code = compiled(text, objects)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Return its instructions; device functions are in the place of their calls."""
        return tuple(self._function.body)

    def launch(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[Any],
        *,
        shared: int = 0,
        buffers: Buffers | None = None,
        seed: int | None = None,
        patience: int = PATIENCE,
        parallel: bool | None = None,
        resident: int | None = None,
    ) -> Launch:
        """Run the kernel.

        Args:
            grid, block: one to three extents.
            arguments: one for each parameter: a NumPy array of any strides and dimensions, also none (the
                address of its first element is passed); a number of NumPy; or bytes, in which pointers are
                those that `buffers.add` has returned.
            shared: bytes of dynamic shared memory.
            buffers: the memory that pointers in `bytes` lead to.
            seed: run blocks and threads in another order; None: from first to last.
            parallel: run blocks on all cores; None: where their order cannot change a result.
            resident: blocks that the GPU runs at once, for a cooperative launch: a larger grid is refused;
                None: another launch.
            patience: turns of loops after which threads that do nothing else count as an endless loop.

        Raises:
            LaunchError: the kernel did what it must not, or does not take these arguments.
        """
        extents, threads = _extents("grid", grid), _extents("block", block)
        if math.prod(threads) > MAX_THREADS or self.static_shared + shared > MAX_SHARED:
            raise LaunchError(
                f"kernel '{self.name}': a block of {threads} threads, {self.static_shared + shared} bytes of "
                f"shared memory; a GPU has at most {MAX_THREADS} threads and {MAX_SHARED} bytes for one"
            )
        if math.prod(extents) > MAX_BLOCKS:
            raise LaunchError(
                f"kernel '{self.name}': a grid of {extents}; expected at most {MAX_BLOCKS} blocks together"
            )
        if resident is not None and math.prod(extents) > resident:
            raise LaunchError(
                f"kernel '{self.name}': a cooperative launch of {math.prod(extents)} blocks, grid {extents}; "
                f"all have to run at once, and {resident} do"
            )
        memory = self.buffers() if buffers is None else buffers
        params = self._packed(arguments, memory)
        frame = self._frame_size, self._layout.local_size, self._local_shadow
        shape = Shape(extents, threads, *frame, self.static_shared + shared, shared)
        most = resident or (WATCHED_AT_ONCE if self.checks.races else _AT_ONCE)
        settings = Settings(
            initialised=self.checks.initialised,
            counted=self.is_counted,
            all_at_once=self._synchronises_grid or resident is not None,
            most=most,
            parallel=self._is_independent if parallel is None else parallel,
            seed=seed,
            patience=patience,
        )
        host, watch = Host(), None
        try:
            if self.checks.races:
                watch = Watch(math.prod(extents), shape.threads, shape.shared, most)
            table = memory.table(self.checks.initialised, watch and watch.shadow_of)
            failure = run_grid(self._code.run, shape, settings, params, table, host, watch)
        except MemoryError as error:
            raise LaunchError(self._lacks_memory(extents, threads, error)) from error
        if failure is not None:
            raise LaunchError(explain(self.name, self.instructions, failure, memory, host, watch))
        return Launch(self, extents, threads, host.printed, memory, host.accesses, host.executed)

    def _lacks_memory(self, grid: Sequence[int], block: Sequence[int], error: MemoryError) -> str:
        """Return the message for a launch that needs more memory than this machine has, with a remedy."""
        checks = [name for name in ("initialised", "races") if getattr(self.checks, name)]
        remedy = "launch fewer blocks or smaller arrays"
        if checks:
            remedy += f", or leave out what is checked beside bounds: Checks({'=False, '.join(checks)}=False)"
        return f"kernel '{self.name}': a grid of {grid}, blocks of {block}: {error}; {remedy}"

    def buffers(self) -> Buffers:
        """Return the buffers that each launch begins with: the module's variables."""
        memory = Buffers()
        memory.add(Buffer("the parameters", 0, 0, is_read_only=True))  # `_packed` puts them there
        for variable in self._variables:
            memory.add(variable)
        # Numbers begin elsewhere in each launch, so that a pointer kept from the last one leads nowhere.
        for _ in range(next(self._launches) % NUMBERINGS):
            memory.add(GONE)
        return memory

    def _packed(self, arguments: Sequence[Any], memory: Buffers) -> int:
        """Return the pointer to the parameters in memory."""
        parameters = self._function.params
        if len(arguments) != len(parameters):
            raise LaunchError(
                f"kernel '{self.name}' takes {len(parameters)} parameters; {len(arguments)} are given"
            )
        size = max((self._layout.params[p.name] + p.size for p in parameters), default=0)
        packed = np.zeros(size + _ROOM, np.uint8)
        for i, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
            content = _content(i, argument, memory)
            if len(content) != parameter.size:
                raise LaunchError(
                    f"kernel '{self.name}': argument {i} has {len(content)} bytes, expected {parameter.size}"
                )
            at = self._layout.params[parameter.name]
            packed[at : at + parameter.size] = np.frombuffer(content, np.uint8)
        return memory.put_parameters(packed)


def _content(i: int, argument: Any, memory: Buffers) -> bytes:
    """Return the value of a parameter: for an array, a pointer to it."""
    if isinstance(argument, np.ndarray):
        low, high = byte_bounds(argument)
        is_read_only = not argument.flags.writeable
        pointer = memory.add(Buffer(f"argument {i}", low, high - low, is_read_only, owner=argument))
        # With a negative stride the first element is not the lowest address.
        return (pointer + argument.ctypes.data - low).to_bytes(8, "little")
    return bytes(argument) if isinstance(argument, bytes | bytearray) else np.asarray(argument).tobytes()


def _extents(name: str, extents: Sequence[int]) -> tuple[int, int, int]:
    """Return three extents; raise LaunchError unless they are positive integers."""
    x, y, z = (*map(int, extents), 1, 1)[:3]
    if not 1 <= len(extents) <= 3 or min(x, y, z) < 1:
        raise LaunchError(f"{name}={tuple(extents)}; expected one to three positive integers")
    return x, y, z
