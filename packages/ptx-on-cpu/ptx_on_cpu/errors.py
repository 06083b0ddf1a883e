"""Errors of this package.

PtxError
├── PtxSyntaxError     text that is no PTX
├── UnsupportedError   PTX that cannot be run here, by name
└── LaunchError        a kernel that did what it must not, or arguments that it does not take
"""


class PtxError(Exception):
    """Any error of this package."""


class PtxSyntaxError(PtxError):
    """Text that is no PTX."""


class UnsupportedError(PtxError):
    """An instruction, a register or a function that cannot be run on a CPU."""


class LaunchError(PtxError):
    """A launch that failed: an invalid access, a race, threads that wait for ever, wrong arguments."""
