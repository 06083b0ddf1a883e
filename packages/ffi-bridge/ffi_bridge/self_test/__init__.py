"""A kernel of each toolchain, compiled and run: a module each, with a function `run`."""
