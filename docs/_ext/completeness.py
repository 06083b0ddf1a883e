"""The reference is complete: every public name has an entry, or the build says which one has none."""

import ast
import importlib
import inspect
from collections.abc import Iterable
from typing import Any

from sphinx.util import logging

_LOG = logging.getLogger(__name__)
PACKAGES = ("ffi_bridge", "event_ops", "event_ops_harness.conformance", "ptx_on_cpu", "ptx_on_cpu.counters")


def setup(app: Any) -> dict[str, bool]:
    """Look when every page has been read."""
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True}


def check(app: Any, env: Any) -> None:
    """Warn of each public name that no page describes; warnings are errors."""
    for name in missing(env.get_domain("py").objects):
        _LOG.warning("%s is public, and no page of the reference describes it", name)


def missing(described: Iterable[str]) -> list[str]:
    """Return the public names that no page describes."""
    entries = set(described)
    return [name for package in PACKAGES for name in public_names(package) if name not in entries]


def public_names(package: str) -> list[str]:
    """Return `package.name` of all that a package lists in `__all__`, or imports as itself."""
    module = importlib.import_module(package)
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = _imported_as_themselves(inspect.getsource(module))
    return [f"{package}.{name}" for name in listed]


def _imported_as_themselves(source: str) -> list[str]:
    imports = (node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom))
    # `import x as x` is how a package without `__all__` says that x is public (PEP 484).
    return [alias.name for node in imports for alias in node.names if alias.asname == alias.name]
