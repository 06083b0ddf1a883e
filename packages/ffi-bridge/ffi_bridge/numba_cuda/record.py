"""Run a Python function that launches CUDA kernels once, on stand-ins, and note its launches.

JAX knows the shapes of all arrays when it traces. A function that only launches kernels depends on nothing
else, so that its launches and temporaries are the same in every call.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NoReturn

import jax
import numpy as np
from numpy.lib.stride_tricks import as_strided

from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native.buffers import contiguous
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.native.private_api import Replacement, in_this_thread
from ffi_bridge.numba_cuda.compile import compilers
from ffi_bridge.numba_cuda.program import KernelLaunch, View

THREADS_FOR_ALL: Final = 256  # of `kernel.forall`, which would ask the driver for the best occupancy


# launch(kernel, extents, arguments)
Launch = Callable[[Any, LaunchExtents, Sequence[Any]], None]


def redirected(launch: Launch, names: Mapping[str, Callable[..., Any]]) -> AbstractContextManager[None]:
    """Within the block, for this thread, have `launch` take launches, and `names` stand in for `cuda`'s."""
    return in_this_thread(_replacements(launch, names))


def _replacements(launch: Launch, names: Mapping[str, Callable[..., Any]]) -> Iterator[Replacement]:
    def configured(kernel: Any, key: tuple[Any, ...]) -> Callable[..., None]:
        return _configured(launch, kernel, *key)

    def for_all(
        kernel: Any, tasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0
    ) -> Callable[..., None]:
        threads = tpb or THREADS_FOR_ALL
        return _configured(launch, kernel, -(-tasks // threads), threads, stream, sharedmem)

    for compiler in compilers():
        yield compiler.dispatcher, "__getitem__", configured
        yield compiler.dispatcher, "forall", for_all
        yield from ((compiler.cuda, name, function) for name, function in names.items())


def _configured(
    launch: Launch,
    kernel: Any,
    grid: Any,
    block: Any,
    stream: Any = None,
    shared: int | None = None,
    cluster: Any = None,
) -> Callable[..., None]:
    """Return the result of `kernel[grid, block, stream, shared, cluster]`."""
    if cluster is not None:
        raise KernelDefinitionError(
            f"kernel '{kernel.__name__}' is launched with clusters {cluster}, which no native handler "
            "knows; give grid, block, stream and shared memory only"
        )
    extents = LaunchExtents.of(grid, block, None, 1, shared or 0)
    return lambda *arguments: launch(kernel, extents, arguments)


REFUSED: Final = ("to_device", "as_cuda_array", "pinned_array", "mapped_array", "managed_array", "event")


class NotRecordableError(KernelTypeError):
    """A function does something that depends on more than shapes and dtypes."""


_KNOWN: Final = ("shape", "strides", "ndim", "size", "itemsize", "nbytes", "dtype")


class RecordedArray:
    """A stand-in for a device array: it has shape, dtype and place, and no contents.

    `array`: one of NumPy's of these strides, whose memory is never read.
    """

    def __init__(self, recorder: Recorder, buffer: int, array: np.ndarray[Any, Any], place: int = 0) -> None:
        self._recorder, self._buffer, self._array, self._place = recorder, buffer, array, place

    @property
    def view(self) -> View:
        """Return the elements of the buffer that it stands for."""
        return View(self._buffer, self._array.shape, self._array.strides, self._place)

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> RecordedArray:
        keys = key if isinstance(key, tuple) else (key,)
        try:
            basic = [x if isinstance(x, slice) or x is ... else operator.index(x) for x in keys]
            # With an ellipsis NumPy reads no element, and returns an array without dimensions.
            part = self._array[*basic, *[...] * (... not in basic)]
        except (IndexError, TypeError) as error:
            self._recorder.refuse(f"it takes [{key!r}] of a device array of shape {self.shape} ({error})")
        if not part.shape:
            self._recorder.refuse(f"it reads element {key!r} of a device array")
        place = self._place + part.ctypes.data - self._array.ctypes.data
        return RecordedArray(self._recorder, self._buffer, part, place)

    def reshape(self, *shape: Any) -> RecordedArray:
        """Return a C-contiguous array in another shape."""
        if not self._array.flags.c_contiguous:
            self._recorder.refuse("it reshapes a device array that is not C-contiguous")
        return RecordedArray(self._recorder, self._buffer, self._array.reshape(*shape), self._place)

    def ravel(self) -> RecordedArray:
        """Return the elements of a C-contiguous array as one axis."""
        return self.reshape(-1)

    def _refuse_contents(self, *_: Any, **__: Any) -> NoReturn:
        self._recorder.refuse("it reads or writes a device array outside of a kernel")

    def __getattr__(self, name: str) -> Any:
        if name in _KNOWN:
            return getattr(self._array, name)
        if name.startswith("__"):  # a protocol that others ask for, to do without it
            raise AttributeError(name)
        self._recorder.refuse(f"it uses .{name} of a device array")

    copy_to_host = copy_to_device = _refuse_contents
    __setitem__ = __array__ = __bool__ = __float__ = __int__ = __iter__ = _refuse_contents


class Recorder:
    """The record of a function so far: its launches, and the temporaries that it made."""

    def __init__(self, name: str, first_temporary: int) -> None:
        self._name = name
        self._first = first_temporary
        self.launches: list[KernelLaunch] = []
        self.temporaries: list[jax.ShapeDtypeStruct] = []

    def refuse(self, obstacle: str) -> NoReturn:
        """Raise NotRecordableError: the function does something that cannot be recorded."""
        raise NotRecordableError(f"'{self._name}' cannot be recorded: {obstacle}")

    @property
    def names(self) -> Mapping[str, Callable[..., Any]]:
        """Return the stand-ins for functions of the module `cuda` that need a device."""
        refused = {name: self._refusal(name) for name in REFUSED}
        ours = {"device_array": self.device_array, "device_array_like": self.device_array_like}
        return {**ours, "synchronize": lambda: None, **refused}

    def _refusal(self, name: str) -> Callable[..., NoReturn]:
        return lambda *_, **__: self.refuse(f"it calls cuda.{name}")

    def device_array(self, shape: Any, dtype: Any = np.float64, **options: Any) -> RecordedArray:
        """Note a temporary, which XLA allocates, in place of `cuda.device_array`."""
        if options.get("strides") is not None or options.get("order", "C") != "C":
            self.refuse(f"it allocates an array with {options}; only C-contiguous ones are known")
        wanted = tuple(np.atleast_1d(np.asarray(shape, np.int64)).tolist())
        if min(wanted, default=0) < 0:
            self.refuse(f"it allocates an array of shape {wanted}")
        kind = np.dtype(dtype)
        self.temporaries.append(jax.ShapeDtypeStruct(wanted, kind))
        return self.array(self._first + len(self.temporaries) - 1, wanted, kind)

    def array(self, buffer: int, shape: tuple[int, ...], dtype: Any) -> RecordedArray:
        """Return the stand-in for all of a buffer."""
        # One element stands for all: nothing reads it.
        memory, strides = np.empty(1, dtype), contiguous(shape, np.dtype(dtype).itemsize)
        return RecordedArray(self, buffer, as_strided(memory, shape, strides))

    def device_array_like(self, array: Any, **_: Any) -> RecordedArray:
        """Note a temporary, in place of `cuda.device_array_like`."""
        return self.device_array(array.shape, array.dtype)

    def launch(self, kernel: Any, extents: LaunchExtents, arguments: Sequence[Any]) -> None:
        """Note a launch; raises KernelTypeError where the arguments do not fit the kernel."""
        try:
            inspect.signature(kernel.py_func).bind(*arguments)
        except TypeError as error:
            raise KernelTypeError(
                f"'{self._name}' launches kernel '{kernel.__name__}' with {len(arguments)} arguments: {error}"
            ) from None
        noted = tuple(map(self._noted, arguments))
        self.launches.append(KernelLaunch(kernel, extents, noted))

    def _noted(self, argument: Any) -> Any:
        if isinstance(argument, RecordedArray):
            return argument.view
        if isinstance(argument, bool | int | float | complex | np.number | np.bool_):
            return np.asarray(argument)[()]
        self.refuse(f"it passes {type(argument).__name__} to a kernel; expected an array or a number")


class RecordedStream:
    """XLA's stream: launches are in order on it, so that there is nothing to wait for."""

    def synchronize(self) -> None:
        """Do nothing."""


def record(
    parameters: Parameters, constants: Constants, ins: Sequence[Any], outs: Sequence[jax.ShapeDtypeStruct]
) -> Recorder:
    """Run a function of inputs, outputs and stream on stand-ins; raises NotRecordableError."""
    recorder = Recorder(parameters.function.__name__, len(ins) + len(outs))
    arrays = [recorder.array(i, x.shape, x.dtype) for i, x in enumerate([*ins, *outs])]
    with redirected(recorder.launch, recorder.names):
        parameters.function(*parameters.arguments([*arrays, RecordedStream()], constants))
    if not recorder.launches:
        recorder.refuse("it launches no kernel")
    return recorder
