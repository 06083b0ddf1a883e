"""The COBA benchmark network (Brette et al. 2007, benchmark 1) on the catalog's operators.

``python -m event_ops_harness.networks.coba`` simulates it, prints a table and draws a figure.
What is not here is that of all balanced networks, in ``balanced``.

| file            | answers                                                           |
|-----------------|-------------------------------------------------------------------|
| model.py        | what are the parameters, and in which units?                      |
| network.py      | what happens in one time step, built from catalog operators       |
| sharded.py      | the same network over several devices                             |
| cli.py          | the program                                                       |
| rivals/         | the network as a rival of Brian2 and NEST, for the benchmark      |
"""
