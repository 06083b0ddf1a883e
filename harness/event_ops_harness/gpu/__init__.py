"""Tests and measurements that need an NVIDIA GPU, each step in a fresh process."""
