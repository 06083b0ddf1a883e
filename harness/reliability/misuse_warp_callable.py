"""Misuse of `warp_callable` on the CPU: what cannot be recorded, launches and temporaries that do not fit."""

import functools
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import warp as wp
from misuse import Misuse, called

from ffi_bridge import warp_callable
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, MissingRuleError

wp.config.quiet = True
OUT: Final = jax.ShapeDtypeStruct((8,), jnp.float32)
X: Final = np.ones(8, "f")
Floats: Final = wp.array[float]


@wp.kernel
def doubled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def _function(body: Callable[[Any, Any], object]) -> Any:
    """A function of an input and an output that does this."""

    def function(x: Any, y: Any) -> None:
        body(x, y)

    function.__annotations__ = {"x": Floats, "y": Floats}
    return function


def _launches(x: Any, y: Any) -> None:
    wp.launch(doubled, dim=8, inputs=[x], outputs=[y])


def _raises(x: Any, y: Any) -> None:
    raise ValueError("found nothing")


BODIES = {
    "reads": (lambda x, y: x.numpy(), "reads an array"),
    "prints": (lambda x, y: str(x), "reads an array"),
    "lists": (lambda x, y: x.list(), "reads an array"),
    "gives away": (lambda x, y: wp.to_jax(x), "reads an array"),
    "sums": (lambda x, y: wp.utils.array_sum(x), "native library|cannot be recorded"),
    "writes its input": (lambda x, y: wp.copy(x, y), "its input 'x' among the outputs"),
    "copies too much": (lambda x, y: wp.copy(y, x, count=9), "an array that has 8"),
    "copies from nowhere": (lambda x, y: wp.copy(y, x, src_offset=-1), "an array that has 8"),
    "names a device": (lambda x, y: wp.empty(3, dtype=float, device="cpu"), "leave `device` out"),
    "launches nothing": (lambda x, y: None, "launches no kernel"),
    "launches a function": (lambda x, y: wp.launch(_launches, dim=8, inputs=[x, y]), "no Warp kernel"),
    "too few arguments": (lambda x, y: wp.launch(doubled, dim=8, inputs=[x]), "takes 2 arguments"),
    "an array of NumPy": (lambda x, y: wp.launch(doubled, dim=8, inputs=[X, y]), "expects an array"),
    "an array of another rank": (
        lambda x, y: wp.launch(doubled, dim=8, inputs=[x.reshape((2, 4)), y]),
        "1 dimension",
    ),
    "threads beyond wp.tid()": (lambda x, y: wp.launch(doubled, dim=1 << 33, inputs=[x, y]), "wp.tid"),
}
EXTENTS = {
    "a fraction": ({"dim": 2.5}, "dim=2.5"),
    "negative": ({"dim": -1}, "dim=-1"),
    "five dimensions": ({"dim": (1,) * 5}, "one to four integers"),
    "half a thread": ({"dim": 8, "block_dim": 1.5}, "block_dim=1.5"),
    "many threads": ({"dim": 8, "block_dim": 5000}, "a block of"),
}


def _call(body: Any, *ins: Any, outs: Any = OUT, **options: Any) -> Callable[[], object]:
    return called(lambda: warp_callable(_function(body), outs, **options), *ins)


def _extents(options: dict[str, Any]) -> Callable[[], object]:
    return _call(lambda x, y: wp.launch(doubled, inputs=[x], outputs=[y], **options), X)


def _an_empty_launch() -> None:
    f = warp_callable(_function(lambda x, y: (y.zero_(), wp.launch(doubled, 0, [x, y]))), OUT)
    np.testing.assert_array_equal(f(X), 0 * X)


CASES = (
    *(
        Misuse(f"body: {name}", _call(body, X), match, KernelTypeError)
        for name, (body, match) in BODIES.items()
    ),
    *(
        Misuse(f"launch: {name}", _extents(options), match, KernelDefinitionError)
        for name, (options, match) in EXTENTS.items()
    ),
    Misuse("launch: no threads", _an_empty_launch, error=None),
    Misuse("raises when recorded", _call(_raises, X), "found nothing", ValueError),
    *(
        Misuse(
            f"no function: {x!r:.12}", lambda x=x: warp_callable(x, OUT), "needs a Python function", TypeError
        )
        for x in (doubled, None, functools.partial(_launches))
    ),
    Misuse("no annotations", lambda: warp_callable(lambda y: None, OUT), "has no annotation", ValueError),
    Misuse("outs: None", _call(_launches, X, outs=None), "outs is empty", KernelDefinitionError),
    Misuse("outs: too many", _call(_launches, X, outs=[OUT] * 3), "do not fit", KernelDefinitionError),
    Misuse("another dtype", _call(_launches, X > 0), "'x' is bool", KernelTypeError),
    Misuse("two inputs", _call(_launches, X, X), "takes 1 inputs", KernelTypeError),
    Misuse("no such vmap_method", _call(_launches, X, vmap_method="expand_dims"), "'sequential'", ValueError),
    Misuse(
        "a derivative",
        lambda: jax.jvp(warp_callable(_function(_launches), OUT), (X,), (X,)),
        "custom_jvp",
        MissingRuleError,
    ),
)
