"""Functions of segments that are made of operators: products, means, variances, softmax and its kin."""
