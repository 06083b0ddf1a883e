"""How much of this process is in memory."""

import gc
import os
from pathlib import Path
from typing import Final

STATM: Final = Path("/proc/self/statm")


def resident() -> int:
    """Bytes, after what nobody holds has been freed."""
    gc.collect()
    return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
