"""The network with inhibitory plasticity of Vogels et al. (2011): excitatory neurons settle at a target rate.

``python -m event_ops_harness.networks.inhibitory_stdp`` simulates it, prints a table and draws a figure.
"""
