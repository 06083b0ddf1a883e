"""Whole networks as programs, each with its model, step and report; their rivals; shared parts."""
