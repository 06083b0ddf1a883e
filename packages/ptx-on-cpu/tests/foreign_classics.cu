// More classics of CUDA C++, written anew: histograms, tiles, sorts, locks, pipelines.

#define KERNEL extern "C" __global__ void
#define ALL 0xffffffffu

typedef unsigned int word;

static __device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }

KERNEL histogram(const unsigned char* x, word* y, int n) {
    __shared__ word counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = place(); i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[x[i]], 1);
    __syncthreads();
    atomicAdd(&y[threadIdx.x], counts[threadIdx.x]);
}

// Lanes with the same key elect one that adds for all.
KERNEL histogram_by_match(const int* x, int* y) {
    int key = x[place()], lane = threadIdx.x % 32;
    word same = __match_any_sync(ALL, key);
    if (lane == __ffs(same) - 1) atomicAdd(&y[key], __popc(same));
}

// Tiles -------------------------------------------------------------------------------------------------------

KERNEL transpose_naive(const float* x, float* y, int width, int height) {
    int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
    if (i < width && j < height) y[i * height + j] = x[j * width + i];
}

template <int PAD>
static __device__ void transpose(const float* x, float* y, int width, int height) {
    __shared__ float tile[16][16 + PAD];
    int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
    if (i < width && j < height) tile[threadIdx.y][threadIdx.x] = x[j * width + i];
    __syncthreads();
    i = blockIdx.y * 16 + threadIdx.x, j = blockIdx.x * 16 + threadIdx.y;
    if (i < height && j < width) y[j * height + i] = tile[threadIdx.x][threadIdx.y];
}

KERNEL transpose_tiled(const float* x, float* y, int width, int height) { transpose<0>(x, y, width, height); }
KERNEL transpose_padded(const float* x, float* y, int width, int height) { transpose<1>(x, y, width, height); }

KERNEL matmul_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float s[8][8], r[8][8];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 8 + x, row = blockIdx.y * 8 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        s[y][x] = a[row * n + k + x];
        r[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 8; i++) sum += s[y][i] * r[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

KERNEL stencil_with_halo(const int* x, int* y, int n) {
    __shared__ int s[64 + 2 * 3];
    int i = place(), t = threadIdx.x + 3;
    s[t] = i < n ? x[i] : 0;
    if (threadIdx.x < 3) {
        s[t - 3] = i >= 3 ? x[i - 3] : 0;
        s[t + 64] = i + 64 < n ? x[i + 64] : 0;
    }
    __syncthreads();
    int sum = 0;
    for (int k = -3; k <= 3; k++) sum += s[t + k];
    if (i < n) y[i] = sum;
}

// Sorts -------------------------------------------------------------------------------------------------------

KERNEL sort_bitonic(int* x) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = x[place()];
    __syncthreads();
    for (int size = 2; size <= 128; size *= 2)
        for (int step = size / 2; step; step /= 2) {
            int other = t ^ step;
            if (other > t && (s[t] > s[other]) == ((t & size) == 0)) {
                int kept = s[t];
                s[t] = s[other];
                s[other] = kept;
            }
            __syncthreads();
        }
    x[place()] = s[t];
}

// Split by each bit of a digit, stably: by ballots, and a scan of what the warps have counted.
KERNEL sort_radix(word* x) {
    __shared__ word keys[128], zeros[4];
    int t = threadIdx.x, lane = t % 32;
    keys[t] = x[place()];
    __syncthreads();
    for (int bit = 0; bit < 8; bit++) {
        word key = keys[t], ones = __ballot_sync(ALL, key >> bit & 1);
        if (lane == 0) zeros[t / 32] = 32 - __popc(ones);
        __syncthreads();
        int before = __popc(~ones & ((1u << lane) - 1)), total = 0;
        for (int w = 0; w < 4; w++) {
            if (w < t / 32) before += zeros[w];
            total += zeros[w];
        }
        int to = key >> bit & 1 ? total + t - before : before;
        __syncthreads();
        keys[to] = key;
        __syncthreads();
    }
    x[place()] = keys[t];
}

// Locks -------------------------------------------------------------------------------------------------------

KERNEL lock_of_lanes(int* lock, volatile int* y) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    y[0] = 3 * y[0] % 1000003 + 1;
    __threadfence();
    atomicExch(lock, 0);
}

// The taker's loop ends where it releases: right on hardware that lets no lane pass its warp.
KERNEL lock_in_a_loop(int* lock, volatile int* y) {
    bool done = false;
    while (!done)
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            y[0] += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
}

KERNEL lock_with_tickets(int* next, volatile int* now, volatile int* y) {
    if (threadIdx.x == 0) {
        int mine = atomicAdd(next, 1);
        while (*now != mine) __nanosleep(20);
        __threadfence();
        y[mine] = mine ? y[mine - 1] + mine : 0;
        __threadfence();
        *now = mine + 1;
    }
}

// Blocks wait for each other twice: a sense that turns around.
KERNEL barrier_of_blocks(int* count, volatile int* sense, volatile int* x, int* y) {
    for (int round = 1; round <= 2; round++) {
        if (threadIdx.x == 0) x[blockIdx.x] = round * blockIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            if (atomicAdd(count, 1) == gridDim.x - 1) {
                atomicExch(count, 0);
                __threadfence();
                *sense = round;
            } else
                while (*sense != round) {}
            __threadfence();
        }
        __syncthreads();
        y[place()] = x[(blockIdx.x + 1) % gridDim.x];
    }
}

// Warp 0 produces, warp 1 consumes: each waits at its barrier, and only arrives at that of the other.
KERNEL producer_and_consumer(const int* x, int* y, int turns) {
    __shared__ int s[32];
    int lane = threadIdx.x % 32;
    for (int turn = 0; turn < turns; turn++)
        if (threadIdx.x < 32) {
            if (turn) asm volatile("bar.sync 1, 64;" ::: "memory");
            s[lane] = x[32 * turn + lane];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 2, 64;" ::: "memory");
            y[32 * turn + lane] = 2 * s[31 - lane];
            if (turn < turns - 1) asm volatile("bar.arrive 1, 64;" ::: "memory");
        }
}

// Copies of the next part are under way while this one is used.
KERNEL pipeline_of_copies(const float* x, float* y, int turns) {
    __shared__ __align__(16) float s[2][128];
    int t = threadIdx.x;
    auto begin = [&](int turn) {
        word to = (word)__cvta_generic_to_shared(&s[turn % 2][4 * t]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\n cp.async.commit_group;" ::"r"(to),
                     "l"(x + 128 * turn + 4 * t)
                     : "memory");
    };
    begin(0);
    float sum = 0;
    for (int turn = 0; turn < turns; turn++) {
        if (turn + 1 < turns) {
            begin(turn + 1);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int k = 0; k < 4; k++) sum += s[turn % 2][(t + 32 * k) % 128];
        __syncthreads();
    }
    y[t] = sum;
}
