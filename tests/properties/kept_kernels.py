"""Kernels that random generation found failing, cut down: each once broke what its name says. Data only."""

from __future__ import annotations

from tests.properties.programs import Program

KEPT = (
    Program(
        "a row of run-time length that a loop carries",
        """
def long_carried(x: ak.In[ak.i32, N, T, H], y: ak.Out[ak.i32, T, H]):
    for t in ak.grid(T):
        v = ak.full((t, H), 0, ak.i32)
        for k in ak.steps(ak.each(N)):
            v = v + x[k, t, :]
        y[t, :] = v
""",
        {"T": 5, "H": 9, "N": 3},
        frozenset(),
    ),
    Program(
        "one row along both axes of a value",
        """
def outer_product(x: ak.In[ak.f32, N], y: ak.Out[ak.f32, N, N]):
    for _ in ak.grid():
        v = x[:]
        y[:, :] = v[:, None] * v[None, :]
""",
        {"N": 300},
        frozenset(),
    ),
    Program(
        "an offset `lane & 7` added to a pointer without its parentheses",
        """
def offset_precedence(x: ak.In[ak.f32, T], y: ak.Out[ak.f32, T, H], z: ak.Out[ak.f32, ak.cdiv(H, 8), T]):
    for t, h in ak.grid(T, H, block=(1, 8)):
        v = x[t]
        y[t, h] = ak.max(v, axis=0, keepdims=True)
        z[h.ordinal, t] = v
""",
        {"T": 3, "H": 32},
        seed=309,
    ),
    Program(
        "a default schedule that its own check refused",
        """
def run_time_sum(x: ak.In[ak.bf16, T], y: ak.Out[ak.bf16, T, H]):
    for h in ak.grid(H):
        y[:, h] = ak.sum(x[:], axis=0, keepdims=True)
""",
        {"T": 70, "H": 5},
    ),
    Program(
        "an axis split twice",
        """
def split_twice(x: ak.In[ak.bool, T, H], y: ak.Out[ak.bool, T, 2, 16, 4]):
    for t in ak.grid(T):
        y[t, :, :, :] = x[t, :].reshape(t, 32, 4).reshape(t, 2, 16, 4)
""",
        {"T": 5, "H": 128},
    ),
    Program(
        "an axis split, reduced and split again",
        """
def split_reduce_split(x: ak.In[ak.f32, T, H], y: ak.Out[ak.bool, T, 125, 8]):
    for t in ak.grid(T):
        least = ak.min(x[t, :].reshape(t, 1000, 3), axis=2)
        y[t, :, :] = ak.isnan(least).reshape(t, 125, 8)
""",
        {"T": 2, "H": 3000},
    ),
    Program(
        "a reduction of all axes that keeps them",
        """
def keep_all(x: ak.In[ak.i16, T, H], y: ak.Out[ak.i16, T, H]):
    for t, h in ak.grid(T, H, block=(3, 3)):
        y[t, h] = ak.min(x[t, h], axis=(0, 1), keepdims=True)
""",
        {"T": 7, "H": 8},
    ),
    Program(
        "a sum of all axes, one of them of extent 1",
        """
def keep_unit(x: ak.In[ak.f32, 1, T], y: ak.Out[ak.f32, T, H]):
    for t, h in ak.grid(T, H, block=(100, 100)):
        y[t, h] = ak.sum(x[:, t], axis=(0, 1), keepdims=True)
""",
        {"T": 130, "H": 7},
    ),
    Program(
        "a grid without a second schedule beside one that has them",
        """
def one_schedule(x: ak.In[ak.e5m2, T, H], z: ak.In[ak.f32, T, H], y: ak.Out[ak.e5m2, T, H], w: ak.Out[ak.f32, T, H]):
    for t in ak.grid(T):
        y[t, :] = x[t, :]
    for _ in ak.grid():
        w[:, :] = z[:, :]
""",
        {"T": 3, "H": 1024},
        seed=1449,
    ),
    Program(
        "more shared memory than a block has",
        """
def large_exchange(x: ak.In[ak.bf16, B, T, H], y: ak.Out[ak.bf16, B, T], z: ak.Out[ak.bf16, B, H, T]):
    for b, t in ak.grid(ak.each(B), T):
        v = x[b, t, :]
        y[b, t] = ak.sum(v, axis=1)
        z[b, :, t] = v.T
""",
        {"T": 33, "H": 2, "B": 1},
        seed=1259,
    ),
    Program(
        "a scalar parameter narrower than 32 bits on the simulator",
        """
def narrow_scalar(x: ak.In[ak.f16, T, H], y: ak.Out[ak.f16, T, H], s: ak.f16):
    for t in ak.grid(T):
        y[t, :] = x[t, :] * s
""",
        {"T": 3, "H": 8},
        scalars={"s": "f16"},
    ),
    Program(
        "a function of one number for all elements, in the form for usual operands",
        """
def function_of_a_number(x: ak.InOut[ak.f32, T]):
    for t in ak.grid(T):
        x[t] = x[t] + ak.sigmoid(ak.full((t,), 3.0, ak.f32))
""",
        {"T": 9},
        seed=1001,
    ),
    Program(
        "a narrow float from e5m2 that no arithmetic in f32 rounds",
        """
def unrounded_power(x: ak.In[ak.e5m2, T], y: ak.Out[ak.f16, T]):
    for t in ak.grid(T):
        y[t] = x[t].to(ak.f16) ** 1
""",
        {"T": 5},
    ),
    Program(
        "`copysign` of a narrow float",
        """
def narrow_copysign(x: ak.In[ak.bf16, T], y: ak.Out[ak.bf16, T]):
    for t in ak.grid(T):
        y[t] = ak.copysign(x[t], x[t])
""",
        {"T": 5},
    ),
    Program(
        "a wide integer to a narrow float, which is not the same as through f32",
        """
def wide_integer_to_bf16(x: ak.In[ak.i32, T], y: ak.Out[ak.bf16, T]):
    for t in ak.grid(T):
        y[t] = x[t].to(ak.bf16)
""",
        {"T": 5},
    ),
    Program(
        "arithmetic of f64",
        """
def double_addition(x: ak.In[ak.f64, T], y: ak.Out[ak.f64, T]):
    for t in ak.grid(T):
        y[t] = x[t] + x[t]
""",
        {"T": 5},
    ),
    Program(
        "steps bounded by what a shift gave were not shown to differ",
        """
def shifted_bounds(x: ak.In[ak.i32, B], y: ak.Out[ak.f32, B, N, B].partial()):
    for b in ak.grid(ak.each(B)):
        v = x[b]
        w = v >> 1
        for i in ak.steps(ak.each(ak.maximum(v, 0), ak.minimum(v, N))):
            for k in ak.steps(ak.clip(w, 0, 3), ak.minimum(w, B), block=8):
                y[b, i, k] = 1.0
""",
        {"B": 3, "N": 2},
    ),
    Program(
        "steps bounded by what a loop gave were not shown to differ",
        """
def loop_bounds(x: ak.In[ak.i32, B, N], y: ak.Out[ak.f32, B, N].partial()):
    for b in ak.grid(ak.each(B)):
        v = ak.full((), 1, ak.i32)
        for k in ak.steps(N):
            v = ak.maximum(v, ak.max(ak.abs(x[b, k]), axis=0))
        for i in ak.steps(ak.each(ak.clip(v, 0, 3), ak.minimum(v, N))):
            y[b, i] = 1.0
""",
        {"B": 3, "N": 5},
    ),
    Program(
        "pieces of one index each were not shown to cover an axis",
        """
def pieces_of_one(x: ak.In[ak.i32, T, H], y: ak.Out[ak.i32, T, H, 2]):
    for t, p in ak.grid(T, ak.parts(H, 7)):
        y[t, p, :] = ak.stack((x[t, p], x[t, p]), axis=2)
""",
        {"T": 5, "H": 7},
    ),
    Program(
        "a scan of a long column, that is its value's last axis, was cut into pieces shorter than its panels",
        """
def long_column_scan(x: ak.In[ak.f32, T, H], y: ak.Out[ak.f32, T, H], z: ak.Out[ak.i64, T]):
    for _ in ak.grid():
        y[:, :] = ak.abs(x[:, :])
        z[:] = ak.cumsum(ak.argmin(x[:, :], axis=1), axis=0)
""",
        {"T": 31, "H": 31},
    ),
    Program(
        "the interpreter could not take a position along one axis of a value whose other axis is empty",
        """
def no_rows(x: ak.In[ak.f32, T, H], y: ak.Out[ak.i64, T], z: ak.Out[ak.f32, T, H]):
    for _ in ak.grid():
        y[:] = ak.argmin(x[:, :], axis=1)
        z[:, :] = ak.cumsum(x[:, :], axis=1)
""",
        {"T": 0, "H": 31},
    ),
    Program(
        "rows that stay on the chip, one behind the other along an axis that does not",
        """
def long_concat(x: ak.In[ak.f32, T, H], y: ak.Out[ak.f32, T, 3 * H]):
    for t in ak.grid(T):
        y[t, :] = ak.concat((x[t, :], x[t, :], x[t, :]), axis=1)
""",
        {"T": 2, "H": 7168},
    ),
    Program(
        "a tile called as the counter of the loop that clears its registers",
        """
def counter_name(x: ak.In[ak.f32, T, 3], y: ak.Out[ak.f32, T, 3]):
    for t in ak.grid(T):
        i = x[t, :]
        y[t, :] = i + ak.sum(i, axis=1, keepdims=True)
""",
        {"T": 5},
    ),
    Program(
        "parameters called as words of C++ and as variables of CUDA",
        """
def words(threadIdx: ak.In[ak.f32, T, 3], nullptr: ak.Out[ak.f32, T, 3], compl: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        xor = threadIdx[t, :]
        nullptr[t, :] = xor + 1.0
        compl[t] = ak.sum(xor, axis=1)
""",
        {"T": 5},
    ),
    Program(
        "two regroupings of one value that share a constant, in whose layout every other element was missing",
        """
def bitcast_twice(x: ak.In[ak.u32, T, 56], y: ak.Out[ak.i32, T, 56], z: ak.Out[ak.f16, T, 112]):
    for t in ak.grid(T):
        v = x[t, :].bitcast(ak.u8).bitcast(ak.f16)
        y[t, :] = v.bitcast(ak.i32)
        z[t, :] = v
""",
        {"T": 5},
    ),
    Program(
        "a row regrouped while another is joined three times",
        """
def bitcast_beside(x: ak.In[ak.i32, T, 15], w: ak.In[ak.u8, T, 15], y: ak.Out[ak.u8, T, 45], z: ak.Out[ak.e4m3, T, 60]):
    for t in ak.grid(ak.each(T)):
        v = x[t, :].bitcast(ak.u16)
        y[t, :] = ak.concat((w[t, :], w[t, :], w[t, :]), axis=0)
        z[t, :] = ((ak.maximum(v, v) - v) << 2).bitcast(ak.e4m3)
""",
        {"T": 2},
    ),
    Program(
        "windows of different pieces are apart",
        """
def piece_windows(x: ak.In[ak.i32, N], y: ak.Out[ak.i32, 2 * N]):
    for p in ak.grid(ak.parts(N, 3)):
        y[2 * p] = x[p]
        y[2 * p + 1] = x[p]
""",
        {"N": 9},
    ),
    Program(
        "windows of rows and of whole segments are apart, and fill what they reach",
        """
def segment_windows(f: ak.In[ak.i32, M + 1].offsets(T), x: ak.In[ak.f32, T, H], i: ak.In[ak.i16, T].distinct(ignore=-1), y: ak.Out[ak.f32, 2 * T, H], z: ak.Out[ak.f32, T, H], w: ak.Out[ak.f32, N, H].partial(), v: ak.Out[ak.f32, 2 * T]):
    for (s, m), h in ak.grid(ak.segments(f).blocks(), H):
        y[2 * m, h] = x[m, h]
        y[2 * m + 1, h] = x[m, h] + 1.0
        z[T - 1 - m, h] = x[m, h]
        r = i[m]
        ak.store(w[r, h], x[m, h], where=((r >= 0) & (r < N))[:, None])
    for s in ak.grid(ak.segments(f)):
        v[2 * s] = x[s, 0]
        v[2 * s + 1] = x[s, H - 1]
""",
        {"T": 29, "H": 5, "M": 4, "N": 40},
    ),
    Program(
        "segments of which each is one block of rows",
        """
def one_block_segments(f: ak.In[ak.i64, M + 1].offsets(T), x: ak.In[ak.bf16, T], y: ak.Out[ak.bf16, 2 * T]):
    for s, m in ak.grid(ak.segments(f).blocks(block=8)):
        y[2 * m] = x[m]
        y[2 * m + 1] = x[m]
""",
        {"T": 3, "M": 2},
        frozenset({"T", "M"}),
    ),
)
