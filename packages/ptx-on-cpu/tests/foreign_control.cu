// Jumps, functions, what is refused, and memory of all kinds, in CUDA C++.

#define KERNEL extern "C" __global__ void
#define ALL 0xffffffffu

typedef unsigned int word;

static __device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Control -----------------------------------------------------------------------------------------------------

KERNEL table_of_jumps(const int* x, int* y) {
    int i = place(), v = x[i], r;
    switch (v) {
        case 0: r = 7 * i; break;
        case 1: r = i ^ 0x55; break;
        case 2: r = __popc(i); break;
        case 3: r = i << 3;  // falls through
        case 4: r = i - 9; break;
        case 5: r = __clz(i); break;
        case 6: r = i / 3; break;
        case 7: r = i % 5; break;
        default: r = -1;
    }
    y[i] = r;
}

static __device__ __noinline__ int sum_and_wait(int value, int* s) {
    int t = threadIdx.x;
    __syncthreads();
    s[t] = value;
    __syncthreads();
    return s[(t + 1) % blockDim.x] + __shfl_xor_sync(ALL, value, 1);
}

KERNEL functions_that_wait(const int* x, int* y) {
    __shared__ int s[64];
    int value = sum_and_wait(x[place()], s);
    for (int k = 0; k < 2; k++) value = sum_and_wait(value, s) % 1000;
    y[place()] = value;
}

static __device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

KERNEL recursion(int* y) { y[threadIdx.x] = fibonacci(threadIdx.x); }

typedef int (*Operation)(int, int);
static __device__ int plus(int a, int b) { return a + b; }
static __device__ int times(int a, int b) { return a * b; }
static __device__ Operation operations[2] = {plus, times};

KERNEL calls_by_address(int* y, int which) { y[threadIdx.x] = operations[which](threadIdx.x, 3); }

KERNEL tensor_cores(const word* a, float* c) {
    float r[4] = {};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]));
    c[threadIdx.x] = r[0];
}

KERNEL texture(unsigned long long image, float* y) {
    float r, g, b, a;
    asm volatile("tex.2d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5,%5}];"
                 : "=f"(r), "=f"(g), "=f"(b), "=f"(a) : "l"(image), "f"(1.f));
    y[threadIdx.x] = r + g + b + a;
}

KERNEL video_instruction(word* y) { y[threadIdx.x] = __vabsdiffu4(y[threadIdx.x], 77); }

// Memory ------------------------------------------------------------------------------------------------------

static __constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
static __device__ int counter = 5;

KERNEL constants_and_globals(int* y) {
    y[place()] = primes[threadIdx.x % 8] * 100;
    atomicAdd(&counter, primes[threadIdx.x % 8]);
    if (threadIdx.x == 0) asm volatile("red.global.add.s32 [%0], 1;" ::"l"(y + 1024) : "memory");
}

struct Particle { double mass; float3 at; short kind; char flag; };

KERNEL structs(const Particle* x, Particle* y, Particle by_value) {
    Particle p = x[place()];
    p.mass *= by_value.mass;
    p.at.x += by_value.at.z;
    p.kind -= by_value.kind;
    p.flag = -p.flag;
    y[place()] = p;
}

KERNEL pointers_to_anything(int* y) {
    __shared__ int s[32];
    int local[4], t = threadIdx.x;
    for (int k = 0; k < 4; k++) local[(k + t) % 4] = k;
    s[t] = 10 * t;
    __syncwarp();
    int* choice[3] = {s, local, y + 32};
    y[t] = choice[t % 3][t % 4];
}

KERNEL wide_integers(const long long* x, const long long* y, long long* z) {
    int i = place();
    unsigned long long a = x[i], b = y[i];
    z[4 * i] = __mul64hi(x[i], y[i]);
    z[4 * i + 1] = x[i] / y[i];
    z[4 * i + 2] = a % b;
    z[4 * i + 3] = __brevll(a) ^ __clzll(b) ^ (long long)__popcll(a & b);
}

KERNEL bytes_of_words(const word* x, word* y) {
    int i = place();
    word a = x[i], b = x[i] * 2654435761u;
    y[4 * i] = __byte_perm(a, b, 0x5140);
    y[4 * i + 1] = __funnelshift_l(a, b, i);
    y[4 * i + 2] = __dp4a((int)a, (int)b, 7);
    y[4 * i + 3] = __ffs(a) * __umulhi(a, b);
}

KERNEL half_precision(const unsigned short* x, unsigned short* y) {
    int i = place();
    asm("{ .reg .b16 a;\n mul.f16 a, %1, %1;\n fma.rn.f16 %0, a, %1, %1; }" : "=h"(y[i]) : "h"(x[i]));
}
