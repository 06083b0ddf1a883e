"""Plasticity by a rule of one synapse: a plain function, applied where neurons spiked."""

from event_ops.plasticity.at_spikes import on_post as on_post
from event_ops.plasticity.at_spikes import on_pre as on_pre
