"""Plasticity by a rule of one synapse: a plain function, applied where neurons spiked."""

from event_ops.plasticity.at_spikes import on_post as on_post
from event_ops.plasticity.at_spikes import on_pre as on_pre
from event_ops.plasticity.decay import decayed as decayed
from event_ops.plasticity.decay import decaying as decaying
from event_ops.plasticity.rules import triplet_post as triplet_post
from event_ops.plasticity.rules import triplet_pre as triplet_pre
from event_ops.plasticity.rules import vogels_post as vogels_post
from event_ops.plasticity.rules import vogels_pre as vogels_pre
