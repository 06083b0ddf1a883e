"""The cortical microcircuit (Potjans and Diesmann 2014) on the catalog's operators.

``python -m event_ops_harness.networks.microcircuit`` simulates it, prints tables and draws a figure.

| file            | answers                                                           |
|-----------------|-------------------------------------------------------------------|
| model.py        | what are the parameters, and what are they in a smaller network?  |
| rows.py         | how are a neuron's synapses drawn?                                |
| connectivity.py | who projects to whom, as a matrix                                 |
| procedural.py   | the same without a matrix: rows drawn anew at each spike          |
| inputs.py       | what comes from outside?                                          |
| network.py      | what happens in one time step, built from catalog operators       |
| simulation.py   | what does a simulation record?                                    |
| sharded.py      | the same network over several devices                             |
| checkpoint.py   | the state in a file, to go on from                                |
| statistics.py   | rates, interval CVs and correlations of single neurons            |
| permutation.py  | are these distributions those of NEST, or is it chance?           |
| figure.py       | raster by layer, distributions of rates and CVs                   |
| report.py       | the tables at the end                                             |
| cli.py          | the options, and a run from them to the figure                    |
| rivals/         | the same network in NEST, for the benchmark                       |
"""
