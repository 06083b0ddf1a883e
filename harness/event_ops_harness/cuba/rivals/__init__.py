"""The CUBA network in other simulators, each in a process (and environment) of its own.

A worker is a program that builds the network once and then simulates on demand, so that a
benchmark can interleave the rivals and no build time is ever measured:

    argument:  one JSON object: neurons, steps, seed, threads, model (the fields of CubaParameters)
    stdout:    one line {"ready": {...versions and settings...}}
    stdin:     one line per wish to simulate `steps` time steps (continuing where it stopped)
    stdout:    one line {"seconds": wall clock of the loop alone, "spikes": count}
"""
