"""The CUBA benchmark network (Brette et al. 2007, benchmark 2) on the catalog's operators.

``python -m event_ops_harness.networks.cuba`` simulates it, prints a table and draws a figure.
What is not here is that of all balanced networks, in ``balanced``.

| file            | answers                                                           |
|-----------------|-------------------------------------------------------------------|
| model.py        | what are the parameters, and in which units?                      |
| network.py      | what happens in one time step, built from catalog operators       |
| fused.py        | the same step as one kernel of the user's own                     |
| sharded.py      | the same network over several devices                             |
| cli.py          | the program                                                       |
| rivals/         | the network as a rival of Brian2 and NEST, for the benchmark      |
"""
