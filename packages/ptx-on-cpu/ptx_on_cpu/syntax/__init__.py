"""PTX text as functions, instructions and variables."""
