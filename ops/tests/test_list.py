"""`python -m event_ops` lists the operators with the backends that would run."""

from event_ops import __main__ as program
from event_ops.discover import operators


def test_every_operator_has_a_line_that_begins_with_its_default(capsys):
    program.main()
    first, *lines = capsys.readouterr().out.splitlines()
    assert "on cpu" in first
    found = {line.split()[0]: line.split(maxsplit=1)[1].split(", ") for line in lines}
    assert found.keys() == {operator.name for operator in operators()}
    assert all(found[x.name][0] == x.kernel.defaults["cpu"] for x in operators())
