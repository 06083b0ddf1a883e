"""Train a recurrent spiking network on 8x8 images of digits, by surrogate gradients through time.

64 input neurons -> 200 leaky integrate-and-fire neurons, recurrent -> 10 counters of weighted spikes. Each
pixel spikes once, the brighter the earlier. Neurons are connected sparsely, at random; the synapses that
there are learn: their weights are the `data` of CSR matrices, whose rows are the presynaptic neurons.

    python train_digits.py --epochs 15 --seed 0
"""

import argparse
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import csr_event_matmat, lif_step, trace_decay
from event_ops.surrogate import atan

try:
    from sklearn.datasets import load_digits
except ImportError:
    load_digits = None

PIXELS, NEURONS, CLASSES = 64, 200, 10
STEPS, BATCH, LEARNING_RATE = 25, 48, 3e-3
NEURON = {"tau_m": 10.0, "E_L": 0.0, "V_th": 1.0, "V_reset": 0.0, "t_ref": 2.0, "dt": 1.0}  # ms, mV
TAU_SYN = 5.0  # ms


def load(rng):
    """Images as (n, 64) in [0, 1], and their digits: four fifths to train with, the rest to test with."""
    images, digits = load_digits(return_X_y=True)
    order = rng.permutation(len(digits))
    images, digits = (images[order] / 16).astype(np.float32), digits[order]
    cut = 4 * len(digits) // 5
    return (images[:cut], digits[:cut]), (images[cut:], digits[cut:])


def connect(rng, pre, post, density, gain):
    """Random synapses of `pre` neurons onto `post`: their weights, and where they are (indices, indptr)."""
    present = rng.random((pre, post)) < density
    weights = rng.normal(0, gain / np.sqrt(density * pre), present.sum())
    indptr = np.concatenate([[0], np.cumsum(present.sum(1))])
    return weights.astype(np.float32), (present.nonzero()[1].astype(np.int32), indptr.astype(np.int32))


def build(rng):
    """Return the parameters to learn, and the structure of the sparse ones."""
    w_in, to_hidden = connect(rng, PIXELS, NEURONS, density=0.2, gain=6.0)
    w_rec, recurrent = connect(rng, NEURONS, NEURONS, density=0.1, gain=1.0)
    w_out = rng.normal(0, 1 / np.sqrt(NEURONS), (CLASSES, NEURONS)).astype(np.float32)
    weights = {"in": w_in, "rec": w_rec, "out": w_out, "bias": np.zeros((CLASSES, 1), np.float32)}
    return jax.tree.map(jnp.asarray, (weights, {"in": to_hidden, "rec": recurrent}))


def encode(images):
    """Spikes (steps, pixels, batch): each pixel that is not black spikes once, the brighter the earlier."""
    when = jnp.round((1 - images.T) * (STEPS - 1))
    return (jnp.arange(STEPS, dtype=when.dtype)[:, None, None] == when) & (images.T > 0)


def logits(weights, structure, images):
    """(classes, batch): the spikes of all steps, counted, weighted."""

    def arriving(name, spikes):  # row i holds the synapses of neuron i: the cost follows the spikes
        shape = len(spikes), NEURONS
        return csr_event_matmat(weights[name], *structure[name], spikes, shape=shape, transpose=True)

    def step(state, pixels):
        V_m, refractory, I_syn, spikes, count = state
        arrived = arriving("in", pixels) + arriving("rec", spikes)
        I_syn = trace_decay(I_syn, arrived, tau=TAU_SYN, dt=NEURON["dt"])
        V_m, refractory, spikes = lif_step(V_m, refractory, I_syn, **NEURON, surrogate=atan(alpha=2.0))
        return (V_m, refractory, I_syn, spikes, count + spikes), None

    zeros = jnp.zeros((NEURONS, len(images)), images.dtype)
    (*_, count), _ = jax.lax.scan(step, (zeros,) * 5, encode(images))
    return weights["out"] @ count + weights["bias"]


def loss(weights, structure, images, digits):
    """Mean cross-entropy."""
    chances = jax.nn.log_softmax(logits(weights, structure, images), axis=0)
    return -jnp.take_along_axis(chances, digits[None], axis=0).mean()


def adam(weights, grads, state, rate=LEARNING_RATE, b1=0.9, b2=0.999, epsilon=1e-8):
    """One step of Adam (Kingma and Ba 2015): the new weights and (number of steps, moments)."""
    steps, m, v = state
    steps += 1
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g**2, v, grads)
    scale = rate * jnp.sqrt(1 - b2**steps) / (1 - b1**steps)
    return jax.tree.map(lambda w, m, v: w - scale * m / (jnp.sqrt(v) + epsilon), weights, m, v), (steps, m, v)


@jax.jit
def train_epoch(weights, state, structure, batches):
    """Go through the batches once; the mean loss comes last."""

    def step(carry, batch):
        value, grads = jax.value_and_grad(loss)(carry[0], structure, *batch)
        return adam(carry[0], grads, carry[1]), value

    (weights, state), losses = jax.lax.scan(step, (weights, state), batches)
    return weights, state, losses.mean()


@jax.jit
def accuracy(weights, structure, images, digits):
    """The share of images whose digit has the highest logit."""
    return (logits(weights, structure, images).argmax(0) == digits).mean()


def train(epochs, seed):
    """Yield the mean loss and the test accuracy of each epoch."""
    rng = np.random.default_rng(seed)
    (images, digits), test = load(rng)
    weights, structure = build(rng)
    zeros = jax.tree.map(jnp.zeros_like, weights)
    state = jnp.zeros(()), zeros, zeros
    for _ in range(epochs):
        order = rng.permutation(len(digits))[: len(digits) // BATCH * BATCH].reshape(-1, BATCH)
        weights, state, mean = train_epoch(weights, state, structure, (images[order], digits[order]))
        yield mean, accuracy(weights, structure, *test)


def main():
    """Print a line per epoch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15, help="times through the training set (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of split, connectivity and order (%(default)s)")
    options = parser.parse_args()
    if load_digits is None:
        print("scikit-learn, which ships the digits, is missing: pip install scikit-learn", file=sys.stderr)
        return 2
    start = time.perf_counter()
    print("epoch   loss  test accuracy  seconds")
    for epoch, (mean, share) in enumerate(train(options.epochs, options.seed), 1):
        print(f"{epoch:5}  {mean:5.3f}  {share:13.1%}  {time.perf_counter() - start:7.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
