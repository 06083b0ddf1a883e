"""The network with STDP of Morrison et al. (2007), as NEST's ``hpc_benchmark`` has it.

``python -m event_ops_harness.networks.hpc_benchmark`` simulates it, prints a table and draws a figure.

| file            | answers                                                            |
|-----------------|--------------------------------------------------------------------|
| model.py        | what are the parameters, and who projects to whom?                 |
| network.py      | what happens in one time step, what does a synapse learn, how is it run? |
| static.py       | how do blocks of it, without learning, exchange spikes?            |
| __main__.py     | the program, from its options to the figure                        |
"""
