"""`python -m event_ops`: every operator, its backends, and which of them would run here."""

import jax

import event_ops
from event_ops.discover import operators


def main() -> None:
    """Print a line for each operator: its backends on JAX's platform, first the one that would run."""
    platform = {"cuda": "gpu"}.get(jax.default_backend(), jax.default_backend())
    print(f"event_ops {event_ops.__version__} on {platform}; the first runs, unless a tuning table differs")
    for operator in operators():
        print(f"{operator.name:<28}{', '.join(operator.kernel.available_backends(platform)) or 'none'}")


if __name__ == "__main__":
    main()
