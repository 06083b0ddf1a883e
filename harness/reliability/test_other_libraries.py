"""The bridge leaves other libraries as they were: their programs give the same, whichever comes first."""

import json
from typing import Any

import pytest
from child_processes import succeed

pytestmark = pytest.mark.promise(13)


def outcomes(order: str) -> dict[str, Any]:
    by_name: dict[str, Any] = json.loads(succeed("other_libraries.py", order, limit=300).splitlines()[-1])
    return by_name


@pytest.fixture(scope="module")
def alone():
    return outcomes("alone")


@pytest.mark.parametrize("order", ["first", "last"])
def test_their_programs_give_what_they_give_alone(alone, order, record_property):
    record_property("tried", len(alone))
    by_name = outcomes(order)
    assert by_name == alone
    assert (by_name["sparse"], by_name["changes"]) == ([1.0, 2.0], [])
