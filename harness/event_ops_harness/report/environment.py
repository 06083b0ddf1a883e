"""Where figures come from: the machine, the versions, and each input with its command, date and commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from event_ops_harness.report.inputs import Inputs

_MACHINE: Final = ("cpu", "cores", "system", "device")


@dataclass(frozen=True)
class Source:
    """One input; `differs` says where its machine or versions are not those at the top."""

    name: str
    command: str
    date: str
    commit: str
    differs: str


@dataclass(frozen=True)
class Environment:
    """The machine and the versions that come first in the inputs, and the inputs."""

    machine: Mapping[str, str]
    versions: Mapping[str, str]
    sources: tuple[Source, ...]


def environment(inputs: Inputs) -> Environment:
    """What every input says of itself."""
    common: dict[str, str] = {}
    for content in inputs.found.values():
        common = _described(content) | common
    machine = {key: common[key] for key in _MACHINE if key in common}
    versions = {key: value for key, value in common.items() if key not in machine}
    sources = (_source(name, content, common) for name, content in inputs.found.items())
    return Environment(machine, versions, tuple(sources))


def _described(content: Mapping[str, Any]) -> dict[str, str]:
    machine = content.get("machine")
    found = dict(machine) if isinstance(machine, dict) else {}
    if "device" in content:
        found["device"] = content["device"]
    return {str(key): str(value) for key, value in found.items()}


def _source(name: str, content: Mapping[str, Any], common: Mapping[str, str]) -> Source:
    own = _described(content)
    differs = ", ".join(f"{key} {value}" for key, value in own.items() if common[key] != value)
    command, date, commit = (str(content.get(key, "")) for key in ("command", "date", "commit"))
    return Source(f"{name}.json", command, date, commit, differs)
