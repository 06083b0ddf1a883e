"""The host side of numba-cuda, `kernel[grid, block](...)` and `cuda.device_array`, led somewhere else."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final, Protocol

from numba import cuda
from numba.cuda import dispatcher

from ffi_bridge.launch_extents import LaunchExtents

# Names of numba-cuda are replaced for as long as a function runs.
_redirecting: Final = threading.RLock()

THREADS_FOR_ALL: Final = 256  # of `kernel.forall`, which asks the driver for the best occupancy otherwise

_CUDA: Any = cuda
_DISPATCHER: Any = dispatcher.CUDADispatcher


class Session(Protocol):
    """Who takes launches, and the functions of `numba.cuda` that have something to do with a device."""

    @property
    def names(self) -> Mapping[str, Callable[..., Any]]:
        """Functions of `numba.cuda` by name."""
        ...

    def launch(self, kernel: Any, extents: LaunchExtents, arguments: Sequence[Any]) -> None:
        """In place of a launch."""
        ...


class _Configured:
    """`kernel[grid, block, stream, shared]`."""

    def __init__(self, session: Session, kernel: Any, grid: Any, block: Any, *rest: Any) -> None:
        shared = rest[1] if len(rest) > 1 else 0
        self._session, self._kernel = session, kernel
        self._extents = LaunchExtents.of(grid, block, None, 1, shared)

    def __call__(self, *arguments: Any) -> None:
        self._session.launch(self._kernel, self._extents, arguments)


@contextlib.contextmanager
def redirected(session: Session) -> Generator[None]:
    """Within this thread launches and allocations of numba-cuda go to the session."""
    thread = threading.get_ident()

    def in_place(owner: Any, name: str, ours: Callable[..., Any]) -> Callable[[], None]:
        theirs = getattr(owner, name)

        def either(*args: Any, **kwargs: Any) -> Any:
            return (ours if threading.get_ident() == thread else theirs)(*args, **kwargs)

        setattr(owner, name, either)
        return lambda: setattr(owner, name, theirs)

    def configured(kernel: Any, key: tuple[Any, ...]) -> _Configured:
        return _Configured(session, kernel, *key)

    def for_all(kernel: Any, tasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> _Configured:
        threads = tpb or THREADS_FOR_ALL
        return _Configured(session, kernel, -(-tasks // threads), threads, stream, sharedmem)

    with _redirecting:
        undo = [
            in_place(_DISPATCHER, "__getitem__", configured),
            in_place(_DISPATCHER, "forall", for_all),
            *(in_place(_CUDA, name, function) for name, function in session.names.items()),
        ]
        try:
            yield
        finally:
            for restore in undo:
                restore()
