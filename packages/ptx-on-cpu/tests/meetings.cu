// Where threads meet: barriers that some pass by, masks that name the wrong lanes; "here" marks the line named.

#define KERNEL extern "C" __global__ void
#define ALL 0xffffffffu
#define COUNTED(number, count) asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(count) : "memory")

// Passed by ---------------------------------------------------------------------------------------------------

KERNEL passed_by_some(int* y) {
    int t = threadIdx.x;
    if (t < 100) __syncthreads();  // here
    y[t] = t;
}

KERNEL passed_by_warps(int* y) {
    int t = threadIdx.x;
    if (t < 64) __syncthreads();  // here
    y[t] = t;
}

KERNEL counted_by_some(int* y) {
    int t = threadIdx.x, found = 0;
    if (t < 64) found = __syncthreads_count(t < 50);  // here
    y[t] = found;
}

KERNEL one_for_even_two_for_odd(int* y) {
    int t = threadIdx.x;
    __syncthreads();
    if (t & 1) __syncthreads();  // here
    y[t] = t;
}

KERNEL more_turns_for_odd(int* y) {
    int t = threadIdx.x;
    for (int i = 0; i < 1 + t % 2; i++) {
        y[t] += i;
        __syncthreads();  // here
    }
    y[t] += t;
}

KERNEL more_turns_for_odd_warps(int* y) {
    int t = threadIdx.x;
    for (int i = 0; i < 1 + t / 32 % 2; i++) {
        y[t] += i;
        __syncthreads();  // here
    }
    y[t] += t;
}

// The example in the manual of compute-sanitizer.
KERNEL passed_by_the_last(int* y, const int* x, int n) {
    int t = threadIdx.x;
    for (int b = 0; b < 4; b++) {
        int i = blockDim.x * b + t;
        if (i < n) {
            y[t] += x[i];
            __syncthreads();  // here
        }
    }
    if (t == 0) y[0] += 1;
}

KERNEL met_by_the_next_barrier(int* y) {
    int t = threadIdx.x;
    if (t < 64) __syncthreads();  // here
    y[t] = t;
    __syncthreads();
    y[t] += 1;
}

KERNEL half_a_warp_shuffles(int* y) {
    int t = threadIdx.x, v = 0;
    if (t < 16) v = __shfl_xor_sync(ALL, t, 1);  // here
    y[t] = v;
}

KERNEL half_a_warp_votes(int* y) {
    int t = threadIdx.x, v = 0;
    if (t < 16) v = __ballot_sync(ALL, 1);  // here
    y[t] = v;
}

KERNEL half_a_warp_waits(int* y) {
    int t = threadIdx.x;
    if (t < 16) __syncwarp();  // here
    y[t] = t;
}

KERNEL met_by_the_next_shuffle(int* y) {
    int t = threadIdx.x, v = 0;
    if (t < 16) v = __shfl_sync(ALL, t, 0);  // here
    y[t] = __shfl_sync(ALL, v + 100, 0);
}

// Masks, lanes, numbers of threads ----------------------------------------------------------------------------

KERNEL not_in_the_mask(int* y) {
    int t = threadIdx.x;
    y[t] = __shfl_sync(0xffff, t, 0);  // here
}

KERNEL waits_without_itself(int* y) {
    int t = threadIdx.x;
    __syncwarp(0xffff);  // here
    y[t] = t;
}

KERNEL reads_a_lane_that_returned(int* y) {
    int t = threadIdx.x;
    if (t >= 16) return;
    y[t] = __shfl_down_sync(ALL, t, 8);  // here
}

KERNEL reads_a_lane_beyond_the_mask(int* y) {
    int t = threadIdx.x;
    if (t < 16)
        y[t] = __shfl_sync(0xffff, t, t + 8);  // here
}

KERNEL more_than_it_waits_for(int* y) {
    int t = threadIdx.x;
    COUNTED(1, 64);  // here
    y[t] = t;
}

KERNEL no_multiple_of_a_warp(int* y) {
    int t = threadIdx.x;
    COUNTED(1, 48);  // here
    y[t] = t;
}

KERNEL no_such_barrier(int* y) {
    int t = threadIdx.x;
    asm volatile("bar.sync %0;" :: "r"(17) : "memory");  // here
    y[t] = t;
}

KERNEL different_counts(int* y) {
    int t = threadIdx.x;
    COUNTED(1, t < 64 ? 128 : 64);  // here
    y[t] = t;
}

KERNEL half_a_warp_counts(int* y) {
    int t = threadIdx.x;
    if (t % 32 < 16) asm volatile("barrier.sync 1, 64;" ::: "memory");  // here
    y[t] = t;
    __syncthreads();
}

// Right -------------------------------------------------------------------------------------------------------

KERNEL returned_before(int* y) {
    int t = threadIdx.x;
    if (t >= 100) return;
    __syncthreads();
    y[t] = t;
}

KERNEL returned_before_with_a_value(int* y) {
    int t = threadIdx.x;
    if (t >= 100) { y[t] = t; return; }
    __syncthreads();
    for (int i = 0; i < t; i++) y[t]++;
}

KERNEL returned_in_turns(int* y, int turns) {
    int t = threadIdx.x;
    for (int i = 0; i < turns; i++) {
        if (t >= 104 - i) return;
        __syncthreads();
        y[t] += 1;
    }
    y[t] += t;
}

// The same for all threads: a barrier that the first turns leave out, between loops of any length.
KERNEL left_out_by_all(int* y, int turns) {
    int t = threadIdx.x;
    for (int i = 0; i < turns; i++) {
        for (int k = 0; k < t % 7; k++) y[t] += k;
        if (i > 2) __syncthreads();
        for (int k = 0; k < t % 5; k++) y[t] += i;
        if (t > 120 && i == 5) return;
    }
}

// In the first turn some come to what lies behind the barrier in its branch, and others do not.
KERNEL left_out_in_turns(int* y, int turns) {
    int t = threadIdx.x;
    volatile int* z = y;
    for (int i = 0; i < turns; i++) {
        if (t < 40 || i == 1) {
            if (i == 1) __syncthreads();
            z[t] += 1;
        }
        z[t] *= 2;
    }
}

KERNEL returned_before_votes(int* y) {
    int t = threadIdx.x;
    if (t >= 20) return;
    y[t] = __shfl_sync(ALL, t, 3) + 100 * __popc(__ballot_sync(ALL, t < 10));
}

KERNEL in_two_branches(int* y) {
    int t = threadIdx.x;
    if (t < 16) y[t] = __shfl_xor_sync(ALL, t, 16);
    else y[t] = 1000 + __shfl_xor_sync(ALL, t, 16);
}

KERNEL a_last_warp_of_four(int* y) {
    int t = threadIdx.x;
    COUNTED(1, 128);
    y[t] = t;
}

KERNEL produced_and_consumed(int* y) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t >= 64) {
        s[t - 64] = t;
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        COUNTED(1, 128);
        y[t] = t + 64 < blockDim.x ? s[t] : 0;
    }
}

// Lanes at one instruction ------------------------------------------------------------------------------------

KERNEL aggregated_in_two_branches(int* y) {
    int t = threadIdx.x;
    if (t < 8) {
        unsigned mask = __activemask();
        if (t == __ffs(mask) - 1) atomicAdd(&y[0], __popc(mask));
        y[t + 2] = 1;
    } else {
        unsigned mask = __activemask();
        if (t == __ffs(mask) - 1) atomicAdd(&y[1], __popc(mask));
        y[t + 2] = 2;
    }
}

KERNEL together_again(int* y) {
    int t = threadIdx.x, before = 0;
    if (t % 32 < 8) before = __popc(__activemask());
    y[t] = 100 * before + __popc(__activemask());
}

KERNEL in_turns(int* y) {
    int t = threadIdx.x;
    for (int i = 0; i < t % 4; i++) y[t] += __popc(__activemask());
}

KERNEL while_others_wait(int* y, volatile int* flag) {
    int t = threadIdx.x;
    if (t == 0) {
        y[t] = __popc(__activemask());
        *flag = 1;
    } else {
        while (*flag == 0) {}
        y[t] = 5;
    }
}
