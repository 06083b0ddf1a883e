"""A native call and its kernel, as far as every toolchain has them in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, ClassVar, Final

import jax

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, MissingRuleError
from ffi_bridge.identity.outside import Outside
from ffi_bridge.native.outs import Outs
from ffi_bridge.native.tracing import Levels, sizes_of

# JAX's names for `vmap_method`: one call of the kernel for each element, or one for the whole batch.
BY_ELEMENT: Final = (None, "sequential", "sequential_unrolled")
IN_KERNEL: Final = ("expand_dims", "broadcast_all", "legacy_vectorized")


@dataclass(frozen=True)
class NativeCall:
    """One call: outputs without batch axes, the toolchain's own options, and batch levels."""

    outs: tuple[jax.ShapeDtypeStruct, ...]
    options: Any  # hashable
    levels: Levels = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the extent of every batch level."""
        return sizes_of(self.levels)

    def batched(self, num_inputs: int) -> tuple[tuple[bool, ...], ...]:
        """Return for each input, then each output, which levels it has an axis for."""
        # Outputs have an axis for every level, whatever the inputs have.
        ins = [tuple(level.mapped[i] for level in self.levels) for i in range(num_inputs)]
        return (*ins, *[(True,) * len(self.levels)] * len(self.outs))


@dataclass(frozen=True, eq=False)
class NativeKernel(ABC):
    """A wrapped kernel; compared by identity, since its code may change with the globals it reads."""

    vmap_method: str | None
    aliases: tuple[tuple[int, int], ...]
    outside: Outside | None = field(default=None, kw_only=True)  # None: it reads nothing
    has_side_effect: bool = field(default=False, kw_only=True)
    ordered: bool = field(default=False, kw_only=True)

    toolchain: ClassVar[str]
    noun: ClassVar[str] = "kernel"  # for errors
    derivative_hint: ClassVar[str] = ""
    for_sizes: ClassVar[bool] = True  # whether a handler is made for the sizes of one call
    is_lowered_in_place: ClassVar[bool] = False  # whether `lower` looks at what else a program computes
    vmap_methods: ClassVar[tuple[str | None, ...]]

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the kernel's own name."""

    @property
    def platforms(self) -> tuple[str, ...]:
        """Return JAX's names of the platforms that the kernel runs on."""
        return ("cpu",)

    @property
    def is_kept(self) -> bool:
        """Return whether each call runs, though nobody may read its outputs."""
        return self.has_side_effect or self.ordered

    @property
    def has_derivatives(self) -> bool:
        """Return whether the kernel says itself how it is differentiated."""
        return type(self).jvp is not NativeKernel.jvp

    @property
    def is_compiled_late(self) -> bool:
        """Return whether the kernel is compiled when a program that calls it is, not when it is traced."""
        return False

    def buffer_names(self, num_inputs: int, num_outs: int) -> tuple[str, ...]:
        """Return the names of the parameters that are buffers; raise KernelTypeError for another number."""
        return (*(f"in{i}" for i in range(num_inputs)), *(f"out{i}" for i in range(num_outs)))

    @abstractmethod
    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        """Compile and register the handler of this call, unless that was done before; return its name."""

    def target(self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str) -> str:
        """Do as `ensure_target`; raise KernelChangedError if values from outside have changed."""
        if self.outside is not None:
            self.outside.check()
        return self.ensure_target(ins, call, names, platform)

    def attributes(self, call: NativeCall) -> Mapping[str, Any]:
        """Return the attributes of the call, which its handler reads."""
        return {}

    def with_batch_axis(
        self, ins: Sequence[Any], call: NativeCall, size: int
    ) -> tuple[Sequence[Any], NativeCall]:
        """Return inputs and call for a kernel that itself sees the batch axis in front of every input."""
        outs = tuple(jax.ShapeDtypeStruct((size, *out.shape), out.dtype) for out in call.outs)
        return ins, NativeCall(outs, call.options)

    def lower(
        self, rule: Callable[..., Sequence[Any]], ctx: Any, call: NativeCall, operands: Sequence[Any]
    ) -> Sequence[Any]:
        """Return the results of a call in a program of MLIR, to which `rule` adds it."""
        return rule(ctx, *operands)

    def jvp(
        self, ins: Sequence[Any], tangents: Sequence[Any], call: NativeCall
    ) -> tuple[list[Any], list[Any]]:
        """Return the outputs and their tangents; raise MissingRuleError unless the kernel has derivatives."""
        raise MissingRuleError(
            f"kernel '{self.name}' has no derivative of its own; give one with "
            "jax.custom_jvp or jax.custom_vjp, or give it an XLACustomKernel with a jvp rule or a reference"
            + self.derivative_hint
        )

    def transpose(self, cotangents: Sequence[Any], ins: Sequence[Any], call: NativeCall) -> list[Any]:
        """Return the cotangent of each undefined input, and None for each defined one; of a linear kernel."""
        raise MissingRuleError(f"kernel '{self.name}' is not known to be linear, and cannot be transposed")

    def likely_platform(self) -> str:
        """Return the platform to compile for while tracing, when no program has named one yet."""
        # JAX has one name for the device, "gpu", and another for what programs are lowered for.
        default = {"gpu": "cuda"}.get(name := jax.default_backend(), name)
        return default if default in self.platforms else self.platforms[0]

    def results(self, call: NativeCall) -> tuple[int, ...]:
        """Return the outputs that only the kernel fills: not empty, and not aliased with an input."""
        begun = dict(self.aliases).values()
        return tuple(i for i, out in enumerate(call.outs) if i not in begun and 0 not in out.shape)

    def refuse_no_threads(self, names: Sequence[str], call: NativeCall, extents: Sequence[int]) -> None:
        """Raise KernelTypeError for a launch without threads where there are outputs that it is to fill.

        `names`: of all buffers, of which outputs are the last ones.
        """
        if 0 in extents and (unwritten := self.results(call)):
            name = names[unwritten[0] - len(call.outs)]
            raise KernelTypeError(
                f"kernel '{self.name}': a launch of {tuple(extents)} has no threads, and output '{name}', "
                f"of shape {call.outs[unwritten[0]].shape}, would hold whatever was in its memory; launch "
                "threads that write it, or let the output begin as an input"
            )

    def declared(self, outs: Any) -> Outs | Callable[..., Any]:
        """Return the outputs that a wrapper was given, flat and checked; a function of them as it is."""
        if callable(outs):
            return outs
        self.check(flattened := Outs.of(outs))
        return flattened

    def outs_of(self, outs: Any, ins: Sequence[Any], static: Mapping[str, Any]) -> Outs:
        """Return the outputs of a call, checked; `outs`: as `declared` returned them."""
        self.check(flattened := Outs.for_call(outs, f"{self.noun} '{self.name}'", ins, static))
        return flattened

    def check(self, outs: Outs) -> None:
        """Raise KernelDefinitionError for options that are unknown or contradict `outs`."""
        if self.vmap_method not in self.vmap_methods:
            raise KernelDefinitionError(
                f"vmap_method={self.vmap_method!r} is not known for a {self.toolchain} kernel; choose one of "
                f"{', '.join(map(repr, self.vmap_methods))}"
            )
        targets = [out for _, out in self.aliases]
        for ins, out in self.aliases:
            if not 0 <= out < len(outs.flat) or ins < 0 or targets.count(out) > 1:
                raise KernelDefinitionError(
                    f"input_output_aliases has {ins}: {out}; expected an input index, then an output "
                    f"index below {len(outs.flat)} that no other input has"
                )


def alias_pairs(aliases: Mapping[int, int] | None) -> tuple[tuple[int, int], ...]:
    """Return sorted (input, output) pairs; raise KernelDefinitionError unless integers map to integers."""
    try:
        return tuple(sorted((index(source), index(out)) for source, out in dict(aliases or {}).items()))
    except (TypeError, ValueError):
        raise KernelDefinitionError(
            f"input_output_aliases is {aliases!r}; expected input indices -> output indices, such as {{0: 0}}"
        ) from None
