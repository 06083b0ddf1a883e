"""What the balanced networks of Vogels and Abbott (2005) share: benchmarks 1 and 2 of Brette et al. (2007).

| file            | answers                                                           |
|-----------------|-------------------------------------------------------------------|
| model.py        | what are their parameters, and in which units?                    |
| connectivity.py | who projects to whom: drawn at random, or read from a file        |
| simulation.py   | what does a simulation record?                                    |
| packed.py       | how do several devices exchange spikes?                           |
| analysis.py     | rates and interval statistics from recorded spikes                |
| figure.py       | raster, population rate, membrane potential                       |
| report.py       | the table at the end                                              |
| cli.py          | the options, and a run from them to the figure                    |
| rivals/         | such networks in Brian2 and NEST, for the benchmark               |
"""
