// Kernels with a mistake where WRONG is 1, and without it where WRONG is 0; "here" marks the line to be named.

#define KERNEL extern "C" __global__ void

static __device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Memory ------------------------------------------------------------------------------------------------------

KERNEL read_one_beyond(const float* x, float* y, int n) {
    int i = place();
    if (i < n + WRONG) y[i] = x[i];  // here
}

KERNEL write_far_beyond(float* y, int n) {
    int i = place();
    if (i < n) y[i + WRONG * 1000000] = 1;  // here
}

KERNEL negative_index(float* y, int n) {
    int i = place();
    if (i < n) y[i - WRONG] = 1;  // here
}

KERNEL atomic_beyond(int* y, int n) {
    atomicAdd(&y[WRONG * n], 1);  // here
}

KERNEL vector_over_the_end(const float4* x, float* y, int n) {
    int i = place();
    if (i < n / 4 + WRONG) {
        float4 value = x[i];  // here
        y[i] = value.x + value.y + value.z + value.w;
    }
}

// x and y lie directly behind each other.
KERNEL into_the_neighbour(float* x, float* y, int n) {
    int i = place();
    if (i < n) {
        x[i + WRONG * n] = 1;  // here
        y[i] = 2;
    }
}

static __device__ __noinline__ void put(float* y, int i) {
    y[i] = 1;  // here
}

KERNEL in_a_function(float* y, int n) {
    int i = threadIdx.y * blockDim.x + threadIdx.x;
    if (i < n + WRONG) put(y, i);
}

KERNEL static_shared_beyond(float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    y[t] = s[t + WRONG];  // here
}

KERNEL dynamic_shared_beyond(float* y) {
    extern __shared__ float dynamic[];
    int t = threadIdx.x;
    dynamic[t + WRONG] = t;  // here
    __syncthreads();
    y[t] = dynamic[t + WRONG];
}

KERNEL local_beyond(float* y, int n) {
    float a[8];
    for (int k = 0; k < n + WRONG; k++)
        a[k * (n / 8)] = k;  // here
    y[threadIdx.x] = a[(threadIdx.x + n) % 8];
}

KERNEL misaligned_vector(const float* x, float* y) {
    float2 pair = *(const float2*)(x + WRONG + 2 * threadIdx.x);  // here
    y[threadIdx.x] = pair.x + pair.y;
}

KERNEL misaligned_shared(float* y) {
    __shared__ double s[65];
    char* bytes = (char*)s;
    int t = threadIdx.x;
    *(double*)(bytes + 8 * t + 4 * WRONG * (t > 2)) = t;  // here
    __syncthreads();
    y[t] = s[t];
}

KERNEL write_to_input(float* x, float* y, int wrong_place) {
    int i = place();
    (WRONG && i == wrong_place ? x : y)[i] = 1;  // here
}

static __device__ float* kept;

KERNEL keep(float* x) { kept = x; }

KERNEL use_what_was_kept(float* y, float* x) {
    y[0] = (WRONG ? kept : x)[1];  // here
}

KERNEL unwritten_shared(const float* x, float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t > 3 || !WRONG) s[t] = x[t];
    __syncthreads();
    y[t] = s[63 - t];  // here
}

KERNEL unwritten_local(const int* x, float* y, int n) {
    float a[8];
    for (int k = WRONG; k < n; k++) a[x[k]] = k;
    y[threadIdx.x] = a[threadIdx.x % 8];  // here
}

KERNEL unwritten_output(const float* x, float* y, int n) {
    int i = place();
    if (i >= n) return;
    if (!WRONG) y[i] = 0;
    y[i] += x[i];  // here
}

KERNEL atomic_on_unwritten(int* y) {
    if (!WRONG) {
        if (threadIdx.x == 0) y[0] = 0;
        __syncthreads();
    }
    atomicAdd(y, 1);  // here
}

// Waiting -----------------------------------------------------------------------------------------------------

KERNEL two_barriers(float* y) {
    int t = threadIdx.x, i = place();
    if (WRONG ? t < 5 : blockIdx.x == 0) {
        y[i] = 1;
        __syncthreads();  // here
        y[i] = 2;
    } else {
        y[i] = 3;
        __syncthreads();
        y[i] = 4;
    }
}

KERNEL named_barriers(float* y) {
    int t = threadIdx.x;
    y[t] = 0;
    if (t < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");  // here
    else
        asm volatile("bar.sync %0, 64;" :: "r"(1 + WRONG) : "memory");
    y[t] = 1;
}

KERNEL barrier_beside_loop(volatile int* flag) {
    if (threadIdx.x < 32) {
        if (!WRONG && threadIdx.x == 0) *flag = 1;
        __syncthreads();
        if (WRONG && threadIdx.x == 0) *flag = 1;
    } else {
        while (*flag == 0) {}  // here
        __syncthreads();
    }
}

KERNEL warp_mask_too_wide(float* y) {
    int t = threadIdx.x;
    if (t < 16) {
        __syncwarp(WRONG ? 0xffffffff : 0xffff);  // here
        y[t] = 1;
    }
    __syncthreads();
    y[t] = 2;
}

KERNEL shuffle_mask_too_wide(int* y) {
    int t = threadIdx.x, value = t;
    if (t < 16) value = __shfl_xor_sync(WRONG ? 0x1ffff : 0xffff, t, 1);  // here
    __syncthreads();
    y[t] = value;
}

KERNEL endless_loop(volatile int* flag, int* y) {
    while (*flag == (WRONG ? 0 : 1)) {}  // here
    y[0] = 1;
}

KERNEL lock_that_nobody_releases(int* lock, int* y) {
    while (atomicCAS(lock, 0, 1) != 0) {}  // here
    __threadfence();
    *(volatile int*)y += 1;
    __threadfence();
    if (!WRONG) atomicExch(lock, 0);
}

KERNEL trapped(const int* x) {
    if (x[threadIdx.x] == (WRONG ? 7 : 77)) asm volatile("trap;");  // here
}

extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, decltype(sizeof(0)));

KERNEL asserted(const int* x) {
    if (x[threadIdx.x] == (WRONG ? 7 : 77)) __assertfail("x is not seven", "a.cu", 1, "asserted", 1);  // here
}

// Races -------------------------------------------------------------------------------------------------------

KERNEL sum_without_barrier(const float* x, float* y) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        if (t < half) s[t] += s[t + half];  // here
        if (!WRONG) __syncthreads();
    }
    if (t == 0) y[0] = s[0];
}

KERNEL first_barrier_missing(const float* x, float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    if (!WRONG) __syncthreads();
    y[t] = s[63 - t];  // here
}

KERNEL warp_without_syncwarp(const float* x, float* y) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    if (!WRONG) __syncwarp();
    y[t] = s[31 - t];  // here
}

KERNEL two_blocks_one_element(float* y, int n) {
    int i = place() - WRONG * blockIdx.x;
    if (i < n) y[i] = blockIdx.x;  // here
}

KERNEL load_beside_atomic(int* count, int* y) {
    atomicAdd(count, 1);
    __syncthreads();
    y[place()] = WRONG ? count[0] : atomicAdd(count, 0);  // here
}

KERNEL last_block_without_fence(const float* x, float* parts, int* done, float* y) {
    __shared__ int is_last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = x[blockIdx.x] + 1;
        if (!WRONG) __threadfence();
        is_last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last || threadIdx.x) return;
    if (!WRONG) __threadfence();
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += *(volatile float*)&parts[i];  // here
    y[0] = sum;
}
