"""The network with STDP of Morrison et al. (2007), as NEST's ``hpc_benchmark`` has it.

``python -m event_ops_harness.networks.hpc_benchmark`` simulates it; `static` has blocks that do not learn.
"""
