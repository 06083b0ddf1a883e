"""Shared parts of all networks.

| file          | answers                                                         |
|---------------|-----------------------------------------------------------------|
| cli.py        | which options have all networks, and how does a command end?    |
| processes.py  | how do the processes of one simulation start, meet and end?     |
| blocks.py     | which device has which neurons?                                 |
| simulation.py | how are steps run in chunks, and their spikes recorded?         |
| statistics.py | how regular are the spikes of each neuron?                      |
| display.py    | what is shown at the end?                                       |
| rivals.py     | how is another simulator started, and asked for measurements?   |
| worker.py     | how does a simulation of ours answer as such a rival?           |
"""
