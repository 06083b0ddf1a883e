"""The network with inhibitory plasticity of Vogels et al. (2011): excitatory neurons settle at a target rate.

``python -m event_ops_harness.networks.inhibitory_stdp`` simulates it, prints a table and draws a figure.

| file            | answers                                                           |
|-----------------|-------------------------------------------------------------------|
| network.py      | the parameters, one time step, what a synapse learns, a run       |
| __main__.py     | the program, from its options to the figure                       |
"""
