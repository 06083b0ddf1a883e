"""The cortical microcircuit (Potjans and Diesmann 2014) on the catalog's operators.

``python -m event_ops_harness.networks.microcircuit`` simulates it, prints tables and draws a figure.

| file            | answers                                                           |
|-----------------|-------------------------------------------------------------------|
| model.py        | what are the parameters, and what are they in a smaller network?  |
| rows.py         | how are a neuron's synapses drawn?                                |
| connectivity.py | who projects to whom, as a matrix                                 |
| delivery.py     | which synapses add when, stored, or drawn anew at each spike?     |
| network.py      | what comes from outside, and what happens in one time step?       |
| declared.py     | the same network as a declaration, whose run is one call          |
| sharded.py      | the same network over several devices                             |
| checkpoint.py   | the state in a file, to go on from                                |
| statistics.py   | statistics of single neurons; are they NEST's, or is it chance?   |
| report.py       | the tables and the figure at the end                              |
| __main__.py     | the options, and a run from them to the figure                    |
"""
