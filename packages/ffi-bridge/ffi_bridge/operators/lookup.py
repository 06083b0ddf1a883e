"""Find operators by name or tag, and choose a backend for all calls of a block."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from ffi_bridge.errors import UnknownBackendError
from ffi_bridge.operators import selection
from ffi_bridge.operators.kernel import OPERATORS, XLACustomKernel


def get_operator(name: str) -> XLACustomKernel:
    """Return the operator called `name`; raise UnknownOperatorError, which lists the names that exist."""
    return OPERATORS.get(name)


def get_operators(tag: str | None = None) -> dict[str, XLACustomKernel]:
    """Return name -> operator, sorted by name; only those that carry `tag` where one is given. A copy."""
    return {name: op for name, op in OPERATORS.all().items() if tag is None or tag in op.tags}


@contextlib.contextmanager
def use_backend(backend: str, *operators: XLACustomKernel | str) -> Generator[None]:
    """Run calls within the block on `backend` (this thread only; the innermost block wins).

    Args:
        backend: name of a backend that some operator has registered.
        operators: the operators, or their names; default: every operator that has `backend`
            registered, on whichever platform. `backend=` in a call goes before the block.

    A function under `jax.jit` is traced once for each choice that it is called with: the choice is
    part of its caches' keys, and no cache is cleared. A backend that cannot run raises
    BackendUnavailableError when the call is compiled.

    Raises:
        UnknownBackendError: no operator, or one of `operators`, lacks `backend`; lists what exists.
        UnknownOperatorError: no operator has this name; lists what exists.

    Example:
        >>> from ffi_bridge import XLACustomKernel, use_backend
        >>> kernel = XLACustomKernel("halved")
        >>> _ = kernel.def_reference(lambda **_: lambda x: x / 2)
        >>> with use_backend("reference"):
        ...     kernel.explain().why
        'asked for by name'
    """
    named = [get_operator(op) if isinstance(op, str) else op for op in operators]
    for operator in named:
        operator.check_backend(backend)
    existing = sorted({name for op in get_operators().values() for name in op.backend_names})
    if not named and backend not in existing:
        raise UnknownBackendError(
            f"no operator has a backend {backend!r}; there are: {', '.join(existing) or 'none'}"
        )
    with selection.scope(backend, frozenset(operator.name for operator in named)):
        yield
