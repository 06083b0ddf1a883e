"""The network with STDP of Morrison et al. (2007), as NEST's ``hpc_benchmark`` has it.

``python -m event_ops_harness.networks.hpc_benchmark`` simulates it, prints a table and draws a figure.

| file            | answers                                                           |
|-----------------|-------------------------------------------------------------------|
| model.py        | what are the parameters, and in which units?                      |
| connectivity.py | who projects to whom, in the order of the sources and the targets |
| network.py      | what happens in one time step, and what does one synapse learn?   |
| simulation.py   | how is it run, and what is kept of it?                            |
| static.py       | how do blocks of it, without learning, exchange spikes?           |
| figure.py       | a raster, rates over time, weights                                |
| cli.py          | the program, from its options to the figure                       |
| rivals/         | the same in NEST, for the benchmark and for its statistics        |
"""
