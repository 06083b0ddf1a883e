"""Name what can come of a cell of the conformance matrix: words that its files hold, and pages show."""

from __future__ import annotations

from typing import Final

PASSED: Final = "passed"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"
