"""Operators with many backends: one JAX primitive for each, its rules, and the choice of a backend."""

from ffi_bridge.operators.backends import PREFERENCE, platform_of
from ffi_bridge.operators.call import Call, concrete
from ffi_bridge.operators.dispatch import Explanation, emulated
from ffi_bridge.operators.tuning import FORMAT, Signature, slug

__all__ = [
    "FORMAT",
    "PREFERENCE",
    "Call",
    "Explanation",
    "Signature",
    "concrete",
    "emulated",
    "platform_of",
    "slug",
]
