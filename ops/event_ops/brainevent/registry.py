"""BrainEvent's registry of primitives, by its public names alone, and a backend of ours in it."""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

from event_ops.brainevent.products import Results
from event_ops.brainevent.supported_primitives import Served
from event_ops.checks.arrays import HALVES
from ffi_bridge.errors import UntestedVersionWarning

try:
    import brainevent  # pyright: ignore[reportMissingImports] # absent from Python 3.11
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "event_ops.brainevent runs programs of BrainEvent, which this Python, "
        f"{sys.version_info.major}.{sys.version_info.minor}, does not have: "
        "pip install 'event-ops[brainevent]', under Python 3.12 or newer",
        name="brainevent",
    ) from error

BACKEND: Final = "event_ops"
PLATFORMS: Final = ("cpu", "gpu")
TESTED: Final = ((0, 2), (0, 3))  # the first and the last release whose primitives take what ours do
VERSION: Final[str] = brainevent.__version__


def check_version(version: str) -> None:
    """Raise ImportError for a BrainEvent that is too old; warn of one that is newer than the last tested."""
    installed = tuple(map(int, re.findall(r"\d+", version)[:2]))
    first, last = TESTED
    if installed < first:
        raise ImportError(
            f"event_ops.brainevent serves brainevent 0.2 and 0.3, and {version} is installed, whose "
            "primitives take other arguments; pip install 'brainevent>=0.2,<0.4'"
        )
    if installed > last:
        warnings.warn(
            f"brainevent {version} is installed, and event_ops.brainevent was tested with 0.3 at most: its "
            "primitives may take other arguments; look for a newer event-ops, or compare a few steps of your "
            "program with those under EVENT_OPS_BRAINEVENT=0",
            UntestedVersionWarning,
            stacklevel=2,
        )


check_version(VERSION)


def primitives(names: Iterable[str] | None = None) -> dict[str, Any]:
    """Return BrainEvent's primitives by name: all, or the ones in `names` that this BrainEvent has."""
    registered = dict(brainevent.get_registry())
    return registered if names is None else {name: registered[name] for name in names if name in registered}


def register(served: Mapping[str, Served]) -> None:
    """Register our backend of each served primitive on each platform; again is as good as once."""
    for name, primitive in primitives(served).items():
        for platform in PLATFORMS:
            if BACKEND not in primitive.available_backends(platform):
                theirs = primitive.defaults[platform]
                primitive.def_kernel(BACKEND, platform, _generator(primitive, served[name], theirs))


def _generator(primitive: Any, served: Served, theirs: str) -> Callable[..., Callable[..., Any]]:
    """Return BrainEvent's generator of kernels: ours, or a call of theirs where it is not served."""

    def generate(**params: Any) -> Callable[..., Any]:
        weights = params.get("weight_info", params.get("w_info"))
        dtype = None if weights is None else weights.dtype  # None: of events alone
        too_many = served.most is not None and params["indices_info"].size > served.most
        if too_many or (dtype is not None and dtype not in served.dtypes):
            return lambda *arrays: primitive(*arrays, backend=theirs, **params)
        call = partial(served.compute, served.operator, SimpleNamespace(**{"weighted": False} | params))
        return _rounded(call, dtype) if dtype in HALVES else call

    return generate


def _rounded(call: Callable[..., Results], dtype: Any) -> Callable[..., Results]:
    """Return the call with its first result, sums in float32, in the dtype of the weights."""

    def rounded(*arrays: Any) -> tuple[Any, ...]:
        y, *others = call(*arrays)
        return y.astype(dtype), *others

    return rounded
