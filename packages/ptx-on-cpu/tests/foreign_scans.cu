// The classics of CUDA C++, written anew: reductions and scans.

#define KERNEL extern "C" __global__ void
#define ALL 0xffffffffu

typedef unsigned int word;

static __device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Reductions, each faster than the one before -------------------------------------------------------------------

KERNEL sum_interleaved(const int* x, int* y) {
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = x[place()];
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        if (t % (2 * step) == 0) s[t] += s[t + step];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

KERNEL sum_strided(const int* x, int* y) {
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = x[place()];
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        int i = 2 * step * t;
        if (i < blockDim.x) s[i] += s[i + step];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

KERNEL sum_sequential(const int* x, int* y) {
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = x[place()];
    __syncthreads();
    for (int half = blockDim.x / 2; half; half >>= 1) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

KERNEL sum_of_two(const int* x, int* y) {
    extern __shared__ int s[];
    int t = threadIdx.x, i = 2 * blockIdx.x * blockDim.x + t;
    s[t] = x[i] + x[i + blockDim.x];
    __syncthreads();
    for (int half = blockDim.x / 2; half; half >>= 1) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

KERNEL sum_last_warp_unrolled(const int* x, int* y) {
    extern __shared__ int s[];
    volatile int* v = s;
    int t = threadIdx.x;
    s[t] = x[place()];
    __syncthreads();
    for (int half = blockDim.x / 2; half >= 32; half >>= 1) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t < 32) {
#pragma unroll
        for (int half = 16; half; half >>= 1) {
            int other = v[t + half];
            __syncwarp();
            v[t] += other;
            __syncwarp();
        }
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

template <int SIZE>
static __device__ int sum_of_block(int value, int* s) {
    int t = threadIdx.x;
    s[t] = value;
    __syncthreads();
    if (SIZE >= 256) { if (t < 128) s[t] += s[t + 128]; __syncthreads(); }
    if (SIZE >= 128) { if (t < 64) s[t] += s[t + 64]; __syncthreads(); }
    if (t >= 32) return 0;
    value = s[t] + s[t + 32];
    for (int step = 16; step; step /= 2) value += __shfl_down_sync(ALL, value, step);
    return value;
}

KERNEL sum_unrolled(const int* x, int* y) {
    extern __shared__ int s[];
    int value = sum_of_block<256>(x[place()], s);
    if (threadIdx.x == 0) y[blockIdx.x] = value;
}

KERNEL sum_grid_stride(const int4* x, int* y, int n) {
    __shared__ int s[8];
    int sum = 0, t = threadIdx.x;
    for (int i = place(); i < n / 4; i += gridDim.x * blockDim.x) {
        int4 four = x[i];
        sum += four.x + four.y + four.z + four.w;
    }
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(ALL, sum, step);
    if (t % 32 == 0) s[t / 32] = sum;
    __syncthreads();
    if (t < 8) {
        sum = s[t];
        for (int step = 4; step; step /= 2) sum += __shfl_down_sync(0xff, sum, step, 8);
        if (t == 0) atomicAdd(y, sum);
    }
}

KERNEL sum_by_redux(const int* x, int* y) {
    int sum = __reduce_add_sync(ALL, x[place()]), most = __reduce_max_sync(ALL, x[place()]);
    word bits = __reduce_or_sync(ALL, x[place()]);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&y[0], sum);
        atomicMax(&y[1], most);
        atomicOr(&y[2], bits);
    }
}

// The block that comes last adds what all have found.
KERNEL sum_by_last_block(const int* x, volatile int* parts, word* done, int* y) {
    __shared__ int s[256];
    __shared__ bool is_last;
    int sum = sum_of_block<256>(x[place()], s);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    sum = sum_of_block<256>(threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0, s);
    if (threadIdx.x == 0) y[0] = sum;
}

// Scans -------------------------------------------------------------------------------------------------------

KERNEL scan_hillis_steele(const int* x, int* y) {
    __shared__ int s[2][128];
    int t = threadIdx.x, from = 0;
    s[0][t] = x[place()];
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        s[1 - from][t] = s[from][t] + (t >= step ? s[from][t - step] : 0);
        from = 1 - from;
        __syncthreads();
    }
    y[place()] = s[from][t];
}

KERNEL scan_blelloch(const int* x, int* y) {
    __shared__ int s[128];
    int t = threadIdx.x, offset = 1, n = 128;
    s[2 * t] = x[2 * place()];
    s[2 * t + 1] = x[2 * place() + 1];
    for (int d = n / 2; d; d /= 2, offset *= 2) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    }
    if (t == 0) s[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, left = s[a];
            s[a] = s[b];
            s[b] += left;
        }
    }
    __syncthreads();
    y[2 * place()] = s[2 * t];
    y[2 * place() + 1] = s[2 * t + 1];
}

static __device__ int scan_of_warp(int value) {
    int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(ALL, value, step);
        if (lane >= step) value += other;
    }
    return value;
}

static __device__ int scan_of_block(int value, int* sums) {
    int t = threadIdx.x;
    value = scan_of_warp(value);
    if (t % 32 == 31) sums[t / 32] = value;
    __syncthreads();
    if (t < 32) sums[t] = scan_of_warp(t < blockDim.x / 32 ? sums[t] : 0);
    __syncthreads();
    return value + (t >= 32 ? sums[t / 32 - 1] : 0);
}

KERNEL scan_by_warps(const int* x, int* y) {
    __shared__ int sums[32];
    y[place()] = scan_of_block(x[place()], sums);
}

// Each block takes a ticket, then looks back over flags: 1, the sum of the block is there; 2, that of all before.
KERNEL scan_with_look_back(const int* x, int* y, int* ticket, volatile int* flags, volatile int* own, volatile int* all) {
    __shared__ int sums[32], part, before;
    int t = threadIdx.x;
    if (t == 0) part = atomicAdd(ticket, 1);
    __syncthreads();
    int i = part * blockDim.x + t, value = scan_of_block(x[i], sums);
    if (t == blockDim.x - 1) {
        own[part] = value;
        __threadfence();
        flags[part] = 1;
        int sum = 0;
        for (int p = part - 1; p >= 0; p--) {
            while (flags[p] == 0) {}
            __threadfence();
            if (flags[p] == 2) {
                __threadfence();
                sum += all[p];
                break;
            }
            sum += own[p];
        }
        all[part] = sum + value;
        __threadfence();
        flags[part] = 2;
        before = sum;
    }
    __syncthreads();
    y[i] = before + value;
}
