"""Event-driven operators for spiking neural networks in JAX: one function, many backends, one definition."""

from event_ops.catalog.csr_event_matvec.op import csr_event_matvec as csr_event_matvec
from event_ops.catalog.csr_matvec.op import csr_matvec as csr_matvec
from event_ops.catalog.expsyn_step.op import expsyn_step as expsyn_step
from event_ops.catalog.lif_step.op import lif_step as lif_step
from event_ops.catalog.scatter_add.op import scatter_add as scatter_add
from event_ops.catalog.spike_compact.op import spike_compact as spike_compact
from event_ops.catalog.trace_decay.op import trace_decay as trace_decay

__version__ = "0.1.0"
