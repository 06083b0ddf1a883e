"""The buffers of a kernel that is differentiated, by name."""

from __future__ import annotations

from typing import NamedTuple


class Buffer(NamedTuple):
    """A parameter of the kernel; `begins`: the input whose memory an output shares."""

    name: str
    is_output: bool
    is_active: bool  # has derivatives
    is_number: bool
    begins: str | None
