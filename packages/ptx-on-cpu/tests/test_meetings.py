"""Meetings that go wrong are found by name and place, in any order of threads, and right ones pass."""

import functools
import random
import re

import meetings_oracle
import numpy as np
import pytest
from compile_kernels import ALL_CHECKS, line_of, of_cuda, of_text
from ptx_text import PLACE, kernel, module, parameters

from ptx_on_cpu import LaunchError, Module, UnsupportedError

FILE = "meetings.cu"
SEEDS = [None, 1, 2]
T = np.arange(128)
X = np.ones(512, np.int32)

PASSED = "has passed the place by: it has ended"
# The threads of a block, other arguments than y, and what the message says.
WRONG = {
    "passed_by_some": (128, [], f"all threads of the block, and thread (100, 0, 0) {PASSED}"),
    "passed_by_warps": (128, [], f"thread (64, 0, 0) {PASSED}"),
    "counted_by_some": (128, [], f"thread (64, 0, 0) {PASSED}"),
    "one_for_even_two_for_odd": (128, [], f"thread (0, 0, 0) {PASSED}"),
    "more_turns_for_odd": (128, [], "thread (1, 0, 0) waits for all threads of the block, and thread (0, 0"),
    "more_turns_for_odd_warps": (128, [], "thread (32, 0, 0) waits for all threads of the block"),
    "passed_by_the_last": (128, [X, np.int32(300)], f"thread (44, 0, 0) {PASSED}"),
    "met_by_the_next_barrier": (
        128,
        [],
        "thread (64, 0, 0) has passed the place by: it waits at meetings.cu",
    ),
    "half_a_warp_shuffles": (32, [], f"all lanes of 0xffffffff, and thread (16, 0, 0) {PASSED}"),
    "half_a_warp_votes": (32, [], f"thread (16, 0, 0) {PASSED}"),
    "half_a_warp_waits": (32, [], f"all lanes of 0xffffffff, and thread (16, 0, 0) {PASSED}"),
    "met_by_the_next_shuffle": (32, [], "thread (16, 0, 0) has passed the place by: it waits at meetings.cu"),
    "not_in_the_mask": (
        32,
        [],
        "thread (16, 0, 0) is lane 16, which the mask 0xffff that it passes does not",
    ),
    "waits_without_itself": (32, [], "thread (16, 0, 0) is lane 16, which the mask 0xffff"),
    "reads_a_lane_that_returned": (32, [], "thread (8, 0, 0) reads the value of lane 16, which has ended"),
    "reads_a_lane_beyond_the_mask": (32, [], "reads the value of lane 16, which is not in the mask 0xffff"),
    "more_than_it_waits_for": (128, [], "more threads have come to barrier 1 than the 64"),
    "no_multiple_of_a_warp": (64, [], "barrier 1 for 48 threads; expected"),
    "no_such_barrier": (64, [], "waits at barrier 17 for all threads; expected one from 0 to 15"),
    "different_counts": (128, [], "barrier 1 for different numbers of threads, or with different operations"),
    "half_a_warp_counts": (128, [], "threads wait for ever"),
}
LEFT_OUT = sum((T % 7) * (T % 7 - 1) // 2 + i * (T % 5) for i in range(6))
LEFT_OUT += np.where(T > 120, 0, sum((T % 7) * (T % 7 - 1) // 2 + i * (T % 5) for i in (6, 7)))
RIGHT = {
    "returned_before": (128, [], np.where(T < 100, T, 0)),
    "returned_before_with_a_value": (128, [], T),
    "returned_in_turns": (128, [np.int32(5)], np.where(T < 100, T + 5, np.maximum(0, 104 - T))),
    "left_out_by_all": (128, [np.int32(8)], LEFT_OUT),
    "left_out_in_turns": (128, [np.int32(3)], np.where(T < 40, 14, 4)),
    "returned_before_votes": (32, [], np.where(T < 20, 1003, 0)),
    "in_two_branches": (32, [], np.where(T < 32, (T ^ 16) + 1000 * (T > 15), 0)),
    "a_last_warp_of_four": (100, [], np.where(T < 100, T, 0)),
    "produced_and_consumed": (100, [], np.where(T < 36, T + 64, 0)),
    "aggregated_in_two_branches": (32, [], np.r_[8, 24, [1] * 8, [2] * 24, [0] * 94]),
    "together_again": (64, [], np.where(T < 64, 32 + 800 * (T % 32 < 8), 0)),
    "in_turns": (32, [], np.where(T < 32, np.array([0, 24, 40, 48])[T % 4], 0)),
    "while_others_wait": (32, [np.zeros(1, np.int32)], np.where(T == 0, 1, np.where(T < 32, 5, 0))),
}


@functools.cache
def compiled(name):
    return of_cuda(FILE).kernel(name, ALL_CHECKS)


def launch(name, threads, others, seed):
    y = np.zeros(128, np.int32)
    others = [x.copy() if isinstance(x, np.ndarray) else x for x in others]
    compiled(name).launch((1,), (threads,), [y, *others], seed=seed, patience=1 << 16)
    return y


@pytest.mark.parametrize("name", WRONG)
def test_a_meeting_that_goes_wrong_is_found(name):
    threads, others, says = WRONG[name]
    for seed in SEEDS:
        with pytest.raises(LaunchError) as caught:
            launch(name, threads, others, seed)
        for piece in (f"kernel '{name}'", "block (0, 0, 0)", line_of(FILE, f" {name}(", "// here"), says):
            assert piece in str(caught.value)


@pytest.mark.parametrize("name", RIGHT)
def test_a_meeting_that_is_right_passes(name):
    threads, others, wanted = RIGHT[name]
    for seed in SEEDS:
        np.testing.assert_array_equal(launch(name, threads, others, seed), wanted)


Y = parameters("y")


def result_of(lines, threads=32):
    y = np.zeros(threads, np.int32)
    Module(module(kernel(f"{PLACE} {lines} st.global.u32 [%rd2], %r6;", Y))).kernel("k").launch(
        (1,), (threads,), [y]
    )
    return y


def test_one_lane_is_elected():
    y = result_of("elect.sync %r6|%p1, 0xffffffff; selp.u32 %r7, 100, 0, %p1; add.u32 %r6, %r6, %r7;")
    np.testing.assert_array_equal(y, [100] + 31 * [0])


@pytest.mark.parametrize("vote", ["vote.ballot.b32 %r6, %p2;", "activemask.b32 %r6;"])
def test_without_a_mask_those_meet_that_are_at_one_instruction(vote):
    y = result_of(f"setp.lt.s32 %p1, %r1, 8; setp.ge.s32 %p2, %r1, 0; @%p1 {vote} @!%p1 {vote}")
    np.testing.assert_array_equal(y.view(np.uint32), 8 * [0xFF] + 24 * [0xFFFFFF00])


def test_lanes_meet_by_the_same_instruction_with_all_its_modifiers():
    reductions = "@%p1 redux.sync.min.s32 %r6, %r1, -1; @!%p1 redux.sync.min.u32 %r6, %r1, -1;"
    with pytest.raises(LaunchError, match="wait for ever"):
        result_of(f"setp.lt.s32 %p1, %r1, 8; {reductions}")


def test_barriers_of_clusters_are_refused():
    with pytest.raises(UnsupportedError, match=r"barrier\.cluster\.arrive"):
        Module(module(kernel("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"))).kernel("k")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(200))
def test_barriers_are_judged_as_a_walk_of_each_thread_says(number):
    rng = random.Random(number)
    statements = meetings_oracle.program(rng)
    walks = [meetings_oracle.Walk(statements, t) for t in range(meetings_oracle.THREADS)]
    body = meetings_oracle.source(statements)
    text = f'extern "C" __global__ void k(volatile int* y, int one) {{ int t = threadIdx.x; {body} }}'
    made = of_text(text.encode()).kernel("k")
    for seed in (None, number):
        y = np.zeros(meetings_oracle.THREADS, np.int32)
        found = None
        try:
            made.launch((1,), (y.size,), [y, np.int32(1)], seed=seed)
            np.testing.assert_array_equal(y.view(np.uint32), [walk.total for walk in walks])
        except LaunchError as error:
            found = error
        is_right = meetings_oracle.are_right(walks)
        if is_right is not None:
            assert (found is None) == is_right
        assert found is None or re.search(r"passed the place by|at different places", str(found))
