"""The network with inhibitory plasticity of Vogels et al. (2011): excitatory neurons settle at a target rate.

``python -m event_ops_harness.networks.inhibitory_stdp`` simulates it, prints a table and draws a figure.

| file            | answers                                                           |
|-----------------|-------------------------------------------------------------------|
| model.py        | what are the parameters, and in which units?                      |
| network.py      | what happens in one time step, and what does one synapse learn?   |
| simulation.py   | how is a network drawn and run, and what is kept of it?           |
| figure.py       | rates over time, rasters before and after, weights                |
| cli.py          | the program, from its options to the figure                       |
| rivals/         | the same in Brian2, for the benchmark and for its statistics      |
"""
