"""Whether a pointer has a tangent: asked when a derivative runs only where it is not known before."""

import pytest

from ffi_bridge.numba_cpu.derivatives.from_enzyme import decided, from_enzyme

FUNCTION = """define void @diffeprimal(ptr noalias %a, ptr noalias %"a'", ptr noalias %b, i64 %n) {{
  %own = call ptr @malloc(i64 %n)
  %"own'" = tail call noalias ptr @calloc(i64 1, i64 %n)
  %loaded = load ptr, ptr %own, align 8
  %moved = getelementptr inbounds [8 x i8], ptr %a, i64 %n
  %either = phi ptr [ null, %0 ], [ %own, %1 ], [ %moved, %2 ]
  %chosen = select i1 true, ptr %"own'", ptr %"a'"
  %asked = icmp {}
  ret void
}}
"""


@pytest.mark.parametrize("how", ["eq", "ne"])
@pytest.mark.parametrize("pair", ['%a, %"a\'"', '%own, %"own\'"', "%either, %chosen", "%own, %b"])
def test_addresses_in_different_memory_differ(how, pair):
    assert decided(FUNCTION.format(f"{how} ptr {pair}")) == FUNCTION.format(f"{how} i1 true, false")


@pytest.mark.parametrize("pair", ["%a, %b", "%either, %b", "%own, %either", '%loaded, %"a\'"', "%a, null"])
def test_others_are_asked(pair):
    text = FUNCTION.format(f"eq ptr {pair}")
    assert decided(text) == text


def test_a_first_derivative_asks_nothing_of_its_buffers():
    assert "icmp eq i1 true, false" in from_enzyme(FUNCTION.format('eq ptr %a, %"a\'"'))
