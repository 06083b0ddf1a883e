"""Networks of spiking neurons: declared in parts, and run for many steps in one call."""

from event_ops.network.inputs import PoissonInput as PoissonInput
from event_ops.network.inputs import SpikeInput as SpikeInput
from event_ops.network.inputs import TimedInput as TimedInput
from event_ops.network.inputs import parrot as parrot
from event_ops.network.parts import Population as Population
from event_ops.network.parts import Record as Record
from event_ops.network.plasticity import Plasticity as Plasticity
from event_ops.network.projections import Projection as Projection
from event_ops.network.run import Network as Network
from event_ops.network.states import Recording as Recording
from event_ops.network.states import State as State
