"""Shared parts of the balanced networks of Vogels and Abbott (2005), benchmarks of Brette et al. (2007).

| file            | answers                                                           |
|-----------------|-------------------------------------------------------------------|
| network.py      | what are their parameters, and what does a simulation record?     |
| connectivity.py | who projects to whom: drawn at random, or read from a file        |
| report.py       | the table and the figure at the end                               |
| cli.py          | the options, and a run from them to the figure                    |
"""
