"""An address is followed to the stores through it, also where a call leaves it on the stack."""

from llvmlite import binding as llvm

from ffi_bridge.numba_cpu.pointers import Followed

# The load comes before the call that leaves the address where it looks, and in a loop behind it.
LOOP = """
define void @leave(ptr %slot, ptr %x) {
  store ptr %x, ptr %slot
  ret void
}
define void @kernel(ptr %x, ptr %other, i1 %more) {
begin:
  %slot = alloca ptr
  store ptr %other, ptr %slot
  br label %loop
loop:
  %found = load ptr, ptr %slot
  store i8 1, ptr %found
  call void @leave(ptr %slot, ptr %x)
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


def test_a_load_finds_what_a_call_behind_it_has_left_a_turn_before():
    fate = Followed(llvm.parse_assembly(LOOP)).fate("kernel", 0)
    assert not fate.is_read_only and (fate.stored or fate.maybe_stored)


def test_a_search_that_was_kept_for_one_address_is_not_that_of_another():
    followed = Followed(llvm.parse_assembly(LOOP))
    # Of the second argument no call leaves anything, and the first is followed behind it.
    assert followed.fate("kernel", 1).maybe_stored or followed.fate("kernel", 1).stored
    assert followed.fate("kernel", 0).maybe_stored or followed.fate("kernel", 0).stored
