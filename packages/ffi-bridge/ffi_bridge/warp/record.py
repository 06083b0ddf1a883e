"""Run a Python function that launches Warp kernels once, on arrays without memory, and note its launches.

The arrays are Warp's own, so that Warp itself slices and reshapes them; their addresses stand for buffers.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from typing import Any, Final, NoReturn

import jax
import numpy as np
import warp as wp

from ffi_bridge.errors import KernelTypeError
from ffi_bridge.native.private_api import in_this_thread
from ffi_bridge.warp import internals
from ffi_bridge.warp.launch import DATA_OFFSET, Argument, WarpLaunch, launch_dims, threads_of_block
from ffi_bridge.warp.memory import copy, fill
from ffi_bridge.warp.parameters import (
    Parameter,
    array_type,
    is_static,
    python_value,
    refuse_beyond,
    warp_shape,
)
from ffi_bridge.warp.signature import Signature

# Where the address of buffer i begins: no processor gives such addresses to memory.
_FIRST: Final = 1 << 60
_APART: Final = 1 << 44  # bytes, more than any buffer has, so that an address tells its buffer

_REFUSED: Final = ("launch_tiled", "capture_begin", "capture_launch", "capture_while", "capture_if")


class RecordedDevice:
    """A stand-in for the device that XLA will choose; its memory is temporaries, which XLA allocates."""

    # Warp asks for these where it makes an array.
    is_cpu = False
    is_cuda = True
    memory_kind = None
    context_guard = nullcontext()
    deallocate_requires_context_guard = False

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def get_allocator(self, pinned: bool = False) -> RecordedDevice:
        """Return itself."""
        return self

    def allocate(self, size: int) -> int:
        """Return the address of a temporary of `size` bytes."""
        return self._recorder.temporary(size)

    def deallocate(self, *_: Any) -> None:
        """Do nothing: XLA frees temporaries when the call is over."""

    def __str__(self) -> str:
        return "the device of the call"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # a protocol that others ask for, to do without it
            raise AttributeError(name)
        self._recorder.refuse(f"it reads an array outside of a kernel, or asks its device for .{name}")


class Recorder:
    """The record of a function so far: its launches, and the temporaries that it made."""

    def __init__(self, name: str, inputs: Sequence[str], first_temporary: int) -> None:
        self._name = name
        self._inputs = inputs  # names of the first buffers, which are not written
        self._first = first_temporary
        self.device = RecordedDevice(self)
        self.launches: list[WarpLaunch] = []
        self.temporaries: list[jax.ShapeDtypeStruct] = []

    def refuse(self, obstacle: str) -> NoReturn:
        """Raise KernelTypeError: the function does something that cannot be recorded."""
        raise KernelTypeError(
            f"'{self._name}' cannot be recorded: {obstacle}; it may slice its arrays, make others (wp.empty, "
            "wp.zeros), fill and copy them, and launch kernels on them"
        )

    def temporary(self, size: int) -> int:
        """Return the address of a new buffer of `size` bytes."""
        # As bytes: of which type an array is, the launches say.
        self.temporaries.append(jax.ShapeDtypeStruct((size,), np.uint8))
        return _FIRST + _APART * (self._first + len(self.temporaries) - 1)

    def array(self, buffer: int, of_type: Any, shape: tuple[int, ...]) -> Any:
        """Return the array that stands for all of a buffer."""
        address = _FIRST + _APART * buffer
        place: Any = self.device
        return wp.array(ptr=address, dtype=of_type.dtype, shape=shape, device=place)

    @property
    def names(self) -> Mapping[str, Callable[..., Any]]:
        """Return the functions that replace Warp's while this records, by name."""
        refused = {name: self._refusal(name) for name in _REFUSED}
        memory = {
            "copy": functools.partial(copy, self.launch),
            "fill_": lambda array, value: fill(self.launch, array, value),
            "zero_": lambda array: fill(self.launch, array, 0),
        }
        waiting = dict.fromkeys(("synchronize", "synchronize_device"), lambda *_: None)
        return {"launch": self.launch, "get_device": self.get_device, **memory, **waiting, **refused}

    def _refusal(self, name: str) -> Callable[..., NoReturn]:
        return lambda *_, **__: self.refuse(f"it calls wp.{name}")

    def get_device(self, ident: Any = None) -> Any:
        """Return the stand-in, where Warp would choose a device."""
        if ident is not None and ident is not self.device:
            self.refuse(f"it names the device {str(ident)!r}, where XLA chooses one: leave `device` out")
        return self.device

    def native(self, thread: int) -> Callable[[Any, str], Any]:
        """Return a stand-in for Warp's native library, which would follow addresses."""

        def lookup(library: Any, name: str) -> Any:
            if threading.get_ident() == thread and not any(part in name for part in internals.HARMLESS):
                self.refuse(f"it calls {name} of Warp's native library")
            return getattr(library, name)

        return lookup

    # Parameters as `wp.launch` has them, since a user may give any by name.
    def launch(
        self,
        kernel: Any,
        dim: Any,
        inputs: Sequence[Any] = (),
        outputs: Sequence[Any] = (),
        adj_inputs: Sequence[Any] = (),
        adj_outputs: Sequence[Any] = (),
        device: Any = None,
        stream: Any = None,
        adjoint: bool = False,
        record_tape: bool = True,
        record_cmd: bool = False,
        max_blocks: int = 0,
        block_dim: int | None = None,
    ) -> None:
        """Note a launch, in place of `wp.launch`; raise KernelTypeError for arguments that do not fit."""
        if not isinstance(kernel, wp.Kernel):
            self.refuse(f"it launches {kernel!r}, which is no Warp kernel")
        if adjoint or adj_inputs or adj_outputs or stream is not None or record_cmd or max_blocks:
            self.refuse(
                f"it launches kernel '{kernel.key}' with more than dim, inputs, outputs and block_dim"
            )
        if internals.tape_is_open():
            self.refuse("it launches kernels on a wp.Tape, which would see none of them")
        self.get_device(device)
        dims, threads = launch_dims("dim", dim), threads_of_block(block_dim)
        values = [*inputs, *outputs]
        try:
            types = self._types(kernel, values)
            arguments = [
                self._argument(kernel, name, kind, value)
                for (name, _), kind, value in zip(internals.parameters_of(kernel), types, values, strict=True)
            ]
        except KernelTypeError:
            raise
        except Exception as error:  # Warp raises several types
            raise KernelTypeError(f"'{self._name}' launches kernel '{kernel.key}': {error}") from error
        for buffer, _, _ in chain.from_iterable(x.pointers for x in arguments[len(inputs) :]):
            if buffer < len(self._inputs):
                self.refuse(
                    f"kernel '{kernel.key}' has its input '{self._inputs[buffer]}' among the outputs of a "
                    "launch: name it in in_out_argnames"
                )
        self.launches.append(WarpLaunch(kernel, tuple(types), dims, threads, tuple(arguments)))

    def _types(self, kernel: Any, values: Sequence[Any]) -> list[Any]:
        expected = [kind for _, kind in internals.parameters_of(kernel)]
        if len(values) != len(expected):
            raise TypeError(f"it takes {len(expected)} arguments, and the launch has {len(values)}")
        kinds = kernel.infer_argument_types(values) if kernel.is_generic else expected
        return [kind if (array := internals.array_annotation(kind)) is None else array for kind in kinds]

    def _argument(self, kernel: Any, name: str, kind: Any, value: Any) -> Argument:
        refuse_beyond(f"kernel '{kernel.key}'", name, kind, value)
        packed = internals.pack_arg(kernel, kind, name, value, self.device)
        if not isinstance(packed, internals.array_t):
            if not is_static(kind):
                self.refuse(f"it passes {value!r} for '{name}' to kernel '{kernel.key}'")
            return Argument.of(packed)
        if not packed.data:
            return Argument.of(packed)  # None, or an array of no elements
        buffer, displacement = divmod(packed.data - _FIRST, _APART)
        if not 0 <= buffer < self._first + len(self.temporaries):
            self.refuse(
                f"it passes kernel '{kernel.key}' an array that is neither its argument nor made by it, for "
                f"'{name}': give that as an input"
            )
        if packed.grad:
            self.refuse(f"it passes kernel '{kernel.key}' an array with a gradient for '{name}'")
        without_address = internals.array_t.from_buffer_copy(packed)
        # It stood for the buffer; without it the argument is the same in every process.
        without_address.data = 0
        return Argument.of(without_address, (buffer, DATA_OFFSET, displacement))


def record(
    function: Callable[..., Any], signature: Signature, statics: Mapping[int, Any], buffers: Sequence[Any]
) -> Recorder:
    """Run `function` on static values, and on stand-ins for `buffers`: inputs, then outputs.

    Raises KernelTypeError where they do not fit it, and where it does what cannot be recorded.
    """
    wp.init()
    places = {p: i for i, p in enumerate((*signature.inputs, *signature.outputs))}
    names = [signature.parameters[i].name for i in signature.inputs]
    recorder = Recorder(function.__name__, names, len(buffers))

    def stand_in(i: int, parameter: Parameter) -> Any:
        if i in statics:
            return python_value(parameter, statics[i])
        buffer = buffers[places[i]]
        of_type = array_type(signature.subject, parameter, buffer.dtype, buffer.shape)
        return recorder.array(places[i], of_type, warp_shape(of_type, buffer.shape))

    native = recorder.native(threading.get_ident())
    with in_this_thread(internals.host_functions(recorder.names)), internals.native_functions(native):
        function(*(stand_in(i, parameter) for i, parameter in enumerate(signature.parameters)))
    if not recorder.launches:
        recorder.refuse("it launches no kernel")
    return recorder
