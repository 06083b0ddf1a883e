"""What arguments must be: checked when a call is traced, and by their values where those are known."""
