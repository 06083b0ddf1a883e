"""The gradient of a run through its spikes: one native call forwards, and one backwards, of a whole batch."""
