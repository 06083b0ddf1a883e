"""What identifies a kernel: its own code, and that of everything it calls."""
