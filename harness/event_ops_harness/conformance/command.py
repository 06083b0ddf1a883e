"""The command of pytest with the plugins of this project, also where no distribution is installed."""

import importlib.metadata
import sys
from typing import Final

# Entry points of the distributions, by their names.
PLUGINS: Final = {
    "ffi_bridge": "ffi_bridge_pytest",
    "event_ops_harness": "event_ops_harness.conformance.plugin",
    "event_ops_harness_bench": "event_ops_harness.bench.plugin",
}


def pytest_command() -> list[str]:
    """Return the words that begin every run; plugins that pytest does not find by itself are named."""
    installed = {point.name for point in importlib.metadata.entry_points(group="pytest11")}
    named = [word for name, module in PLUGINS.items() if name not in installed for word in ("-p", module)]
    return [sys.executable, "-m", "pytest", *named, "-q", "-p", "no:cacheprovider"]
