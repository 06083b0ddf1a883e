"""Register classes as pytrees: some attributes are leaves, the rest is static."""

import json
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import jax
from jax import export
from jax.tree_util import GetAttrKey


def register(kind: type, leaves: Sequence[str], static: Sequence[str], name: str) -> None:
    """Register a class as a pytree whose children are the attributes `leaves`, and its structure `static`.

    Exported programs call it `name`, and hold its static attributes as JSON.
    """
    keys, names = tuple(map(GetAttrKey, leaves)), (*leaves, *static)
    children_of, structure_of = _getter(leaves), _getter(static)

    def flatten(x: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return children_of(x), structure_of(x)

    def flatten_with_keys(x: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(zip(keys, children_of(x), strict=True)), structure_of(x)

    def unflatten(structure: tuple[Any, ...], children: Iterable[Any]) -> Any:
        x = object.__new__(kind)
        # Unseen: JAX passes more than arrays.
        vars(x).update(zip(names, (*children, *structure), strict=True))
        return x

    jax.tree_util.register_pytree_with_keys(kind, flatten_with_keys, unflatten, flatten)
    export.register_pytree_node_serialization(
        kind,
        serialized_name=name,
        serialize_auxdata=lambda structure: json.dumps(structure).encode(),
        deserialize_auxdata=_read,
    )


def _read(data: bytes | bytearray) -> tuple[Any, ...]:
    # JSON has no tuples, such as shapes.
    return tuple(tuple(x) if isinstance(x, list) else x for x in json.loads(bytes(data)))


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns these attributes as a tuple, even if it is only one, or none."""
    if not names:
        return lambda x: ()
    if len(names) > 1:
        return attrgetter(*names)
    only = attrgetter(*names)
    return lambda x: (only(x),)
