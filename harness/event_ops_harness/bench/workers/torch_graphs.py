"""Messages along edges in DGL and PyTorch Geometric, run by a Python that has them; see ``shared/rivals.py``.

Its argument names a file with a graph in CSR form, the library, the message, whether its gradient is taken,
the threads, and a file for results. A wish is a number of steps; with 0, the values of a step are written.
Each message is written as users of the library would: with DGL's fused products where they exist, and with
PyG's ``MessagePassing``, or ``EdgeIndex.matmul`` where the message is a weight times a source.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import torch

Tensors = tuple[torch.Tensor, ...]
Message = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # weights and features


def dgl_messages(indptr: torch.Tensor, indices: torch.Tensor) -> dict[str, Message]:
    """Return the messages by name; a maximum takes out of the reduction a target that is the same in it."""
    dgl = import_module("dgl")
    nodes = indptr.numel() - 1
    rows = torch.repeat_interleave(torch.arange(nodes), indptr.diff())
    graph = dgl.graph((indices, rows), num_nodes=nodes)
    graph.create_formats_()
    ops = dgl.ops

    def difference(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return ops.copy_e_sum(graph, w * torch.relu(ops.u_sub_v(graph, x, x)))

    return {
        "product": lambda w, x: ops.u_mul_e_sum(graph, x, w),
        "difference": difference,
        "maximum": lambda w, x: ops.u_mul_e_max(graph, x, w) - x,
    }


def pyg_messages(indptr: torch.Tensor, indices: torch.Tensor) -> dict[str, Message]:
    """Return the messages by name; edges are sorted by target, and PyG knows it."""
    pyg = import_module("torch_geometric")
    conv = import_module("torch_geometric.nn").MessagePassing
    nodes = indptr.numel() - 1
    rows = torch.repeat_interleave(torch.arange(nodes), indptr.diff())
    edges = pyg.EdgeIndex(torch.stack([indices, rows]), sparse_size=(nodes, nodes), sort_order="col")
    edges.fill_cache_()

    class Convolution(conv):
        # PyG reads the names of a message's inputs out of this call.
        def forward(self, w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return self.propagate(edges, x=x, w=w, size=None)

    class Difference(Convolution):
        def message(self, x_i: torch.Tensor, x_j: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return w * torch.relu(x_j - x_i)

    class Maximum(Convolution):
        def message(self, x_i: torch.Tensor, x_j: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return w * x_j - x_i

    return {
        "product": lambda w, x: edges.matmul(x, w.squeeze(1), transpose=True),
        "difference": Difference("sum"),
        "maximum": Maximum("max"),
    }


LIBRARIES = {"DGL": ("dgl", dgl_messages), "PyG": ("torch_geometric", pyg_messages)}


def step_of(request: dict[str, Any]) -> Callable[[], Tensors]:
    """Return a step: the reduction, or the gradients of its sum of squares in weights and features."""
    held = np.load(request["graph"])
    indptr, indices = (torch.from_numpy(held[x].astype(np.int64)) for x in ("indptr", "indices"))
    w, x = torch.from_numpy(held["weight"])[:, None], torch.from_numpy(held["x"])
    _, make = LIBRARIES[request["library"]]
    message = make(indptr, indices)[request["message"]]

    def gradient() -> Tensors:
        inputs = w.detach().requires_grad_(), x.detach().requires_grad_()
        of_weights, of_features = torch.autograd.grad(message(*inputs).square().sum(), inputs)
        return of_weights.squeeze(1), of_features

    def forward() -> Tensors:
        with torch.no_grad():
            return (message(w, x),)

    return gradient if request["gradient"] else forward


def serve(request: dict[str, Any]) -> None:
    torch.set_num_threads(request["threads"])
    step = step_of(request)
    name, _ = LIBRARIES[request["library"]]
    reply({"ready": {x: import_module(x).__version__ for x in ("torch", name)}})
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(steps := int(line)):
            step()
        if not steps:
            np.savez(request["result"], *(x.numpy() for x in step()))
        reply({"seconds": time.perf_counter() - start})


def reply(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
