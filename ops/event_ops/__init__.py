"""Event-driven operators for spiking neural networks in JAX: one function, many backends, one definition."""

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any as _Any

from event_ops import eventprop as eventprop
from event_ops import network as network
from event_ops import plasticity as plasticity
from event_ops import surrogate as surrogate
from event_ops.catalog.adex_step.op import adex_step as adex_step
from event_ops.catalog.alif_step.op import alif_step as alif_step
from event_ops.catalog.compact_event_arrivals.op import compact_event_arrivals as compact_event_arrivals
from event_ops.catalog.compact_event_matvec.op import compact_event_matvec as compact_event_matvec
from event_ops.catalog.compact_matvec.op import compact_matvec as compact_matvec
from event_ops.catalog.csr_event_arrivals.op import csr_event_arrivals as csr_event_arrivals
from event_ops.catalog.csr_event_deliver.op import csr_event_deliver as csr_event_deliver
from event_ops.catalog.csr_event_matmat.op import csr_event_matmat as csr_event_matmat
from event_ops.catalog.csr_event_matvec.op import csr_event_matvec as csr_event_matvec
from event_ops.catalog.csr_gap_current.op import csr_gap_current as csr_gap_current
from event_ops.catalog.csr_matmat.op import csr_matmat as csr_matmat
from event_ops.catalog.csr_matvec.op import csr_matvec as csr_matvec
from event_ops.catalog.csr_normalize.op import csr_normalize as csr_normalize
from event_ops.catalog.csr_rewire.op import csr_rewire as csr_rewire
from event_ops.catalog.csr_scale_rows.op import csr_scale_rows as csr_scale_rows
from event_ops.catalog.csr_sddmm.op import csr_sddmm as csr_sddmm
from event_ops.catalog.csr_tocsc.op import csr_tocsc as csr_tocsc
from event_ops.catalog.csr_todense.op import csr_todense as csr_todense
from event_ops.catalog.dense_event_matmat.op import dense_event_matmat as dense_event_matmat
from event_ops.catalog.dense_event_matvec.op import dense_event_matvec as dense_event_matvec
from event_ops.catalog.ell_event_matvec.op import ell_event_matvec as ell_event_matvec
from event_ops.catalog.ell_matvec.op import ell_matvec as ell_matvec
from event_ops.catalog.expsyn_step.op import expsyn_step as expsyn_step
from event_ops.catalog.hh_cond_exp_step.op import hh_cond_exp_step as hh_cond_exp_step
from event_ops.catalog.izhikevich_step.op import izhikevich_step as izhikevich_step
from event_ops.catalog.lif_cond_alpha_step.op import lif_cond_alpha_step as lif_cond_alpha_step
from event_ops.catalog.lif_cond_exp_step.op import lif_cond_exp_step as lif_cond_exp_step
from event_ops.catalog.lif_expsyn_step.op import lif_expsyn_step as lif_expsyn_step
from event_ops.catalog.lif_step.op import lif_step as lif_step
from event_ops.catalog.normal_input.op import normal_input as normal_input
from event_ops.catalog.pack_events.op import pack_events as pack_events
from event_ops.catalog.poisson_input.op import poisson_input as poisson_input
from event_ops.catalog.procedural_event_matmat.op import procedural_event_matmat as procedural_event_matmat
from event_ops.catalog.procedural_event_matvec.op import procedural_event_matvec as procedural_event_matvec
from event_ops.catalog.procedural_matmat.op import procedural_matmat as procedural_matmat
from event_ops.catalog.procedural_matvec.op import procedural_matvec as procedural_matvec
from event_ops.catalog.read_slot.op import read_slot as read_slot
from event_ops.catalog.scatter_add.op import scatter_add as scatter_add
from event_ops.catalog.scatter_max.op import scatter_max as scatter_max
from event_ops.catalog.scatter_min.op import scatter_min as scatter_min
from event_ops.catalog.scatter_mul.op import scatter_mul as scatter_mul
from event_ops.catalog.segment_max.op import segment_max as segment_max
from event_ops.catalog.segment_min.op import segment_min as segment_min
from event_ops.catalog.segment_sum.op import segment_sum as segment_sum
from event_ops.catalog.spike_compact.op import spike_compact as spike_compact
from event_ops.catalog.spike_detect_reset.op import spike_detect_reset as spike_detect_reset
from event_ops.catalog.stdp_on_post.op import stdp_on_post as stdp_on_post
from event_ops.catalog.stdp_on_pre.op import stdp_on_pre as stdp_on_pre
from event_ops.catalog.stp_step.op import stp_step as stp_step
from event_ops.catalog.trace_decay.op import trace_decay as trace_decay
from event_ops.catalog.uniform_input.op import uniform_input as uniform_input
from event_ops.catalog.unpack_events.op import unpack_events as unpack_events
from event_ops.checks.values import validate as validate
from event_ops.messages.gspmm import gsddmm as gsddmm
from event_ops.messages.gspmm import gspmm as gspmm
from event_ops.neurons.step import NeuronStep as NeuronStep
from event_ops.neurons.step import neuron_step as neuron_step
from event_ops.segments.exponentials import segment_log_softmax as segment_log_softmax
from event_ops.segments.exponentials import segment_logsumexp as segment_logsumexp
from event_ops.segments.exponentials import segment_softmax as segment_softmax
from event_ops.segments.reductions import segment_mean as segment_mean
from event_ops.segments.reductions import segment_prod as segment_prod
from event_ops.segments.reductions import segment_var as segment_var
from event_ops.sparse.compact import CompactCSR as CompactCSR
from event_ops.sparse.csr import CSR as CSR
from event_ops.sparse.ell import ELL as ELL
from event_ops.sparse.events import Events as Events
from event_ops.sparse.exchange import exchange_spikes as exchange_spikes
from event_ops.sparse.procedural import procedural_tocsr as procedural_tocsr
from event_ops.sparse.procedural import procedural_todense as procedural_todense
from event_ops.sparse.sharded import ShardedCompactCSR as ShardedCompactCSR
from event_ops.sparse.sharded import ShardedCSR as ShardedCSR
from event_ops.sparse.sharded import shard_csr as shard_csr

__version__ = "0.1.0"


def __getattr__(name: str) -> _Any:
    if name == "discover":  # a list of the operators, which none of them needs
        return _import_module("event_ops.discover")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    # Rooms of the package, which imports leave among its names, are inner ones.
    public = eventprop, network, plasticity, surrogate
    names = (name for name, x in globals().items() if not isinstance(x, _ModuleType) or x in public)
    return sorted({"discover", *(x for x in names if x.startswith("__") or not x.startswith("_"))})
