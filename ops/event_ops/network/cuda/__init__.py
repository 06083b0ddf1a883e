"""The persistent kernel of a run on a GPU: its division, the lines of its parts, and device functions."""
