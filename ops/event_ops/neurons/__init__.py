"""Neuron models of one's own: plain functions of one neuron, compiled into one pass over a population."""
