"""The sections of the page, one for each benchmark: its charts, cases, tables and remarks."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from event_ops_harness.report import charts, rows, tables
from event_ops_harness.report.benchmarks import TEXTS
from event_ops_harness.report.conformance import Ids
from event_ops_harness.report.figures import span
from event_ops_harness.report.inputs import machine
from event_ops_harness.report.rows import Group
from event_ops_harness.report.tables import Table

FEW: Final = 12  # groups whose charts are shown without being asked for
# Keys of a file of statistics that are shown elsewhere on the page.
_ELSEWHERE: Final = ("command", "machine", "date", "commit", "rows")

Files = Mapping[str, Mapping[str, Any]]


def groups_of(files: Files) -> list[Group]:
    """Return the groups of all files of a benchmark; groups of two files are never merged."""
    return [group for content in files.values() for group in rows.groups(content)]


def section(name: str, files: Files, ids: Ids) -> dict[str, Any]:
    """Make the section of one benchmark; `wide` charts stand in two columns, `small` ones in three."""
    title, lead = TEXTS.get(name, (name.replace("_", " ").capitalize(), ""))
    groups = groups_of(files)
    compared = rows.compared(groups)
    curves, threads, amounts = charts.scaling(groups), charts.efficiencies(groups), charts.amounts(groups)
    few = 0 < len(compared) <= FEW and not amounts
    many = len(compared) > FEW and not (curves or threads or amounts)
    return {
        "id": ids.new(name),
        "title": title,
        "lead": lead,
        "commands": [str(content["command"]) for content in files.values() if "command" in content],
        "wide": [*(charts.overview(compared) if many else []), *curves, *threads],
        "small": charts.members(compared) if few else amounts,
        "ratios": few,
        "panels": _panels(name, compared, ids) if many else [],
        "tables": [table for stem, content in files.items() for table in _tables(stem, content, many)],
        "notes": list(dict.fromkeys(note for content in files.values() for note in _notes(content))),
    }


def _panels(name: str, groups: Sequence[Group], ids: Ids) -> list[dict[str, Any]]:
    """Make a panel of the cases of each operator, folded until it is asked for."""
    fastest = rows.figures(groups, rows.fastest_rival)
    panels: list[dict[str, Any]] = []
    for operator, members in rows.by_operator(groups).items():
        remark = f"{len(members)} {'case' if len(members) == 1 else 'cases'}"
        if ratios := fastest.get(operator):
            remark += f"; fastest rival: {span(ratios)}×"
        panels.append(
            {
                "id": ids.new(name, operator),
                "title": operator,
                "remark": remark,
                "charts": charts.members(members, short_titles=True),
                "table": tables.table("Figures", list(map(tables.by_case, members))),
            }
        )
    return panels


def _tables(stem: str, content: Mapping[str, Any], in_panels: bool) -> list[Table]:
    """Make the tables of a file; compared groups are left out where panels have them."""
    title = f"Figures of {stem}.json"
    if "steps" in content:
        return tables.of_steps(content["steps"])
    if "rows" in content:
        return [tables.table(title, content["rows"])]
    all_groups = rows.groups(content)
    gradients, paneled = rows.gradients(all_groups), rows.compared(all_groups) if in_panels else []
    rest = [group for group in all_groups if group not in gradients and group not in paneled]
    members = [tables.by_member(group, timing) for group in rest for timing in group.timings]
    return [
        *([tables.table(title, members)] if rest else []),
        *([tables.of_gradients(gradients)] if gradients else []),
    ]


def _notes(content: Mapping[str, Any]) -> list[str]:
    """Return versions that the file's machine does not name, and its remarks beside rows of statistics."""
    shown, notes = machine(content), list[str]()
    for timing in (timing for group in rows.groups(content) for timing in group.timings):
        versions: Mapping[str, Any] = timing.more.get("versions") or {}
        others = [f"{key} {value}" for key, value in versions.items() if shown.get(key) != str(value)]
        notes += [f"{timing.name}: {', '.join(others)}"] if others else []
    if "rows" in content:
        for key, value in content.items():
            if key not in _ELSEWHERE:
                notes.append(f"{key.replace('_', ' ')}: {tables.cell(key, value).text}")
    return notes
