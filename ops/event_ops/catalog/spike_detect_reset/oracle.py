from event_ops.kernels.oracle.lif import each_neuron


def spike_detect_reset(V_m, *, V_th, V_reset, surrogate=None):
    def neuron(V, V_th, V_reset):
        return (V_reset, True) if V_th < V else (V, False)

    return each_neuron(neuron, (V_m,), (V_th, V_reset), surrogate)
