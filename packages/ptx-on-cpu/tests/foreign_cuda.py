"""Cases of CUDA C++: reductions, scans, sorts, tiles, locks, pipelines, control, memory."""

import numpy as np
from foreign_kernels import Case, integers, normal, zeros

SCANS, CLASSICS, CONTROL = "foreign_scans.cu", "foreign_classics.cu", "foreign_control.cu"
PARTICLE = np.dtype([("mass", "d"), ("at", "f", 3), ("kind", "i2"), ("flag", "i1")], align=True)
# Kernels that cannot run here, and what the error names.
REFUSED = {
    "recursion": "'fibonacci' calls itself",
    "calls_by_address": "'calls_by_address' calls a function by its address",
    "tensor_cores": "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "texture": "tex.2d.v4.f32.f32",
    "video_instruction": "vabsdiff4.u32.u32.u32",
}


def reductions() -> list[Case]:
    """Return the series of sums of blocks, and those of a whole array."""
    x = integers(-1000, 1000, 2048)
    by_block, total = x.reshape(-1, 256).sum(1), x.sum()
    names = ("interleaved", "strided", "sequential", "last_warp_unrolled", "unrolled")
    cases = [Case(f"sum_{name}", (8,), (256,), (x, zeros(8)), {1: by_block}, shared=1024) for name in names]
    some = [total, x.max(), np.bitwise_or.reduce(x)]
    return [
        *cases,
        Case("sum_of_two", (4,), (256,), (x, zeros(4)), {1: x.reshape(4, -1).sum(1)}, shared=1024),
        Case("sum_grid_stride", (3,), (256,), (x, zeros(1), np.int32(2048)), {1: [total]}),
        Case("sum_by_redux", (8,), (256,), (x, zeros(3)), {1: some}),
        Case("sum_by_last_block", (8,), (256,), (x, zeros(8), zeros(1), zeros(1)), {2: [0], 3: [total]}),
    ]


def scans() -> list[Case]:
    """Return scans of blocks, and one of a whole array."""
    x = integers(-1000, 1000, 1024)
    inclusive = x.reshape(-1, 128).cumsum(1).ravel()
    exclusive = inclusive - x
    warps = x.reshape(-1, 256).cumsum(1).ravel()
    state = (zeros(1), zeros(8), zeros(8), zeros(8))
    return [
        Case("scan_hillis_steele", (8,), (128,), (x, zeros(1024)), {1: inclusive}),
        Case("scan_blelloch", (8,), (64,), (x, zeros(1024)), {1: exclusive}),
        Case("scan_by_warps", (4,), (256,), (x, zeros(1024)), {1: warps}),
        Case("scan_with_look_back", (8,), (128,), (x, zeros(1024), *state), {1: x.cumsum()}),
    ]


def tiles() -> list[Case]:
    """Return histograms, transposes, a product and a stencil."""
    bytes_, keys = integers(0, 256, 3000, dtype=np.uint8), integers(0, 10, 256)
    x, (a, b) = normal(50, 40), normal(2, 32, 32)
    shape = np.int32(40), np.int32(50)
    transposes = [
        Case(f"transpose_{how}", (3, 4), (16, 16), (x, zeros(40, 50, dtype="f"), *shape), {1: x.T})
        for how in ("naive", "tiled", "padded")
    ]
    line = integers(0, 100, 200)
    around = np.convolve(line, np.ones(7, np.int32), "same")
    counts = np.bincount(bytes_, minlength=256)
    return [
        *transposes,
        Case("histogram", (3,), (256,), (bytes_, zeros(256), np.int32(3000)), {1: counts}),
        Case("histogram_by_match", (4,), (64,), (keys, zeros(10)), {1: np.bincount(keys, minlength=10)}),
        Case(
            "matmul_tiled", (4, 4), (8, 8), (a, b, zeros(32, 32, dtype="f"), np.int32(32)), {2: a @ b},
            tolerance=1e-6,
        ),
        Case("stencil_with_halo", (4,), (64,), (line, zeros(200), np.int32(200)), {1: around}),
    ]  # fmt: skip


def sorts() -> list[Case]:
    """Return sorts of blocks."""
    x, keys = integers(-1000, 1000, 256), integers(0, 256, 256)
    by_block = [np.sort(each.reshape(-1, 128), 1).ravel() for each in (x, keys)]
    return [
        Case("sort_bitonic", (2,), (128,), (x,), {0: by_block[0]}),
        Case("sort_radix", (2,), (128,), (keys,), {0: by_block[1]}),
    ]


def locks() -> list[Case]:
    """Return locks between lanes and blocks, barriers by hand, and pipelines."""
    value = 0
    for _ in range(3 * 64):
        value = 3 * value % 1000003 + 1
    x, copied, blocks = integers(0, 100, 320), normal(5, 128), np.arange(6)
    sums = copied.reshape(5, 4, 32).sum((0, 1))
    around = np.repeat(2 * ((blocks + 1) % 6), 32)
    flipped = 2 * x.reshape(-1, 32)[:, ::-1].ravel()
    return [
        Case("lock_of_lanes", (3,), (64,), (zeros(1), zeros(1)), {0: [0], 1: [value]}),
        Case("lock_in_a_loop", (3,), (64,), (zeros(1), zeros(1)), {0: [0], 1: [192]}),
        Case(
            "lock_with_tickets", (9,), (32,), (zeros(1), zeros(1), zeros(9)),
            {1: [9], 2: np.arange(9).cumsum()},
        ),
        Case(
            "barrier_of_blocks", (6,), (32,), (zeros(1), zeros(1), zeros(6), zeros(192)), {1: [2], 3: around}
        ),
        Case("producer_and_consumer", (1,), (64,), (x, zeros(320), np.int32(10)), {1: flipped}),
        Case(
            "pipeline_of_copies", (1,), (32,), (copied, zeros(32, dtype="f"), np.int32(5)), {1: sums},
            tolerance=1e-6,
        ),
    ]  # fmt: skip


def control() -> list[Case]:
    """Return jumps by a table, and functions that are called."""
    i, v = np.arange(64), integers(-2, 10, 64)
    popc = [bin(n).count("1") for n in i]
    clz = [32 - int(n).bit_length() for n in i]
    choices = [7 * i, i ^ 0x55, popc, i - 9, i - 9, clz, i // 3, i % 5]  # one falls through
    jumps = [choices[a][n] if 0 <= a < 8 else -1 for n, a in enumerate(v)]
    x = integers(0, 1000, 128)
    value = x.reshape(2, 64)
    for turn in range(3):
        value = np.roll(value, -1, 1) + value[:, np.arange(64) ^ 1]
        value = value % 1000 if turn else value
    return [
        Case("table_of_jumps", (2,), (32,), (v, zeros(64)), {1: jumps}),
        Case("functions_that_wait", (2,), (64,), (x, zeros(128)), {1: value.ravel()}),
    ]


def memory() -> list[Case]:
    """Return constants, structures, pointers to any memory, and integers of all widths."""
    primes = np.array([2, 3, 5, 7, 11, 13, 17, 19])
    y = zeros(1025)
    wanted = y.copy()
    wanted[:64], wanted[1024] = np.tile(100 * primes, 8), 2
    p, by_value = np.zeros(32, PARTICLE), np.zeros(1, PARTICLE)
    p["mass"], p["at"], p["kind"], p["flag"] = (
        normal(32),
        normal(32, 3),
        integers(-9, 9, 32),
        integers(-9, 9, 32),
    )
    by_value["mass"], by_value["at"], by_value["kind"] = 2.5, [1, 2, 3], 4
    moved = p.copy()
    moved["mass"] *= 2.5
    moved["at"][:, 0] += 3
    moved["kind"] -= 4
    moved["flag"] *= -1
    t, tail = np.arange(32), integers(0, 9, 4)
    anything = [(10 * (k % 4), (k % 4 - k) % 4, tail[k % 4])[k % 3] for k in t]
    return [
        Case("constants_and_globals", (2,), (32,), (y,), {0: wanted}),
        Case("structs", (2,), (16,), (p, np.zeros_like(p), by_value.tobytes()), {1: moved}),
        Case("pointers_to_anything", (1,), (32,), (np.r_[zeros(32), tail],), {0: np.r_[anything, tail]}),
        wide(), words(), halves(),
    ]  # fmt: skip


def wide() -> Case:
    """Return 64-bit integers: the high half of a product, quotients of signs, bits."""
    x, y = integers(-(2**62), 2**62, 2, 32, dtype=np.int64)
    y[::3] >>= 40
    rows = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        u, v = a % 2**64, b % 2**64
        bits = int(f"{u:064b}"[::-1], 2) ^ (64 - v.bit_length()) ^ (u & v).bit_count()
        quotient = abs(a) // abs(b) * (1 if a * b >= 0 else -1)
        rows.append([(n + 2**63) % 2**64 - 2**63 for n in (a * b >> 64, quotient, u % v, bits)])
    return Case("wide_integers", (1,), (32,), (x, y, zeros(128, dtype=np.int64)), {2: np.ravel(rows)})


def words() -> Case:
    """Return bytes that are permuted, shifted through two words, multiplied and added."""

    def signed(byte: int) -> int:
        return (byte ^ 128) - 128

    x, rows = integers(0, 2**32, 32, dtype=np.uint32), []
    for i, a in enumerate(x.tolist()):
        b = a * 2654435761 % 2**32
        one, two = ([(n >> 8 * k) % 256 for k in range(4)] for n in (a, b))
        permuted = one[0] | two[0] << 8 | one[1] << 16 | two[1] << 24
        shifted = ((b << 32 | a) << (i % 32)) >> 32
        products = sum(signed(m) * signed(n) for m, n in zip(one, two, strict=True))
        lowest = (a & -a).bit_length()
        rows.append([n % 2**32 for n in (permuted, shifted, products + 7, lowest * (a * b >> 32))])
    return Case("bytes_of_words", (1,), (32,), (x, zeros(128, dtype=np.uint32)), {1: np.ravel(rows)})


def halves() -> Case:
    """Return a square in half precision, and a multiplication with one rounding."""
    x = normal(64, dtype=np.float16)
    square = (x * x).astype("d")
    wanted = (square * x.astype("d") + x.astype("d")).astype(np.float16)
    return Case("half_precision", (2,), (32,), (x.view("u2"), zeros(64, dtype="u2")), {1: wanted.view("u2")})
