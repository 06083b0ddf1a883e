"""Run a Python function that launches CUDA kernels once, on stand-ins, and note its launches.

JAX knows the shapes of all arrays when it traces. A function that only launches kernels depends on nothing
else, so that its launches and temporaries are the same in every call.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, NoReturn, Protocol

import jax
import numpy as np

from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native.buffers import contiguous
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.native.private_api import Replacement, in_this_thread
from ffi_bridge.numba_cuda.compile import compilers
from ffi_bridge.numba_cuda.program import KernelLaunch, View

THREADS_FOR_ALL: Final = 256  # of `kernel.forall`, which would ask the driver for the best occupancy


class Session(Protocol):
    """Takes launches, and stands in for functions of the module `cuda` that need a device."""

    @property
    def names(self) -> Mapping[str, Callable[..., Any]]:
        """Return the stand-ins for functions of `cuda`, by name."""
        ...

    def launch(self, kernel: Any, extents: LaunchExtents, arguments: Sequence[Any]) -> None:
        """Take a launch."""
        ...


class _Configured:
    """The result of `kernel[grid, block, stream, shared, cluster]`."""

    def __init__(
        self,
        session: Session,
        kernel: Any,
        grid: Any,
        block: Any,
        stream: Any = None,
        shared: int | None = None,
        cluster: Any = None,
    ) -> None:
        if cluster is not None:
            raise KernelDefinitionError(
                f"kernel '{kernel.__name__}' is launched with clusters {cluster}, which no native handler "
                "knows; give grid, block, stream and shared memory only"
            )
        self._session, self._kernel = session, kernel
        self._extents = LaunchExtents.of(grid, block, None, 1, shared or 0)

    def __call__(self, *arguments: Any) -> None:
        self._session.launch(self._kernel, self._extents, arguments)


def redirected(session: Session) -> AbstractContextManager[None]:
    """Within the block, for this thread, send launches and allocations to the session."""
    return in_this_thread(_replacements(session))


def _replacements(session: Session) -> Iterator[Replacement]:

    def configured(kernel: Any, key: tuple[Any, ...]) -> _Configured:
        return _Configured(session, kernel, *key)

    def for_all(kernel: Any, tasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> _Configured:
        threads = tpb or THREADS_FOR_ALL
        return _Configured(session, kernel, -(-tasks // threads), threads, stream, sharedmem)

    for compiler in compilers():
        yield compiler.dispatcher, "__getitem__", configured
        yield compiler.dispatcher, "forall", for_all
        yield from ((compiler.cuda, name, function) for name, function in session.names.items())


REFUSED: Final = ("to_device", "as_cuda_array", "pinned_array", "mapped_array", "managed_array", "event")


class NotRecordableError(KernelTypeError):
    """A function does something that depends on more than shapes and dtypes."""


class RecordedArray:
    """A stand-in for a device array: it has shape, dtype and place, and no contents."""

    def __init__(self, recorder: Recorder, view: View, dtype: np.dtype[Any]) -> None:
        self._recorder = recorder
        self.view = view
        self.dtype = dtype

    shape = property(lambda self: self.view.shape)
    strides = property(lambda self: self.view.strides)
    ndim = property(lambda self: len(self.view.shape))
    size = property(lambda self: int(np.prod(self.view.shape, dtype=np.int64)))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> RecordedArray:
        try:
            view = sliced(self.view, key if isinstance(key, tuple) else (key,))
        except (IndexError, TypeError) as error:
            self._recorder.refuse(f"it takes [{key!r}] of a device array of shape {self.shape} ({error})")
        if not view.shape:
            self._recorder.refuse(f"it reads element {key!r} of a device array")
        return RecordedArray(self._recorder, view, self.dtype)

    def reshape(self, *shape: Any) -> RecordedArray:
        """Return a C-contiguous array in another shape."""
        if self.strides != contiguous(self.shape, self.itemsize):
            self._recorder.refuse("it reshapes a device array that is not C-contiguous")
        wanted = np.broadcast_to(np.uint8(0), self.shape).reshape(*shape).shape
        view = replace(self.view, shape=wanted, strides=contiguous(wanted, self.itemsize))
        return RecordedArray(self._recorder, view, self.dtype)

    def ravel(self) -> RecordedArray:
        """Return the elements of a C-contiguous array as one axis."""
        return self.reshape(-1)

    def _refuse_contents(self, *_: Any, **__: Any) -> NoReturn:
        self._recorder.refuse("it reads or writes a device array outside of a kernel")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # a protocol that others ask for, to do without it
            raise AttributeError(name)
        self._recorder.refuse(f"it uses .{name} of a device array")

    copy_to_host = copy_to_device = _refuse_contents
    __setitem__ = __array__ = __bool__ = __float__ = __int__ = __iter__ = _refuse_contents


def sliced(view: View, key: tuple[Any, ...]) -> View:
    """Return the view that a basic index takes of an array; raise IndexError or TypeError for any else."""
    if Ellipsis in key:
        at = key.index(Ellipsis)
        key = (*key[:at], *[slice(None)] * (len(view.shape) - len(key) + 1), *key[at + 1 :])
    if len(key) > len(view.shape):
        raise IndexError(f"{len(key)} indices")
    shape, strides, displacement = list[int](), list[int](), view.displacement
    for axis, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        wanted = key[axis] if axis < len(key) else slice(None)
        if isinstance(wanted, slice):
            chosen = range(size)[wanted]
            displacement += stride * chosen.start if len(chosen) else 0
            shape.append(len(chosen))
            strides.append(stride * chosen.step)
        else:
            displacement += stride * range(size)[operator.index(wanted)]
    return replace(view, shape=tuple(shape), strides=tuple(strides), displacement=displacement)


class Recorder:
    """The record of a function so far: its launches, and the temporaries that it made."""

    def __init__(self, name: str, first_temporary: int) -> None:
        self._name = name
        self._first = first_temporary
        self.launches: list[KernelLaunch] = []
        self.temporaries: list[jax.ShapeDtypeStruct] = []

    def refuse(self, what: str) -> NoReturn:
        """Raise NotRecordableError: the function does something that cannot be recorded."""
        raise NotRecordableError(f"'{self._name}' cannot be recorded: {what}")

    @property
    def names(self) -> Mapping[str, Callable[..., Any]]:
        """Return the stand-ins for functions of the module `cuda` while this records."""
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
        buffer = self._first + len(self.temporaries) - 1
        return RecordedArray(self, View(buffer, wanted, contiguous(wanted, kind.itemsize)), kind)

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
    arrays = [
        RecordedArray(recorder, View(i, x.shape, contiguous(x.shape, x.dtype.itemsize)), np.dtype(x.dtype))
        for i, x in enumerate([*ins, *outs])
    ]
    with redirected(recorder):
        parameters.function(*parameters.arguments([*arrays, RecordedStream()], constants))
    if not recorder.launches:
        recorder.refuse("it launches no kernel")
    return recorder
