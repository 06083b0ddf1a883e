"""The CUBA benchmark network (Brette et al. 2007, benchmark 2) on the catalog's operators.

``python -m event_ops_harness.networks.cuba`` simulates it, prints a table and draws a figure.

| file            | answers                                                           |
|-----------------|-------------------------------------------------------------------|
| model.py        | what are the parameters, and in which units?                      |
| parameters.py   | which of them do other balanced networks have, too?               |
| connectivity.py | who projects to whom: drawn at random, or read from a file        |
| network.py      | what happens in one time step, built from catalog operators       |
| fused.py        | the same step as one kernel of the user's own                     |
| simulation.py   | what does a simulation record?                                    |
| packed.py       | how do several devices exchange spikes?                           |
| sharded.py      | the same network over several devices                             |
| analysis.py     | rates and interval statistics from recorded spikes                |
| figure.py       | raster, population rate, membrane potential                       |
| report.py       | the table at the end                                              |
| program.py      | the options, and a run from them to the figure                    |
| cli.py          | the program of this network                                       |
| rivals/         | the same network in Brian2 and NEST, for the benchmark            |
"""
