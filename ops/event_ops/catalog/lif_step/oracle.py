from event_ops.parts.oracle.lif import lif_step as lif_step
