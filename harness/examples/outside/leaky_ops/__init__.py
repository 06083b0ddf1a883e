"""One operator, `leaky_sum`."""

from leaky_ops.leaky_sum import leaky_sum as leaky_sum
