"""Every exception and warning of ffi_bridge.

An exception that a kernel raises while it runs arrives as `jax.errors.JaxRuntimeError`, with the kernel's
name, the exception's type and its message.
"""


class FFIBridgeError(Exception):
    """The base of every exception of this package."""


class KernelTypeError(FFIBridgeError, TypeError):
    """A kernel cannot be compiled for the arguments of this call."""


class KernelDefinitionError(FFIBridgeError, ValueError):
    """Outputs, aliases or options of a kernel contradict one another."""


class KernelChangedError(FFIBridgeError, RuntimeError):
    """A kernel would be compiled with values from outside that differ from when it was wrapped."""


class BackendUnavailableError(FFIBridgeError, RuntimeError):
    """A backend was asked for by name and cannot run on this machine."""


class UnknownBackendError(FFIBridgeError, ValueError):
    """A backend or platform was named that is not registered."""


class UnknownOperatorError(FFIBridgeError, ValueError):
    """An operator was named that is not registered."""


class DuplicateNameError(FFIBridgeError, ValueError):
    """An operator name is taken by another definition."""


class StaticArgumentError(FFIBridgeError, TypeError):
    """A keyword argument of an operator is traced or not hashable."""


class MissingRuleError(FFIBridgeError, NotImplementedError):
    """An operator was differentiated without a rule or a reference to do so."""


class RuleError(FFIBridgeError, TypeError):
    """A differentiation or batching rule has the wrong arity, or returns a wrong result."""


class CopiedInputWarning(UserWarning):
    """A kernel may write to an input, where that cannot be followed: each call copies the input first."""


class KernelCacheWarning(UserWarning):
    """Compiled kernels on disk are not used, and are compiled in every process."""


class PythonFallbackWarning(UserWarning):
    """A function is run in Python at every call, and no CUDA graph can record it."""


class TuningTableWarning(UserWarning):
    """A tuning table cannot be read, and backends are chosen in the documented order."""


class UnknownAPIWarning(UserWarning):
    """The installed jaxlib has a version of XLA FFI that is newer than any that was compared."""


class UntestedVersionWarning(UserWarning):
    """The installed Numba, numba-cuda or Warp is newer than the last one whose inner names were tested.

    `warnings.simplefilter("ignore", UntestedVersionWarning)` silences it, before the first kernel is made.
    """


class ShardedInputError(FFIBridgeError, ValueError):
    """Inputs are on several devices in a way for which a call is not known to be right."""


class MissingTargetError(FFIBridgeError, RuntimeError):
    """An exported program calls machine code that this process does not have."""


class UnsupportedPlatformError(FFIBridgeError, RuntimeError):
    """Native handlers cannot exist on this machine."""
