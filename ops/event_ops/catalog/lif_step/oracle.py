from event_ops.kernels.oracle.lif import lif_step as lif_step
