"""Find the operators: a folder in the catalog is an operator, and nothing else lists them."""

import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from event_ops import catalog
from event_ops.cases import Case, InvalidCall, OperatorCases, Rounding
from event_ops.cases.bench import Bench
from ffi_bridge import XLACustomKernel


@dataclass(frozen=True, eq=False)  # each is one of a kind, and a key of caches
class Operator:
    """An operator with all that tests, benchmarks and pages need to know of it.

    Args:
        name: the operator's name, and that of its folder.
        function: the public function, `function(*arrays, backend=..., **static)`.
        kernel: its backends and rules.
        dtypes: those that its cases are made in, the usual one first.
        cases: named inputs, for tests, benchmarks and tuning.
        invalid_calls: wrong calls, with the errors that they must raise.
        oracle: computes in NumPy what is right, `oracle(*arrays, **static)`; None: the reference in 64 bits.
        rounding: how far values may be off; None: as far as `Case.tolerance` says.
        bench: describes the operator to benchmarks.
    """

    name: str
    function: Callable[..., Any]
    kernel: XLACustomKernel
    dtypes: tuple[str, ...]
    cases: tuple[Case, ...]
    invalid_calls: tuple[InvalidCall, ...] = ()
    oracle: Callable[..., Any] | None = None
    rounding: Rounding | None = None
    bench: Bench = field(default_factory=Bench)

    def tagged(self, tag: str) -> tuple[Case, ...]:
        """Return the cases with this tag."""
        return tuple(case for case in self.cases if tag in case.tags)


@functools.cache
def operators() -> tuple[Operator, ...]:
    """Return every operator of the catalog, sorted by name."""
    modules = pkgutil.iter_modules(catalog.__path__)
    return tuple(_load(module.name) for module in sorted(modules) if module.ispkg)


def _load(name: str) -> Operator:
    op = importlib.import_module(f"{catalog.__name__}.{name}.op")
    family = catalog.FAMILIES.get(name)
    module = _own(name, "oracle")
    oracle = getattr(module or importlib.import_module(f"event_ops.kernels.oracle.{family}"), name)
    return Operator(name, getattr(op, name), op.kernel, oracle=oracle, **_cases(name, family)._asdict())


def _cases(name: str, family: str | None) -> OperatorCases:
    """Return the cases in the operator's folder, or if it has none the ones of this name in its family."""
    module = _own(name, "cases")
    if module is None:
        return getattr(importlib.import_module(f"event_ops.cases.{family}"), name)
    bench = getattr(module, "BENCH", Bench())
    return OperatorCases(module.DTYPES, module.CASES, module.INVALID_CALLS, module.ROUNDING, bench)


def _own(name: str, file: str) -> Any:
    """Return this module of the operator's folder, or None if it has none."""
    place = f"{catalog.__name__}.{name}.{file}"
    # Not by trying to import it, which would hide an error inside the file as its absence.
    return importlib.import_module(place) if importlib.util.find_spec(place) else None
