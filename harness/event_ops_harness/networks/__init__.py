"""Whole networks as programs: what two of them share, and each with its model, its report and its rivals."""
