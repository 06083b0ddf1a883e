"""`XLACustomKernel`: one JAX primitive, many backends; operators by name, and a backend for a block."""

import contextlib
import functools
import inspect
from collections.abc import Callable, Generator, Sequence
from types import FrameType
from typing import Any, Final, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ffi_bridge.errors import UnknownBackendError
from ffi_bridge.native.exact import exact_key
from ffi_bridge.native.outs import Outs
from ffi_bridge.native.tracing import align_varying
from ffi_bridge.operators import dispatch
from ffi_bridge.operators.backends import Backend, in_order, listing, platform_of
from ffi_bridge.operators.call import Call, check_static, needs_of
from ffi_bridge.operators.definition import Definition
from ffi_bridge.operators.dispatch import Choice, Explanation
from ffi_bridge.operators.primitive import make_eager, make_primitive
from ffi_bridge.operators.registry import Origin, Registry
from ffi_bridge.operators.rules import Flat
from ffi_bridge.operators.tuning import Row, Signature, row_for, rows_of

# How many calls of one operator, with other outs, static arguments or backend, are kept compiled.
_CACHED = 4096
_CONFIG: Any = jax.config  # its attributes are not declared
_Prepared = tuple[Call, Callable[..., Any]]  # a call, and its compiled form in the structure of outs


class XLACustomKernel(Definition):
    """`outs = kernel(*ins, outs=..., **static)`, on the best backend there is.

    The backend is chosen when a call is compiled: `backend=` of the call, else
    `use_backend`, else what `set_default` says, else the row of a tuning table (`def_tuning`), else
    the definition's default, else the order of preference (cpu: numba_cpu, warp, reference; gpu:
    numba_cuda, warp, triton, pallas, reference; then the rest as registered). A backend that was
    not asked for by name and whose package is missing is skipped; `explain` says which runs, and
    why the others do not.

    Works under jit, grad, vmap, scan, while, cond, remat and shard_map. Without a declared jvp rule
    the tangents are those of the reference, or without a reference those of the backend, such as
    `numba_kernel(..., differentiable=True)`; without a declared batching rule `jax.vmap` maps the
    backend's callable.

    Args:
        name: the operator's name; unique, but a definition that is executed again (a notebook cell, a
            reloaded module) replaces the operator.

    Raises:
        DuplicateNameError: the name belongs to another definition.

    Example:
        >>> import jax
        >>> from ffi_bridge import XLACustomKernel
        >>> kernel = XLACustomKernel("doubled")
        >>> _ = kernel.def_reference(lambda **_: lambda x: 2 * x)
        >>> kernel(jax.numpy.arange(3.0), outs=jax.ShapeDtypeStruct((3,), "float32"))
        Array([0., 2., 4.], dtype=float32)
        >>> print(kernel.explain())
        doubled on cpu: reference (the first in the order of preference)
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._prepare = functools.lru_cache(_CACHED)(self._make_prepared)
        self._primitive = make_primitive(self)
        # The caller's line, by which a definition that is executed again is known.
        definition = cast(FrameType, cast(FrameType, inspect.currentframe()).f_back)
        OPERATORS.register(name, self, Origin.of(definition))
        dispatch.forget(name)

    def __repr__(self) -> str:
        return f"XLACustomKernel({self.name!r}, {listing(self.backends)})"

    def __call__(self, *ins: Any, outs: Any, backend: str | None = None, **static: Any) -> Any:
        """Return the outputs, in the structure of `outs`.

        Args:
            ins: arrays.
            outs: a `jax.ShapeDtypeStruct`, or a pytree of them.
            backend: run on this one or not at all; default: choose, as the class says.
            static: hashable values that the builder gets; they are constants of the compiled
                code.

        Raises:
            UnknownBackendError: `backend` is not registered; lists what exists.
            BackendUnavailableError: `backend`, or `use_backend`'s, cannot run: with the reason, and
                what can.
            StaticArgumentError: a keyword argument is traced or not hashable; names it.
            KernelDefinitionError: `outs` is no pytree of shapes and dtypes, or not what the backend returns.
            ShardedInputError: an input is split over explicit mesh axes outside `jax.shard_map`.
        """
        call, eager = self._prepared(outs, backend, static)
        for x in ins:
            if isinstance(x, Tracer):
                arrays = [jnp.asarray(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in ins]
                return call.outs.restore(self.bind(call, arrays))
        # The same as bind, without the detour through the primitive's evaluation rule.
        return eager(*ins)

    def bind(self, call: Call, ins: Sequence[Any]) -> Flat:
        """Return the outputs of one call, flat."""
        return self._primitive.bind(*align_varying(ins), call=call, batch=())

    def chosen(self, device: str, call: Call, ins: Sequence[Any], outs: Sequence[Any]) -> Backend:
        """Return the backend that `call` runs on, under this JAX platform, with these shapes and dtypes."""
        with self._lock:  # later definitions must reach the functions that are compiled now
            self._lowered = True
        return self._choice(device, call.backend, dict(call.static), ins, outs).made()[0]

    def explain(
        self,
        *ins: Any,
        outs: Any = None,
        backend: str | None = None,
        platform: str | None = None,
        **static: Any,
    ) -> Explanation:
        """Return the backend that this call runs on, with the reasons for and against each; `print` it.

        Takes what a call takes, plus `platform`; default: the platform of the inputs' devices,
        where they are committed to one, else JAX's default. Tuning tables are read only where
        `outs` is given. Raises what the call raises for a backend that cannot run.
        """
        check_static(self.name, static)
        wanted = backend if backend is not None else self._scoped_choice()
        device = platform_of(platform or _platform(ins))
        flat = () if outs is None else Outs.of(outs).flat
        typed = [x if isinstance(x, jax.ShapeDtypeStruct) else jax.typeof(x) for x in ins]
        return self._choice(device, wanted, static, typed, flat).explained()

    def _choice(
        self, device: str, wanted: str | None, static: dict[str, Any], ins: Sequence[Any], outs: Sequence[Any]
    ) -> Choice:
        """Return the choice of a backend; `outs`: none where they are not known."""
        needs = (*(str(out.dtype) for out in outs), *needs_of(static))
        rows = self._rows(device) if wanted is None and outs else ()
        tuned = row_for(rows, Signature.of(static, ins, outs)) if rows else None
        first = self._first(device)
        return Choice(self.name, device, self.backends_in_force, wanted, first, needs, tuned)

    def available_backends(self, platform: str) -> list[str]:
        """Return the backends that can run on `platform` here, in the order they are tried."""
        platform = platform_of(platform)
        here = self.backends_in_force.get(platform, {})
        ordered = in_order(here, platform, self._first(platform))
        return [name for name in ordered if here[name].obstacle(platform) is None]

    @property
    def defaults(self) -> dict[str, str]:
        """Return platform -> the backend that is tried first where no tuning table says otherwise; a copy."""
        return {
            platform: in_order(names, platform, self._first(platform))[0]
            for platform, names in self.backends.items()
        }

    def set_default(self, platform: str, backend: str | None) -> None:
        """Try `backend` first on `platform`, whatever a tuning table says; None: back to the definition.

        Takes effect at the next call in every thread, also of functions under `jax.jit` that were
        compiled before. No cache is cleared: the change is part of the caches' keys, so each jitted
        function of the process is traced again once, at its next call, and what was compiled under
        earlier defaults is kept. Setting the default back costs nothing: the earlier code is found
        again. Exceptions: functions compiled ahead of time (`.lower().compile()`) and exported ones
        stay as they are, and what another thread is tracing while the default changes may get
        either backend, and keep it.

        A default that cannot run is skipped as any other backend is.

        Raises:
            UnknownBackendError: `platform` or `backend` is not known; lists what exists.
        """
        platform = platform_of(platform)
        here = self.backends_in_force.get(platform, {})
        if backend is not None and backend not in here:
            raise UnknownBackendError(
                f"operator {self.name!r} has no backend {backend!r} on {platform}; "
                f"there are: {listing(self.backends)}"
            )
        # With tuning tables, the definition's default is a choice too: it goes before their rows.
        undone = (
            self.tuning is None and backend in in_order(here, platform, self._asdefault.get(platform))[:1]
        )
        dispatch.change_default(self.name, platform, None if undone else backend)

    def _scoped_choice(self) -> str | None:
        """Return the backend that the innermost `use_backend` block sets for this operator."""
        for backend, operators in dispatch.scopes():
            if self.name in operators or (not operators and backend in self.backend_names):
                return backend
        return None

    def _first(self, device: str) -> str | None:
        platform = platform_of(device)
        return dispatch.changed_default(self.name, platform) or self._asdefault.get(platform)

    def _rows(self, device: str) -> tuple[Row, ...]:
        """Return the rows of the tuning table; none where the user has set a default."""
        platform = platform_of(device)
        if dispatch.changed_default(self.name, platform) is not None:
            return ()
        return rows_of(self.tuning, device, self.name, platform)

    def _prepared(self, outs: Any, backend: str | None, static: dict[str, Any]) -> _Prepared:
        # Not `Outs.of`: this runs at every call, and checks cost more than the look-up.
        leaves, tree = jax.tree.flatten(outs)
        choice = self._scoped_choice() if backend is None else backend
        values = tuple(static.values())
        # Contents: 1, 1.0 and True are equal. x64, because it decides which dtypes outs may have.
        rest = choice, tuple(static), values, tuple(map(exact_key, values)), _CONFIG.jax_enable_x64
        try:
            return self._prepare(tree, tuple(leaves), *rest)
        except TypeError:
            check_static(self.name, static)
            flat = Outs.of(outs)  # other leaves than ShapeDtypeStruct may be unhashable
            return self._prepare(flat.tree, flat.flat, *rest)

    def _make_prepared(
        self,
        tree: Any,
        leaves: tuple[Any, ...],
        backend: str | None,
        names: tuple[str, ...],
        values: tuple[Any, ...],
        # These two are parts of the cache's key alone.
        exactly: tuple[Any, ...],
        x64: bool,
    ) -> _Prepared:
        if backend is not None:
            self.check_backend(backend)
        outs = Outs.of(jax.tree.unflatten(tree, leaves))
        call = Call(self.name, outs, dict(zip(names, values, strict=True)), backend)
        return call, make_eager(self._primitive, call)


OPERATORS: Final[Registry[XLACustomKernel]] = Registry()


def _platform(ins: Sequence[Any]) -> str:
    for x in ins:
        if isinstance(x, jax.Array) and not isinstance(x, Tracer) and x.committed:
            return next(iter(x.devices())).platform
    device = _CONFIG.jax_default_device
    return getattr(device, "platform", device) or jax.default_backend()


def get_operator(name: str) -> XLACustomKernel:
    """Return the operator called `name`; raise UnknownOperatorError, which lists the names that exist."""
    return OPERATORS.get(name)


def get_operators(tag: str | None = None) -> dict[str, XLACustomKernel]:
    """Return name -> operator, sorted by name; only operators that carry `tag` where one is given. A copy."""
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
    with dispatch.scope(backend, frozenset(operator.name for operator in named)):
        yield
