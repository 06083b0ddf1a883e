"""Identify a kernel by its contents: its code, and the code of everything that it calls."""
