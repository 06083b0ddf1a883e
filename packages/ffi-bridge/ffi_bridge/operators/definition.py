"""The definition of an operator: its backends, its rules, its tags."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ffi_bridge.errors import KernelTypeError, UnknownBackendError
from ffi_bridge.operators import dispatch
from ffi_bridge.operators.backends import PLATFORMS, Backend, Backends, Builder, listing, platform_of
from ffi_bridge.operators.jvp import declared_jvp, per_input_jvp
from ffi_bridge.operators.rules import Rule, Rules, check_arity
from ffi_bridge.operators.tuning import Folder

G = TypeVar("G", bound="Builder | str")
F = TypeVar("F", bound=Callable[..., Any])


class Definition:
    """The `def_*` methods of an operator; each returns its argument, so it may be a decorator."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tags: frozenset[str] = frozenset()
        self.reference: Backend | None = None
        self.rules = Rules()
        self.backends: dict[str, dict[str, Backend]] = {}
        self._asdefault: dict[str, str] = {}
        self.tuning: Folder | None = None
        # Whether programs may have been compiled by what was defined so far.
        self._lowered = False
        self._lock = threading.RLock()

    def def_kernel(
        self, backend: str, platform: str, builder: G, asdefault: bool = False, *, lacks: Sequence[str] = ()
    ) -> G:
        """Define `backend` on `platform` ("cpu", "gpu" or "tpu"), or define it anew.

        Args:
            backend: the backend's name.
            platform: where it runs; "gpu" is CUDA and ROCm.
            builder: `(**kwargs) -> callable(*ins)`, or its name "package.module:function". kwargs
                are `outs`, as given in the call, and the call's static keyword arguments; the
                callable returns one array per leaf of `outs`: an array, a sequence, or the
                structure of `outs`.
            asdefault: try this backend first on `platform`.
            lacks: what the backend cannot do: dtypes of outputs ("int8") and values of static arguments
                ("deterministic=True"). Calls that ask for it take another backend.

        Raises:
            UnknownBackendError: `platform` is not known; lists what exists.
            KernelTypeError: `builder` is neither a function nor such a name.
        """
        platform = platform_of(platform)
        entry = Backend(backend, platform, builder, tuple(lacks))
        with self._lock:
            self.backends.setdefault(platform, {})[backend] = entry
            if asdefault:
                self._asdefault[platform] = backend
                # The newest word counts: a default that was set before is forgotten.
                dispatch.change_default(self.name, platform, None)
            if self._lowered:
                dispatch.note_definition(self.name)
        return builder

    def def_reference(self, builder: G, *, lacks_on_gpu: Sequence[str] = ()) -> G:
        """Define the operator in pure JAX: backend "reference" everywhere, and in derivatives."""
        for platform in PLATFORMS:
            lacks = lacks_on_gpu if platform == "gpu" else ()
            self.def_kernel("reference", platform, builder, lacks=lacks)
        self.reference = self.backends["cpu"]["reference"]
        return builder

    def def_numba_kernel(self, builder: G, asdefault: bool = False) -> G:
        """Define "numba_cpu" on cpu; the builder makes its callable with `numba_kernel`."""
        return self.def_kernel("numba_cpu", "cpu", builder, asdefault)

    def def_warp_kernel(self, builder: G, asdefault: bool = False, *, lacks_on_gpu: Sequence[str] = ()) -> G:
        """Define "warp" on gpu and cpu; made with `warp_kernel` or `warp_callable`."""
        for platform, lacks in (("gpu", lacks_on_gpu), ("cpu", ())):
            self.def_kernel("warp", platform, builder, asdefault, lacks=lacks)
        return builder

    def def_numba_cuda_kernel(self, builder: G, asdefault: bool = False, *, lacks: Sequence[str] = ()) -> G:
        """Define "numba_cuda" on gpu; made with `numba_cuda_kernel` or `numba_cuda_callable`."""
        return self.def_kernel("numba_cuda", "gpu", builder, asdefault, lacks=lacks)

    def def_pallas_kernel(self, platform: str, builder: G, asdefault: bool = False) -> G:
        """Define "pallas" on `platform`, "gpu" or "tpu"."""
        return self.def_kernel("pallas", platform, builder, asdefault)

    def def_triton_kernel(self, builder: G, asdefault: bool = False) -> G:
        """Define "triton" on gpu."""
        return self.def_kernel("triton", "gpu", builder, asdefault)

    def def_tuning(self, folder: Path | str | None) -> None:
        """Let tables of measured backends in `folder` decide before `asdefault` and the order of preference.

        Args:
            folder: a Path; or "package:folder", for data of a package; None: no tables. It holds one file
                per kind of device, see `ffi_bridge.operators.tuning`; a missing or wrong file breaks no call.

        Raises:
            KernelTypeError: `folder` is none of these.
        """
        if not (folder is None or isinstance(folder, Path)) and not all(str(folder).partition(":")):
            raise KernelTypeError(
                f"folder of operator {self.name!r} is {folder!r}; expected a pathlib.Path, or package data "
                'as "package:folder"'
            )
        with self._lock:
            self.tuning = folder
            if self._lowered:
                dispatch.note_definition(self.name)

    def def_jvp_rule(self, fun: F) -> F:
        """Declare `fun(primals, tangents, **params) -> (outs, tangents_out)`.

        A zero tangent arrives as `jax.interpreters.ad.Zero`, as those of integer inputs always do;
        a zero output tangent is returned as that, or None. params: `outs`, `backend`, the static
        keyword arguments. Raises RuleError where the signature does not fit.
        """
        check_arity(f"{self.name}.def_jvp_rule", fun, ("primals", "tangents"))
        self.rules.jvp = declared_jvp(fun)
        return fun

    def def_jvp_rule2(self, *rules: Rule | None) -> None:
        """Declare `rule(tangent, *primals, **params) -> tangent_out` for each input.

        Their sum is the tangent of the outputs. An input whose rule is None contributes nothing; a
        rule is called only where its tangent is not zero. Raises RuleError where a signature does
        not fit the number of rules.
        """
        primals = tuple(f"primal{i}" for i in range(len(rules)))
        for i, rule in enumerate(rules):
            if rule is not None:
                owner = f"{self.name}.def_jvp_rule2, rule {i} of {len(rules)}"
                check_arity(owner, rule, ("tangent", *primals))
        self.rules.jvp = per_input_jvp(rules)

    def def_transpose_rule(self, fun: F) -> F:
        """Declare `fun(cotangents, *args, **params) -> [cotangent or None per input]`.

        It is used where a jvp rule applies the operator itself to a tangent. `cotangents` has the
        structure of `outs`; the inputs that a call transposes arrive as
        `jax.interpreters.ad.UndefinedPrimal` (`.aval` has shape and dtype), and each other input gets
        None; an operator that is linear in several inputs may be transposed in some of them. Raises
        RuleError where the signature does not fit.
        """
        check_arity(f"{self.name}.def_transpose_rule", fun, ("cotangents", "*args"))
        self.rules.transpose = fun
        return fun

    def def_batching_rule(self, fun: F) -> F:
        """Declare `fun(args, axes, **params) -> (outs, out_axes)` in place of general batching.

        `axes` has the mapped axis of each input, or None; `out_axes` is one axis, or one per leaf
        of `outs`. A rule that returns NotImplemented leaves this pattern of axes to general batching.
        Raises RuleError where the signature does not fit.
        """
        check_arity(f"{self.name}.def_batching_rule", fun, ("args", "axes"))
        self.rules.batching = fun
        return fun

    def register_general_batching(self) -> None:
        """Go back to general batching: `jax.vmap` maps the callable of whichever backend runs."""
        self.rules.batching = None

    def def_tags(self, *tags: str) -> None:
        """Add tags, which `ffi_bridge.get_operators(tag)` selects by."""
        self.tags |= frozenset(tags)

    @property
    def _kernels(self) -> dict[str, dict[str, Backend]]:
        """Return `backends`, under the name by which the tutorials print them."""
        return self.backends

    @property
    def backends_in_force(self) -> Backends:
        """Return `backends`; on a CPU that emulates a GPU, the GPU's are in force, too."""
        emulated, gpu = dispatch.emulated(), self.backends.get("gpu", {})
        taken = {name: gpu[name] for name in emulated if name in gpu}
        return self.backends | {"cpu": self.backends.get("cpu", {}) | taken} if taken else self.backends

    @property
    def backend_names(self) -> list[str]:
        """Return every registered backend, on whichever platform, in the order of registration."""
        return list(dict.fromkeys(name for names in self.backends.values() for name in names))

    def check_backend(self, backend: str) -> None:
        """Raise UnknownBackendError, which lists the backends, unless `backend` is registered."""
        if backend not in self.backend_names:
            raise UnknownBackendError(
                f"operator {self.name!r} has no backend {backend!r}; there are: {listing(self.backends)}"
            )
