"""CUDA graphs: a loop of small kernels as one launch."""

from typing import Final

# Operations that XLA may record into a graph; XLA's own list lacks WHILE, that is all loops.
_COMMANDS: Final = ("FUSION", "CUBLAS", "CUBLASLT", "CUSTOM_CALL", "CUDNN", "DYNAMIC_SLICE_FUSION", "WHILE")


def graph_options() -> dict[str, str | int]:
    """Return `compiler_options` for `jax.jit` that make XLA run loops on a GPU as CUDA graphs.

    By default XLA records no loops, and nothing shorter than five kernels: a `lax.scan` of small kernels then
    spends its time on launches. `jax.jit(f, compiler_options=ffi_bridge.graph_options())` records it, our
    kernels among the others, two steps at a time, so that no step's result has to be copied. The options
    belong to this one function, and have no effect on a CPU.

    Returns:
        `xla_gpu_enable_command_buffer`, `xla_gpu_graph_min_graph_size` and
        `xla_gpu_enable_while_loop_double_buffering`, for jax 0.10 to 0.12.

    Source: XLA's debug options, xla/debug_options_flags.cc.
    """
    return {
        "xla_gpu_enable_command_buffer": ",".join(_COMMANDS),
        "xla_gpu_graph_min_graph_size": 1,
        "xla_gpu_enable_while_loop_double_buffering": True,
    }
