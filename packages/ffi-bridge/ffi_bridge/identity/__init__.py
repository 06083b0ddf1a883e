"""The contents by which a kernel is known: its own code, and that of everything it calls."""
