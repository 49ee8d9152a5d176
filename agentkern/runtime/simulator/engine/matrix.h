// Instructions of a whole warp: ldmatrix, stmatrix, mma.sync, elect. The last lane to arrive does the
// work of all (warp.h).

static uint8_t *matrix_row(Fiber *lane, uint64_t address, uint32_t kind) {
    static uint8_t nowhere[16];
    SharedPlace place = shared_place(address, 16, 16);
    if (!place.block) {
        complain(OPERAND_MISUSE, MATRIX_ADDRESS, lane->line, (int64_t)place.offset, 0);
        memset(nowhere, 0xcd, sizeof nowhere);
        return nowhere;
    }
    Fiber *running = launch.running;
    launch.running = lane;
    void *row = access_shared(address, kind | AK_SIM_SHARED | 16u, lane->line);
    launch.running = running;
    return (uint8_t *)row;
}

// Lane 8 j + r gives row r of matrix j; element 2 c, 2 c + 1 of row r are lane 4 r + c's register j.
static void move_matrices(Fiber *lanes, bool store) {
    uint32_t n = lanes[0].request->numbers[0];
    bool transposed = lanes[0].request->numbers[1];
    for (uint32_t j = 0; j < n; ++j) {
        uint16_t elements[8][8];
        for (uint32_t lane = 0; store && lane < 32; ++lane) {
            const uint32_t *registers = (const uint32_t *)lanes[lane].request->registers[0];
            for (uint32_t e = 0; e < 2; ++e) {
                uint32_t row = lane / 4, column = lane % 4 * 2 + e;
                uint16_t value = (uint16_t)(registers[j] >> (16 * e));
                (transposed ? elements[column][row] : elements[row][column]) = value;
            }
        }
        for (uint32_t row = 0; row < 8; ++row) {
            Fiber *lane = &lanes[8 * j + row];
            uint8_t *bytes = matrix_row(lane, lane->request->address, store ? AK_SIM_WRITE : AK_SIM_READ);
            if (store) {
                memcpy(bytes, elements[row], 16);
            } else {
                memcpy(elements[row], bytes, 16);
            }
        }
        for (uint32_t lane = 0; !store && lane < 32; ++lane) {
            uint32_t *registers = (uint32_t *)lanes[lane].request->registers[0], row = lane / 4, column = lane % 4 * 2;
            uint32_t low = transposed ? elements[column][row] : elements[row][column];
            uint32_t high = transposed ? elements[column + 1][row] : elements[row][column + 1];
            registers[j] = low | high << 16;
        }
    }
}

static Operand register_element(const uint32_t *registers, uint32_t index, uint32_t e, uint32_t format) {
    uint32_t bits = PRODUCT_FORMATS[format].bytes * 8, code = registers[index] >> (bits * e % 32);
    return decode_operand(bits == 32 ? code : code & ((1u << bits) - 1u), format);
}

// A 16-row fragment of A in four registers: register r of lane l holds row l / 4 + 8 (r & 1) and the
// k that begins at (l mod 4) * elements + (r >> 1) * k / 2.
static void decode_fragment(const uint32_t *registers, uint32_t lane, StepShape shape, Operand (*rows)[MAX_STEP_K]) {
    uint32_t each = 4 / PRODUCT_FORMATS[shape.format_a].bytes;
    for (uint32_t r = 0; r < 4; ++r) {
        for (uint32_t e = 0; e < each; ++e) {
            uint32_t k = lane % 4 * each + e + (r >> 1) * (shape.k / 2);
            rows[lane / 4 + 8 * (r & 1u)][k] = register_element(registers, r, e, shape.format_a);
        }
    }
}

// 8-bit floats have no mma.sync of their own: the assembler widens them to f16 and runs two steps of
// 16 from +0, over k mod 4 in {0, 1} and then {2, 3}, before one ordinary addition.
static uint32_t widen_to_f16(uint32_t code, uint32_t format) {
    if (format == AK_SIM_E5M2) return code << 8;
    uint32_t sign = (code & 0x80u) << 8, field = code >> 3 & 15u, fraction = code & 7u;
    if ((code & 0x7fu) == 0x7fu) return 0x7fffu;
    if (field) return sign | (field + 8u) << 10 | fraction << 7;
    if (fraction == 0) return sign;
    uint32_t shift = (uint32_t)__builtin_clz(fraction) - 28u;
    return sign | (9u - shift) << 10 | (fraction << shift & 7u) << 7;
}

static uint32_t add_f32(uint32_t a, uint32_t b) {
    float x, y;
    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    x += y;
    memcpy(&a, &x, 4);
    return (a & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : a;
}

static void multiply_narrow(Fiber *lanes, const unsigned *numbers) {
    static StepColumns columns;
    static Operand rows[16][MAX_STEP_K];
    static uint32_t sums[16][8];
    memset(sums, 0, sizeof sums);
    for (uint32_t half = 0; half < 2; ++half) {
        memset(columns.special, 0, sizeof columns.special);
        for (uint32_t i = 0; i < 32 * 16; ++i) {  // lane, register of a, one of its two bytes
            uint32_t lane = i / 16, r = i / 4 % 4, e = i % 2, byte = 8 * (2 * half + e), k = lane % 4 * 2 + e;
            if (i / 2 % 2) continue;
            uint32_t a = ((const uint32_t *)lanes[lane].request->registers[1])[r] >> byte & 0xffu;
            rows[lane / 4 + 8 * (r & 1u)][k + (r >> 1) * 8] = decode_operand(widen_to_f16(a, numbers[2]), AK_SIM_F16);
            if (r > 1) continue;
            uint32_t b = ((const uint32_t *)lanes[lane].request->registers[2])[r] >> byte & 0xffu;
            set_column(&columns, k + r * 8, lane / 4, decode_operand(widen_to_f16(b, numbers[3]), AK_SIM_F16));
        }
        for (uint32_t row = 0; row < 16; ++row) step_row(rows[row], &columns, {8, 16, AK_SIM_F16, AK_SIM_F16}, sums[row]);
    }
    for (uint32_t i = 0; i < 128; ++i) {
        uint32_t row = i / 8, n = i % 8;
        uint32_t *d = (uint32_t *)lanes[row % 8 * 4 + n / 2].request->registers[0] + row / 8 * 2 + n % 2;
        *d = add_f32(sums[row][n], *d);
    }
}

static void multiply_fragments(Fiber *lanes) {
    static StepColumns columns;
    static Operand rows[16][MAX_STEP_K];
    const unsigned *numbers = lanes[0].request->numbers;
    StepShape shape = {numbers[0], numbers[1], numbers[2], numbers[3]};
    if (shape.format_a == AK_SIM_E4M3 || shape.format_a == AK_SIM_E5M2) {
        multiply_narrow(lanes, numbers);
        return;
    }
    memset(columns.special, 0, sizeof columns.special);
    uint32_t each = 4 / PRODUCT_FORMATS[shape.format_b].bytes;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const ak_sim_request *request = lanes[lane].request;
        decode_fragment((const uint32_t *)request->registers[1], lane, shape, rows);
        for (uint32_t r = 0; r < 2; ++r) {
            for (uint32_t e = 0; e < each; ++e) {
                uint32_t k = lane % 4 * each + e + r * (shape.k / 2);
                set_column(&columns, k, lane / 4,
                           register_element((const uint32_t *)request->registers[2], r, e, shape.format_b));
            }
        }
    }
    for (uint32_t row = 0; row < 16; ++row) {
        uint32_t c[8];
        for (uint32_t n = 0; n < 8; ++n) {
            c[n] = ((uint32_t *)lanes[row % 8 * 4 + n / 2].request->registers[0])[row / 8 * 2 + n % 2];
        }
        step_row(rows[row], &columns, shape, c);
        for (uint32_t n = 0; n < 8; ++n) {
            ((uint32_t *)lanes[row % 8 * 4 + n / 2].request->registers[0])[row / 8 * 2 + n % 2] = c[n];
        }
    }
}

// The leader is the same for the whole launch; which lane it is, the instruction does not say.
static void elect_leader(Fiber *lanes) {
    bool seeded = launch.request->thread_order == SEEDED;
    uint32_t leader = seeded ? (uint32_t)(launch.request->seed * 0x9e3779b97f4a7c15ull >> 59) : 0;
    for (uint32_t l = 0; l < 32; ++l) lanes[l].result = l == leader;
}

static void run_warp_instruction(Fiber *lanes, uint32_t kind, uint32_t mask) {
    if (mask != ~0u) return;  // reported: a lane has returned
    switch (kind - FIRST_WARP_INSTRUCTION) {
        case AK_SIM_LDMATRIX:
            move_matrices(lanes, false);
            break;
        case AK_SIM_STMATRIX:
            move_matrices(lanes, true);
            break;
        case AK_SIM_MMA:
            multiply_fragments(lanes);
            break;
        default:
            elect_leader(lanes);
    }
}

static ak_sim_u64 warp_instruction(uint32_t operation, const ak_sim_request *request, uint32_t line) {
    launch.running->request = request;
    return collective(FIRST_WARP_INSTRUCTION + operation, ~0u, 0, 0, line);
}
