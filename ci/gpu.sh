#!/usr/bin/env bash
# Test and measure what is due on this machine's NVIDIA GPU, offline: with the Python that is there, nothing installed.
#   ci/gpu.sh [--budget SECONDS] [--only STEP ...] [--output FILE]
# Needs jax with its CUDA plugin and numba-cuda; pytest, CuPy and Warp where there are. Exit 77: no GPU, nothing done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PYTHONPATH="packages/ptx-on-cpu:packages/ffi-bridge:ops:harness${PYTHONPATH:+:$PYTHONPATH}"
export XLA_PYTHON_CLIENT_PREALLOCATE=false
exec "${PYTHON:-python3}" -m event_ops_harness.gpu "$@"
