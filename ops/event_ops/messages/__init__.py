"""Messages along the edges of a graph: any function of scalars, reduced at nodes or kept at edges."""
