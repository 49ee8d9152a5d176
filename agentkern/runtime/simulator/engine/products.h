// The arithmetic of one tensor-core step, bit for bit as measured: the largest exponent among the
// nonzero products and the accumulator is found, every addend is truncated toward zero `fraction`
// bits below it, the sum is exact, and the result is truncated to `result` fraction bits. A zero is
// always +0, a NaN 0x7fffffff. Lanes are columns, eight at a time; integers throughout.

struct ProductFormat {
    uint32_t bytes, exponent_bits, mantissa;
    bool has_infinity;
};
static const ProductFormat PRODUCT_FORMATS[] = {
    {2, 8, 7, true},   // bf16
    {2, 5, 10, true},  // f16
    {4, 8, 10, true},  // tf32: the low 13 bits of an f32 are dropped before all else
    {1, 4, 3, false},  // e4m3
    {1, 5, 2, true},   // e5m2
    {1, 0, 0, false},  // s8
    {1, 0, 0, false},  // u8
};

enum : uint32_t { MAX_STEP_K = 32, MAX_STEP_N = 256 };
enum : int32_t { NO_EXPONENT = -20000 };
enum : uint8_t { FINITE, INFINITE, NOT_A_NUMBER };

typedef int32_t Lanes __attribute__((vector_size(32)));
enum : uint32_t { N_PRODUCT_LANES = 8 };

struct Operand {
    int32_t significand, exponent;  // signed; value significand * 2^(exponent - mantissa)
    uint8_t kind;
    bool negative;
};

static Operand decode_operand(uint32_t code, uint32_t format) {
    if (format == AK_SIM_S8) return {(int8_t)code, 0, FINITE, false};
    if (format == AK_SIM_U8) return {(int32_t)code, 0, FINITE, false};
    const ProductFormat *f = &PRODUCT_FORMATS[format];
    if (format == AK_SIM_TF32) code >>= 13;
    uint32_t magnitude = code & ((1u << (f->exponent_bits + f->mantissa)) - 1u);
    uint32_t field = magnitude >> f->mantissa, fraction = magnitude & ((1u << f->mantissa) - 1u);
    uint32_t top = (1u << f->exponent_bits) - 1u;
    int32_t bias = (1 << (f->exponent_bits - 1)) - 1;
    bool negative = code >> (f->exponent_bits + f->mantissa) & 1u;
    if (f->has_infinity ? field == top : field == top && fraction == (1u << f->mantissa) - 1u) {
        bool infinite = f->has_infinity && fraction == 0;
        return {0, NO_EXPONENT, infinite ? INFINITE : NOT_A_NUMBER, negative};
    }
    int32_t significand = (int32_t)(field ? fraction | 1u << f->mantissa : fraction);
    int32_t exponent = significand == 0 ? (int32_t)NO_EXPONENT : field ? (int32_t)field - bias : 1 - bias;
    return {negative ? -significand : significand, exponent, FINITE, negative};
}

// The right operand of a step, decoded once for all rows.
struct StepColumns {
    int32_t significand[MAX_STEP_K][MAX_STEP_N], exponent[MAX_STEP_K][MAX_STEP_N];
    uint8_t kind[MAX_STEP_K][MAX_STEP_N];
    bool negative[MAX_STEP_K][MAX_STEP_N], special[MAX_STEP_N];
};

struct StepShape {
    uint32_t n, k, format_a, format_b;
};

static void set_column(StepColumns *columns, uint32_t k, uint32_t n, Operand operand) {
    columns->significand[k][n] = operand.significand;
    columns->exponent[k][n] = operand.exponent;
    columns->kind[k][n] = operand.kind;
    columns->negative[k][n] = operand.negative;
    columns->special[n] |= operand.kind != FINITE;
}

// sum * 2^scale
static uint32_t truncate_to_f32(int64_t sum, int32_t scale, int32_t result_bits) {
    if (sum == 0) return 0u;
    uint32_t sign = sum < 0 ? 0x80000000u : 0u;
    uint64_t magnitude = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    int32_t exponent = 63 - __builtin_clzll(magnitude) + scale;
    if (exponent > 127) return sign | 0x7f800000u;
    int32_t drop = (exponent < -126 ? -126 : exponent) - result_bits - scale;
    uint64_t kept = drop > 63 ? 0 : drop >= 0 ? magnitude >> drop : magnitude << -drop;
    uint32_t fraction = (uint32_t)kept << (23 - result_bits);
    if (exponent < -126) return fraction ? sign | fraction : 0u;
    return sign | (((uint32_t)(exponent + 127) << 23) + (fraction - 0x800000u));
}

static bool is_special_f32(uint32_t bits) { return (bits & 0x7f800000u) == 0x7f800000u; }

// A step with an infinity or a NaN among its operands.
static uint32_t special_result(const Operand *row, const StepColumns *columns, uint32_t k_extent,
                               uint32_t column, uint32_t c) {
    bool nan = (c & 0x7fffffffu) > 0x7f800000u, plus = c == 0x7f800000u, minus = c == 0xff800000u;
    for (uint32_t k = 0; k < k_extent; ++k) {
        uint8_t a = row[k].kind, b = columns->kind[k][column];
        if (a == NOT_A_NUMBER || b == NOT_A_NUMBER) nan = true;
        if (a != INFINITE && b != INFINITE) continue;
        bool zero = (a == FINITE && row[k].significand == 0) ||
                    (b == FINITE && columns->significand[k][column] == 0);
        nan |= zero;
        (row[k].negative != columns->negative[k][column] ? minus : plus) = true;
    }
    if (nan || (plus && minus)) return 0x7fffffffu;
    return plus ? 0x7f800000u : 0xff800000u;
}

static inline Lanes load_lanes(const int32_t *p) {
    Lanes v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline Lanes broadcast(int32_t v) { return Lanes{v, v, v, v, v, v, v, v}; }
static inline Lanes larger_of(Lanes a, Lanes b) { return a > b ? a : b; }

struct StepModel {
    int32_t fraction, result;
};

// Eight columns of finite operands; c is in and out.
static void step_lanes(const Operand *row, const StepColumns *columns, uint32_t first, StepShape shape,
                       StepModel model, uint32_t *c) {
    Lanes largest = broadcast(2 * NO_EXPONENT), accumulator, accumulator_exponent;
    for (uint32_t i = 0; i < N_PRODUCT_LANES; ++i) {
        uint32_t field = c[i] >> 23 & 0xffu, fraction = c[i] & 0x7fffffu;
        int32_t significand = (int32_t)(field ? fraction | 0x800000u : fraction);
        accumulator[i] = c[i] >> 31 ? -significand : significand;
        accumulator_exponent[i] = significand == 0 ? 2 * NO_EXPONENT : field ? (int32_t)field - 127 : -126;
    }
    largest = larger_of(largest, accumulator_exponent);
    for (uint32_t k = 0; k < shape.k; ++k) {
        largest = larger_of(largest, broadcast(row[k].exponent) + load_lanes(&columns->exponent[k][first]));
    }
    int32_t left = model.fraction - (int32_t)(PRODUCT_FORMATS[shape.format_a].mantissa +
                                              PRODUCT_FORMATS[shape.format_b].mantissa);
    Lanes sums[2] = {broadcast(0), broadcast(0)}, most = broadcast(31);
    for (uint32_t k = 0; k < shape.k; ++k) {
        Lanes product = broadcast(row[k].significand) * load_lanes(&columns->significand[k][first]);
        Lanes down = largest - broadcast(row[k].exponent) - load_lanes(&columns->exponent[k][first]);
        Lanes sign = product >> 31;
        Lanes magnitude = (((product ^ sign) - sign) << left) >> (down > most ? most : down);
        sums[k & 1u] += (magnitude ^ sign) - sign;
    }
    int32_t up = model.fraction - 23;
    Lanes sign = accumulator >> 31, magnitude = (accumulator ^ sign) - sign;
    Lanes down = largest - accumulator_exponent + broadcast(up < 0 ? -up : 0);
    magnitude = (magnitude << (up > 0 ? up : 0)) >> (down > most ? most : down);
    sums[1] += (magnitude ^ sign) - sign;
    for (uint32_t i = 0; i < N_PRODUCT_LANES; ++i) {
        c[i] = truncate_to_f32((int64_t)sums[0][i] + sums[1][i], largest[i] - model.fraction, model.result);
    }
}

static void step_integers(const Operand *row, const StepColumns *columns, StepShape shape, uint32_t *c) {
    for (uint32_t n = 0; n < shape.n; n += N_PRODUCT_LANES) {
        Lanes sum = load_lanes((const int32_t *)c + n);
        for (uint32_t k = 0; k < shape.k; ++k) {
            sum += broadcast(row[k].significand) * load_lanes(&columns->significand[k][n]);
        }
        memcpy(c + n, &sum, sizeof sum);
    }
}

// c[n] of one row becomes c[n] + sum over k of row[k] * columns[k][n]; n is a multiple of 8.
static void step_row(const Operand *row, const StepColumns *columns, StepShape shape, uint32_t *c) {
    if (PRODUCT_FORMATS[shape.format_a].exponent_bits == 0) {
        step_integers(row, columns, shape, c);
        return;
    }
    bool narrow = PRODUCT_FORMATS[shape.format_a].bytes == 1;
    StepModel model = narrow ? StepModel{13, 13} : StepModel{25, 23};
    bool special_row = false;
    for (uint32_t k = 0; k < shape.k; ++k) special_row |= row[k].kind != FINITE;
    for (uint32_t n = 0; n < shape.n; n += N_PRODUCT_LANES) {
        uint32_t before[N_PRODUCT_LANES];
        memcpy(before, c + n, sizeof before);
        if (!special_row) step_lanes(row, columns, n, shape, model, c + n);
        for (uint32_t i = 0; i < N_PRODUCT_LANES; ++i) {
            if (special_row || columns->special[n + i] || is_special_f32(before[i])) {
                c[n + i] = special_result(row, columns, shape.k, n + i, before[i]);
            }
        }
    }
}
