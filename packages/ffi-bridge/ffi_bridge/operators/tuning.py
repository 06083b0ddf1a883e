"""Tuning tables: calls for which another backend than the first in the documented order was faster.

A folder holds one JSON file per kind of device, such as `cpu.json`, named after JAX's `device_kind`, in lower
case and with a hyphen for any other characters than letters and digits. A choice is made when a call is
compiled, so a row can ask only for what is static: dtypes, bools and strings among the static arguments, and
the number of elements of all inputs and outputs. How many events are active is data, so a row stands for
every density measured at its sizes: at each of them its backend was faster, beyond noise.

A file is read once per process, at the first choice that asks for it, and is constant from then on: JAX's
caches need not know of it. A missing file is passed over; so is one that cannot be read, with one warning.
`FFI_BRIDGE_TUNING=off` in the environment, read once too, turns every table off.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
import os
import re
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final, cast

import jax

from ffi_bridge.errors import TuningTableWarning

FORMAT: Final = 1  # of the files; those of another format are not read
SWITCH: Final = "FFI_BRIDGE_TUNING"

Folder = Path | str  # a str is "package:folder"


@dataclass(frozen=True)
class Signature:
    """The properties of a call that a row can ask for.

    `dtypes` of inputs and outputs, "float32 bool -> float32"; `flags`, the static arguments that are bools or
    strings, "name=value"; `elements` of all inputs and outputs, None where a dimension is symbolic.
    """

    dtypes: str
    flags: tuple[str, ...]
    elements: int | None

    @classmethod
    def of(cls, static: Mapping[str, Any], ins: Sequence[Any], outs: Sequence[Any]) -> Signature:
        """Return the signature of a call; `ins` and `outs` have a shape and a dtype each."""
        dtypes = " -> ".join(" ".join(str(x.dtype) for x in xs) for xs in (ins, outs))
        plain = sorted((name, value) for name, value in static.items() if isinstance(value, (bool, str)))
        shapes: list[tuple[Any, ...]] = [x.shape for x in (*ins, *outs)]
        is_sized = all(isinstance(extent, int) for shape in shapes for extent in shape)
        elements = sum(map(prod, shapes)) if is_sized else None
        return cls(dtypes, tuple(f"{name}={value}" for name, value in plain), elements)


@dataclass(frozen=True)
class Row:
    """Run calls of `operator` with above < elements <= up_to on `backend`, `ratio` times as fast as `over`.

    `up_to` None: however many. `ratio` is the smallest that was measured, on a device of `device_kind`.
    """

    operator: str
    platform: str
    dtypes: str
    flags: tuple[str, ...]
    above: int
    up_to: int | None
    backend: str
    over: str
    ratio: float
    device_kind: str

    def holds(self, call: Signature) -> bool:
        """Return whether the row is about this call of its operator."""
        if call.elements is None or (call.dtypes, call.flags) != (self.dtypes, self.flags):
            return False
        return self.above < call.elements and (self.up_to is None or call.elements <= self.up_to)

    def __str__(self) -> str:
        size = f"above {self.above}" if self.up_to is None else f"{self.above + 1} to {self.up_to}"
        if not self.above:
            size = "any number of" if self.up_to is None else f"up to {self.up_to}"
        faster = f"{self.ratio:.1f} x as fast as {self.over}"
        return f"tuned: {size} elements, {faster}, measured on {self.device_kind}"


_LOCK = threading.Lock()
_TABLES: dict[tuple[Folder, str], tuple[Row, ...]] = {}


def rows_of(folder: Folder | None, device: str, operator: str, platform: str) -> tuple[Row, ...]:
    """Return the rows about an operator in the table for the first device of this JAX platform."""
    kind = None if folder is None or not _switched_on() else _device_kind(device)
    if folder is None or kind is None:
        return ()
    rows = _table(folder, kind)
    return tuple(row for row in rows if (row.operator, row.platform) == (operator, platform))


def row_for(rows: Sequence[Row], call: Signature) -> Row | None:
    """Return the first row that is about a call."""
    return next((row for row in rows if row.holds(call)), None)


def slug(device_kind: str) -> str:
    """Return the name of the file for this kind of device, without its ending."""
    return re.sub(r"[^a-z0-9]+", "-", device_kind.lower()).strip("-")


@functools.cache
def _switched_on() -> bool:
    return os.environ.get(SWITCH, "").lower() != "off"


def _device_kind(device: str) -> str | None:
    try:
        return str(jax.local_devices(backend=device)[0].device_kind)
    except RuntimeError:  # compiled here for a platform of another machine
        return None


def _table(folder: Folder, kind: str) -> tuple[Row, ...]:
    cached = _TABLES.get((folder, kind))
    if cached is not None:
        return cached
    rows: tuple[Row, ...] = ()
    wrong = ""
    try:
        rows = _read(folder, kind)
    except Exception as error:  # a wrong table must not make a call fail
        wrong = f"{type(error).__name__}: {error}"
    with _LOCK:  # not while reading, which may import a package
        first = (folder, kind) not in _TABLES
        table = _TABLES.setdefault((folder, kind), rows)
    if wrong and first:
        warnings.warn(
            f"the tuning table {slug(kind)}.json in {folder} is ignored: {wrong}. Backends are chosen in the "
            f"documented order; write the file anew, delete it, or set {SWITCH}=off",
            TuningTableWarning,
            stacklevel=2,
        )
    return table


def _read(folder: Folder, kind: str) -> tuple[Row, ...]:
    if isinstance(folder, Path):
        file = folder / f"{slug(kind)}.json"
    else:
        package, _, inner = folder.partition(":")
        file = importlib.resources.files(package) / inner / f"{slug(kind)}.json"
    return parse(file.read_text(encoding="utf-8"), kind) if file.is_file() else ()


def parse(text: str, kind: str) -> tuple[Row, ...]:
    """Return the rows of a file for this kind of device; raise ValueError, which names the mistake."""
    table = _mapping("the file", json.loads(text))
    if table.get("format") != FORMAT:
        raise ValueError(f"its format is {table.get('format')!r}; expected {FORMAT}")
    if table.get("device_kind") != kind:
        raise ValueError(f"it was measured on {table.get('device_kind')!r}; expected {kind!r}")
    if not isinstance(table.get("rows"), list):
        raise ValueError(f"its rows are {table.get('rows')!r}; expected a list")
    return tuple(_row(f"row {i}", row, kind) for i, row in enumerate(table["rows"]))


_FIELDS: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("operator", "platform", "dtypes", "backend", "over"), (str,)),
    "flags": (list,),
    "above": (int,),
    "up_to": (int, type(None)),
    "ratio": (int, float),
}


def _row(subject: str, value: Any, kind: str) -> Row:
    row = _mapping(subject, value)
    for name, types in _FIELDS.items():
        if type(row.get(name, ...)) not in types:  # a bool is no int
            expected = " or ".join(t.__name__ for t in types)
            raise ValueError(f"{subject} has {name} {row.get(name, 'missing')!r}; expected {expected}")
    above, up_to = row["above"], row["up_to"]
    # `not >` refuses a NaN, too.
    if above < 0 or (up_to is not None and up_to <= above) or not row["ratio"] > 0:
        raise ValueError(
            f"{subject} is above {above}, up to {up_to}, ratio {row['ratio']}; expected "
            "0 <= above < up_to and a positive ratio"
        )
    fields: dict[str, Any] = {name: row[name] for name in _FIELDS}
    fields["flags"] = tuple(map(str, row["flags"]))
    return Row(**fields, device_kind=kind)


def _mapping(subject: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{subject} is a {type(value).__name__}; expected an object")
    return cast("dict[str, Any]", value)
