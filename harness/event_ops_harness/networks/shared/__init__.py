"""Shared parts of all networks.

| file          | answers                                                         |
|---------------|-----------------------------------------------------------------|
| program.py    | how does a command become a simulation, tables and a figure?    |
| cli.py        | which options have all networks?                                |
| processes.py  | how do the processes of one simulation start, meet and end?     |
| blocks.py     | which device has which neurons?                                 |
| simulation.py | how are steps run in chunks, and their spikes recorded?         |
| statistics.py | how regular are the spikes of each neuron?                      |
| display.py    | which table is shown at the end?                                |
| figures.py    | which panels do figures have?                                   |
| rivals.py     | how is another simulator started, and asked for measurements?   |
| worker.py     | how does a simulation of ours answer as such a rival?           |
"""
