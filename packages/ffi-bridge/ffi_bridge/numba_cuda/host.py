"""Replace the functions that launch kernels and allocate arrays on a GPU, for one thread and a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.errors import KernelDefinitionError
from ffi_bridge.native.patched_in_thread import Replacement, in_this_thread
from ffi_bridge.numba_cuda.compile import compilers

THREADS_FOR_ALL: Final = 256  # of `kernel.forall`, which would ask the driver for the best occupancy


class Session(Protocol):
    """Takes launches, and stands in for those functions of the module `cuda` that need a device."""

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
