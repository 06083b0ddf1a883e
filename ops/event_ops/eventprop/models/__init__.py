"""Exact spikes, and gradients of them, of neurons of a model of one's own."""
