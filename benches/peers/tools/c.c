// Hand-written C with AVX-512 and streaming stores: the practical limit of the machine.
//
//     gcc -O3 -march=native -ffast-math -mprefer-vector-width=512 -fopenmp
//
// Results larger than the cache are written past it. Stages keep rings of rows (row r in slot r % count); rows of rings
// have room for vectors that begin inside and end beyond, so that inner loops need no tails.
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HASH_X 0x8DA6B343u
#define HASH_Y 0xD8163841u
#define HASH_SEED 0xCB1AB31Fu
#define HASH_MIX 0x5BD1E995u

typedef __m512 vec;
enum { LANES = 16, SLACK = 64 };

#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define STREAM(p, v) _mm512_stream_ps(p, v)
#define ALL(k) _mm512_set1_ps(k)
// Lanes k.. of lo followed by the first of hi.
#define SHIFT(hi, lo, k) \
    _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(hi), _mm512_castps_si512(lo), k))

static float *floats(size_t count) { return aligned_alloc(64, (count * 4 + 63) / 64 * 64 + 256); }

// Copies a row past the cache, wherever it begins.
static void stream_row(float *restrict to, const float *restrict from, long n) {
    for (; n && (uintptr_t)to & 63; n--) *to++ = *from++;
    long whole = n & ~15L;
    for (long i = 0; i < whole; i += LANES) STREAM(to + i, LOAD(from + i));
    for (long i = whole; i < n; i++) to[i] = from[i];
}

static inline uint32_t mixed(uint32_t h) {
    h ^= h >> 13;
    h *= HASH_MIX;
    return h ^ h >> 15;
}

// w1: 16 x 8 results at a time, the sums of their ten rows in registers.
void w1(const float *restrict a, float *restrict out, long n) {
    long pitch = n + 2;
    vec ninth = ALL(1.f / 9);
#pragma omp parallel for schedule(dynamic, 8)
    for (long y = 0; y < n; y += 8)
        for (long x = 0; x < n; x += LANES) {
            const float *p = a + y * pitch + x;
            vec rows[10];
            for (int r = 0; r < 10; r++, p += pitch) rows[r] = LOAD(p) + LOAD(p + 1) + LOAD(p + 2);
            for (int r = 0; r < 8; r++)
                STREAM(out + (y + r) * n + x, ninth * (rows[r] + (rows[r + 1] + rows[r + 2])));
        }
    _mm_sfence();
}

// [1 2 1]/4 along y in registers, then along x by shifting lanes.
static inline void binomial_row(const float *p, const float *c, const float *n, float *restrict to, long width) {
    vec quarter = ALL(.25f), half = ALL(.5f);
#define DOWN3(x) (half * LOAD(c + (x)) + quarter * (LOAD(p + (x)) + LOAD(n + (x))))
    vec now = DOWN3(0);
    for (long x = 0; x < width; x += LANES) {
        vec next = DOWN3(x + LANES);
        STORE(to + x, half * SHIFT(next, now, 1) + quarter * (now + SHIFT(next, now, 2)));
        now = next;
    }
#undef DOWN3
}

// w2: tiles of 1024 x 256; four stages in rings of three rows, the fifth goes out.
void w2(const float *restrict a, float *restrict out, long n) {
    enum { STAGES = 5, WIDE = 1024, HIGH = 256, PITCH = WIDE + SLACK };
    long pitch = n + 2 * STAGES;
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (long y0 = 0; y0 < n; y0 += HIGH)
        for (long x0 = 0; x0 < n; x0 += WIDE) {
            float *rings = floats(3 * STAGES * PITCH), *last = rings + 3 * (STAGES - 1) * PITCH;
#define RING(stage, row) (rings + (3 * (stage) + (row) % 3) * PITCH)
            for (long r = 2; r < HIGH + 2 * STAGES; r++) {
                const float *in = a + (y0 + r) * pitch + x0;
                for (long x = 0; x < WIDE + 10; x += LANES) _mm_prefetch(in + 2 * pitch + x, _MM_HINT_T0);
                for (int s = 0; s < STAGES; s++) {
                    long row = r - 2 * (s + 1), width = WIDE + 2 * (STAGES - 1 - s);
                    if (row < 0) break;
                    float *to = s == STAGES - 1 ? last : RING(s, row);
                    if (s == 0)
                        binomial_row(in - 2 * pitch, in - pitch, in, to, width);
                    else
                        binomial_row(RING(s - 1, row), RING(s - 1, row + 1), RING(s - 1, row + 2), to, width);
                    if (s == STAGES - 1) stream_row(out + (y0 + row) * n + x0, last, WIDE);
                }
            }
#undef RING
            free(rings);
        }
    _mm_sfence();
}

static inline void noise_row(float *restrict to, int32_t y, int32_t x0, long n, uint32_t seed) {
    uint32_t start = (uint32_t)x0 * HASH_X + (uint32_t)y * HASH_Y + seed * HASH_SEED;
    for (long i = 0; i < n; i++) to[i] = (float)(int32_t)(mixed((uint32_t)i * HASH_X + start) >> 8) * 0x1p-24f;
}

// Five taps along y of the ring of five rows that begins with `row`, then along x.
static inline void gauss_row(const float *ring, long pitch, long row, float *restrict to, long width, const float *g) {
    const float *r[5];
    for (int i = 0; i < 5; i++) r[i] = ring + (row + i) % 5 * pitch;
    vec g0 = ALL(g[0]), g1 = ALL(g[1]), g2 = ALL(g[2]);
#define DOWN5(x) \
    (g0 * (LOAD(r[0] + (x)) + LOAD(r[4] + (x))) + (g1 * (LOAD(r[1] + (x)) + LOAD(r[3] + (x))) + g2 * LOAD(r[2] + (x))))
    vec now = DOWN5(0);
    for (long x = 0; x < width; x += LANES) {
        vec next = DOWN5(x + LANES);
        vec inner = g1 * (SHIFT(next, now, 1) + SHIFT(next, now, 3)) + g2 * SHIFT(next, now, 2);
        STORE(to + x, g0 * (now + SHIFT(next, now, 4)) + inner);
        now = next;
    }
#undef DOWN5
}

void w3(float *restrict out, long n, int top, int left, const float *g) {
    enum { WIDE = 1024, HIGH = 256, PITCH = WIDE + SLACK };
#pragma omp parallel for collapse(3) schedule(dynamic)
    for (int c = 0; c < 3; c++)
        for (long y0 = 0; y0 < n; y0 += HIGH)
            for (long x0 = 0; x0 < n; x0 += WIDE) {
                float *base = floats(11 * PITCH), *once = base + 5 * PITCH, *twice = base + 10 * PITCH;
                for (long r = 0; r < HIGH + 8; r++) {
                    noise_row(base + r % 5 * PITCH, top + y0 + r - 4, left + x0 - 4, WIDE + 8, 30 + c);
                    if (r >= 4) gauss_row(base, PITCH, r - 4, once + (r - 4) % 5 * PITCH, WIDE + 4, g);
                    if (r < 8) continue;
                    gauss_row(once, PITCH, r - 8, twice, WIDE, g);
                    stream_row(out + (c * n + y0 + r - 8) * n + x0, twice, WIDE);
                }
                free(base);
            }
    _mm_sfence();
}

void w4(const float *restrict a, float *restrict out, long n, const float *g) {
    enum { HIGH = 64 };
    long pitch = n + 6, plane = pitch * pitch, wide = (pitch + 31) / LANES * LANES;
    float g0 = g[0], g1 = g[1], g2 = g[2], g3 = g[3];
#pragma omp parallel for schedule(dynamic)
    for (long y0 = 0; y0 < n; y0 += HIGH) {
        float *grey = floats(11 * wide), *restrict sums = grey + 7 * wide, *restrict done = sums + wide;
        for (long r = y0; r < y0 + HIGH + 6; r++) {
            const float *restrict red = a + r * pitch, *restrict green = red + plane, *restrict blue = green + plane;
            float *restrict to = grey + r % 7 * wide;
            for (long x = 0; x < pitch; x++) to[x] = .299f * red[x] + .587f * green[x] + .114f * blue[x];
            if (r < y0 + 6) continue;
            const float *restrict q[7];
            for (int i = 0; i < 7; i++) q[i] = grey + (r - 6 + i) % 7 * wide;
            const float *restrict q0 = q[0], *restrict q1 = q[1], *restrict q2 = q[2], *restrict q3 = q[3],
                        *restrict q4 = q[4], *restrict q5 = q[5], *restrict q6 = q[6];
            for (long x = 0; x < pitch; x++)
                sums[x] = g0 * (q0[x] + q6[x]) + g1 * (q1[x] + q5[x]) + g2 * (q2[x] + q4[x]) + g3 * q3[x];
            long y = r - 6;
            const float *restrict in = a + (y + 3) * pitch + 3;
            for (long x = 0; x < n; x++) {
                const float *s = sums + x;
                float soft = g0 * (s[0] + s[6]) + g1 * (s[1] + s[5]) + g2 * (s[2] + s[4]) + g3 * s[3];
                float gain = 2 - soft / q3[x + 3];
                done[x] = gain * in[x];
                done[wide + x] = gain * in[plane + x];
                done[2 * wide + x] = gain * in[2 * plane + x];
            }
            for (int c = 0; c < 3; c++) stream_row(out + (c * n + y) * n, done + c * wide, n);
        }
        free(grey);
    }
    _mm_sfence();
}

// w5: gradients in rings of three rows; products, their column sums and the response in registers.
void w5(const float *restrict a, float *restrict out, long n) {
    enum { WIDE = 1024, HIGH = 128, PITCH = WIDE + SLACK };
    long pitch = n + 4;
    vec twelfth = ALL(1.f / 12), sixth = ALL(1.f / 6), k = ALL(.04f);
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (long y0 = 0; y0 < n; y0 += HIGH)
        for (long x0 = 0; x0 < n; x0 += WIDE) {
            float *ix = floats(6 * PITCH), *iy = ix + 3 * PITCH;
            for (long r = 0; r < HIGH + 2; r++) {
                const float *p = a + (y0 + r) * pitch + x0, *c = p + pitch, *q = c + pitch;
                float *restrict dx = ix + r % 3 * PITCH, *restrict dy = iy + r % 3 * PITCH;
                vec sum = sixth * LOAD(c) + twelfth * (LOAD(p) + LOAD(q)), gap = twelfth * (LOAD(q) - LOAD(p));
                for (long x = 0; x < WIDE + 2; x += LANES) {
                    _mm_prefetch(q + 2 * pitch + x, _MM_HINT_T0);
                    vec pn = LOAD(p + x + LANES), qn = LOAD(q + x + LANES);
                    vec sum_n = sixth * LOAD(c + x + LANES) + twelfth * (pn + qn), gap_n = twelfth * (qn - pn);
                    vec gap_1 = SHIFT(gap_n, gap, 1);
                    _mm512_store_ps(dx + x, SHIFT(sum_n, sum, 2) - sum);
                    _mm512_store_ps(dy + x, (gap + SHIFT(gap_n, gap, 2)) + (gap_1 + gap_1));
                    sum = sum_n, gap = gap_n;
                }
                if (r < 2) continue;
                float *to = out + (y0 + r - 2) * n + x0;
#define ROW(d, i, x) LOAD((d) + (i) * PITCH + (x))
#define COLUMN(u, v, x) (ROW(u, 2, x) * ROW(v, 2, x) + (ROW(u, 1, x) * ROW(v, 1, x) + ROW(u, 0, x) * ROW(v, 0, x)))
#define SUM3(next, now) (now + (SHIFT(next, now, 1) + SHIFT(next, now, 2)))
                vec cxx = COLUMN(ix, ix, 0), cyy = COLUMN(iy, iy, 0), cxy = COLUMN(ix, iy, 0);
                for (long x = 0; x < WIDE; x += LANES) {
                    vec nxx = COLUMN(ix, ix, x + LANES), nyy = COLUMN(iy, iy, x + LANES);
                    vec nxy = COLUMN(ix, iy, x + LANES);
                    vec xx = SUM3(nxx, cxx), yy = SUM3(nyy, cyy), xy = SUM3(nxy, cxy), trace = xx + yy;
                    STREAM(to + x, xx * yy - xy * xy - k * (trace * trace));
                    cxx = nxx, cyy = nyy, cxy = nxy;
                }
            }
            free(ix);
        }
    _mm_sfence();
}

// w6: within a cell an octave is n0 + fade(fx) * (n1 - n0) with n0 = slope * fx + level and n1 = slope' * fx + level' -
// slope'. Hash and gradients are computed once per row and cell, tables hold fx and fade(fx). Rows begin at x = -16, so
// that vectors end where cells do, or in their middle for cells of 8.
enum { OCTAVES = 6, CELLS = 600, BEFORE = 16 };
typedef struct {
    float slope[OCTAVES][CELLS], level[OCTAVES][CELLS], behind[OCTAVES][CELLS], fade[OCTAVES][256], part[OCTAVES][256];
} noise;

static inline float fade(float t) { return t * t * t * (t * (t * 6 - 15) + 10); }
static inline float gradient(uint32_t bits) { return (float)(int)bits * 0x1p-15f - 1; }

static void noise_cells(noise *restrict t, int y, long n) {
    for (int o = 0; o < OCTAVES; o++) {
        int at = y * (1 << o), first = -BEFORE * (1 << o) >> 8, count = (int)(n + 2 * BEFORE >> (8 - o)) + 3;
        float fy = (at & 255) / 256.f, v = fade(fy), amplitude = 1.f / (1 << o);
        uint32_t above = (uint32_t)(at >> 8) * HASH_Y + (100 + o) * HASH_SEED, below = above + HASH_Y;
        for (int i = 0; i < count; i++) {
            uint32_t column = (uint32_t)(first + i) * HASH_X, h = mixed(column + above), k = mixed(column + below);
            float hx = gradient(h & 0xFFFF), kx = gradient(k & 0xFFFF);
            float hy = gradient(h >> 16) * fy, ky = gradient(k >> 16) * (fy - 1);
            float slope = amplitude * (hx + v * (kx - hx)), level = amplitude * (hy + v * (ky - hy));
            t->slope[o][i] = slope, t->level[o][i] = level, t->behind[o][i] = level - slope;
        }
    }
}

#define BOTH_HALVES(p) _mm512_mask_broadcastss_ps(ALL((p)[0]), 0xFF00, _mm_load_ss((p) + 1))
#define ONE_CELL(p) ALL(*(p))
#define ADD_OCTAVE(o, SPREAD)                                                                                     \
    {                                                                                                             \
        long at = (x * (1 << o)) & 255, cell = (x * (1 << o) >> 8) - (-BEFORE * (1 << o) >> 8);                   \
        const float *slope = t->slope[o] + cell, *level = t->level[o] + cell, *behind = t->behind[o] + cell;      \
        vec fx = LOAD(t->part[o] + (at >> o)), u = LOAD(t->fade[o] + (at >> o));                                  \
        vec n0 = SPREAD(slope) * fx + SPREAD(level), n1 = SPREAD(slope + 1) * fx + SPREAD(behind + 1);            \
        sum += u * (n1 - n0) + n0;                                                                                \
    }

static void noise_heights(const noise *restrict t, float *restrict to, long n) {
    for (long x = -BEFORE; x < n + BEFORE; x += LANES) {
        vec sum = _mm512_setzero_ps();
        ADD_OCTAVE(0, ONE_CELL) ADD_OCTAVE(1, ONE_CELL) ADD_OCTAVE(2, ONE_CELL)
        ADD_OCTAVE(3, ONE_CELL) ADD_OCTAVE(4, ONE_CELL) ADD_OCTAVE(5, BOTH_HALVES)
        _mm512_store_ps(to + x + BEFORE, sum);
    }
}

void w6(float *restrict out, long n) {
    enum { HIGH = 64 };
#pragma omp parallel
    {
        noise *t = (noise *)floats(sizeof(noise) / 4);
        for (int o = 0; o < OCTAVES; o++)
            for (int i = 0; i < 256; i++) t->part[o][i] = (i << o & 255) / 256.f, t->fade[o][i] = fade(t->part[o][i]);
        long wide = n + 2 * BEFORE + LANES;
        float *rows = floats(5 * wide), *restrict slope = rows + 3 * wide, *restrict light = rows + 4 * wide;
#pragma omp for schedule(dynamic)
        for (long y0 = 0; y0 < n; y0 += HIGH)
            for (long r = y0; r < y0 + HIGH + 2; r++) {
                noise_cells(t, r - 1, n);
                noise_heights(t, rows + r % 3 * wide, n);
                if (r < y0 + 2) continue;
                const float *restrict first = rows + BEFORE, *restrict p = first + (r - 2) % 3 * wide,
                            *restrict c = first + (r - 1) % 3 * wide, *restrict q = first + r % 3 * wide;
                for (long x = 0; x < n; x++) {
                    float dx = 20 * (c[x + 1] - c[x - 1]), dy = 20 * (q[x] - p[x]), d = dx * dx + dy * dy;
                    float l = (.70710678f + .5f * dx + .5f * dy) / sqrtf(1 + d);
                    slope[x] = sqrtf(d);
                    light[x] = l > 0 ? l : 0;
                }
                stream_row(out + (r - 2) * n, c, n);
                stream_row(out + (n + r - 2) * n, slope, n);
                stream_row(out + (2 * n + r - 2) * n, light, n);
            }
        free(rows);
        free(t);
    }
    _mm_sfence();
}

// w7: sums of blocks of 64 x 64 (a window is 4 x 4 of them, a step 3): the means read every element once.
void w7(const float *restrict a, float *restrict out, long n, const float *ramp) {
    enum { STEP = 192, BLOCK = 64 };
    long pitch = n + 2 * STEP, blocks = pitch / BLOCK, count = (blocks - 4) / 3 + 1;
    float *sums = floats(blocks * blocks), *gain = floats(count * count), both[BLOCK];
    for (int i = 0; i < BLOCK; i++) both[i] = 1 / (ramp[i] + ramp[i + STEP]);
#pragma omp parallel for
    for (long by = 0; by < blocks; by++) {
        memset(sums + by * blocks, 0, blocks * sizeof(float));
        for (long y = by * BLOCK; y < by * BLOCK + BLOCK; y++)
            for (long bx = 0; bx < blocks; bx++) {
                const float *restrict p = a + y * pitch + bx * BLOCK;
                float sum = 0;
                for (int i = 0; i < BLOCK; i++) sum += p[i];
                sums[by * blocks + bx] += sum;
            }
    }
    for (long y = 0; y < count; y++)
        for (long x = 0; x < count; x++) {
            float sum = 0;
            for (int i = 0; i < 16; i++) sum += sums[(3 * y + i / 4) * blocks + 3 * x + i % 4];
            gain[y * count + x] = .5f * 256 * 256 / sum;
        }
#pragma omp parallel for schedule(dynamic, 32)
    for (long y = 0; y < n; y++) {
        long i = y % STEP;
        const float *below = gain + (y / STEP + 1) * count, *above = below - count;
        float w1 = ramp[i], w0 = i < BLOCK ? ramp[i + STEP] : 0, scale = 1 / (w1 + w0);
        float row[n + STEP] __attribute__((aligned(64)));
        const float *restrict in = a + (y + STEP) * pitch + STEP;
        for (long k = 0; k * STEP < n; k++) {
            float own = (w1 * below[k + 1] + w0 * above[k + 1]) * scale, left = (w1 * below[k] + w0 * above[k]) * scale;
            const float *restrict p = in + k * STEP;
            float *restrict to = row + k * STEP;
            for (int j = 0; j < BLOCK; j++) to[j] = p[j] * (ramp[j] * own + ramp[j + STEP] * left) * both[j];
            for (int j = BLOCK; j < STEP; j++) to[j] = p[j] * own;
        }
        stream_row(out + y * n, row, n);
    }
    free(sums);
    free(gain);
    _mm_sfence();
}

// w8: `low` is where a level begins; level l of the way up covers [-1, n / 2^l + 1).
static void halve(const float *restrict a, long pitch, long skip, float *restrict to, long n) {
#pragma omp parallel for schedule(dynamic, 16)
    for (long y = 0; y < n; y++) {
        float *restrict t = floats(2 * n + SLACK), *restrict row = to + y * n;
        const float *restrict a0 = a + (skip + 2 * y) * pitch + skip, *restrict a1 = a0 + pitch;
        const float *restrict a2 = a1 + pitch, *restrict a3 = a2 + pitch;
        for (long x = 0; x < 2 * n + 2; x++) t[x] = .125f * (a0[x] + a3[x]) + .375f * (a1[x] + a2[x]);
        for (long x = 0; x < n; x++) row[x] = .125f * (t[2 * x] + t[2 * x + 3]) + .375f * (t[2 * x + 1] + t[2 * x + 2]);
        free(t);
    }
}

// Two results per pair of sources; with `odd` the first of them is the second of a pair, and the row is streamed.
static void grow(const float *restrict up, long pitch, const float *restrict down, long down_pitch, long skip,
                 float *restrict to, long n, int odd) {
#pragma omp parallel for schedule(dynamic, 16)
    for (long y = 0; y < n; y++) {
        float *t = floats(pitch + n + 2 * SLACK), *row = t + (pitch + SLACK) / LANES * LANES;
        long j = y + odd;
        const float *restrict near = up + (j / 2 + j % 2) * pitch, *restrict far = up + (j / 2 + !(j % 2)) * pitch;
        const float *restrict d = down + (y + skip) * down_pitch + skip;
        float *restrict e = odd ? row : to + y * n;
        for (long x = 0; x < pitch; x++) t[x] = .375f * near[x] + .125f * far[x];
        if (odd)
            for (long x = 0; x < n / 2; x++) {
                e[2 * x] = .5f * d[2 * x] + .75f * t[x + 1] + .25f * t[x];
                e[2 * x + 1] = .5f * d[2 * x + 1] + .75f * t[x + 1] + .25f * t[x + 2];
            }
        else
            for (long x = 0; x < n / 2; x++) {
                e[2 * x] = .5f * d[2 * x] + .75f * t[x] + .25f * t[x + 1];
                e[2 * x + 1] = .5f * d[2 * x + 1] + .75f * t[x + 1] + .25f * t[x];
            }
        if (odd) stream_row(to + y * n, row, n);
        free(t);
    }
}

void w8(const float *restrict a, float *restrict out, long n, float *scratch) {
    enum { LEVELS = 4 };
    const float *down[LEVELS + 1] = {a};
    long low[LEVELS + 1] = {-32}, size[LEVELS + 1] = {n + 64};
    for (int l = 0; l < LEVELS; l++) {
        long first = -((-low[l] - 1) / 2), last = (low[l] + size[l] - 3) / 2;
        low[l + 1] = first, size[l + 1] = last - first + 1;
        halve(down[l], size[l], 2 * first - 1 - low[l], scratch, size[l + 1]);
        down[l + 1] = scratch;
        scratch += size[l + 1] * size[l + 1];
    }
    const float *up = down[LEVELS];
    long pitch = size[LEVELS];
    for (int l = LEVELS - 1; l > 0; l--) {
        long wide = (n >> l) + 2;
        grow(up, pitch, down[l], size[l], -1 - low[l], scratch, wide, 0);
        up = scratch, pitch = wide;
        scratch += wide * wide;
    }
    grow(up, pitch, a, n + 64, 32, out, n, 1);
    _mm_sfence();
}

static inline float beyond(float d, float t) {
    float inside = d > t ? t : d;
    return d - (inside < -t ? -t : inside);
}

static inline void erode_row(const float *restrict p, const float *restrict c, const float *restrict n,
                             float *restrict to, long width) {
    const float axis = .5f, diagonal = .70710678f;
    for (long x = 0; x < width; x++) {
        float h = c[x + 1];
        float above = beyond(p[x] - h, diagonal) + beyond(p[x + 1] - h, axis) + beyond(p[x + 2] - h, diagonal);
        float below = beyond(n[x] - h, diagonal) + beyond(n[x + 1] - h, axis) + beyond(n[x + 2] - h, diagonal);
        to[x] = h + .05f * (above + (beyond(c[x] - h, axis) + beyond(c[x + 2] - h, axis)) + below);
    }
}

// w9: ten steps per pass over the data, in strips of 128 rows with rings of three.
void w9(const float *restrict a, float *restrict out, long n, long steps, float *scratch) {
    enum { FUSED = 10, HIGH = 128 };
    long size = n + 2 * steps, most = size * size;
    const float *from = a;
    for (long done = 0; done < steps; done += FUSED) {
        long less = size - 2 * FUSED, pitch = (size + 15) / LANES * LANES;
        float *to = done + FUSED == steps ? out : scratch + done / FUSED % 2 * most;
#pragma omp parallel for schedule(static)
        for (long y0 = 0; y0 < less; y0 += HIGH) {
            long high = y0 + HIGH > less ? less - y0 : HIGH;
            float *rings = floats(FUSED * 3 * pitch);
#define RING(step, row) (rings + (3 * (step) + (row) % 3) * pitch)
            for (long r = 2; r < high + 2 * FUSED; r++)
                for (long s = 0; s < FUSED; s++) {
                    long row = r - 2 * (s + 1);
                    if (row < 0) break;
                    float *d = s == FUSED - 1 ? to + (y0 + row) * less : RING(s, row);
                    const float *in = from + (y0 + row) * size;
                    if (s == 0)
                        erode_row(in, in + size, in + 2 * size, d, size - 2);
                    else
                        erode_row(RING(s - 1, row), RING(s - 1, row + 1), RING(s - 1, row + 2), d, size - 2 * (s + 1));
                }
#undef RING
            free(rings);
        }
        from = to, size = less;
    }
}

// 16 x 16 elements, turned.
static inline void turn(const float *from, long from_pitch, float *to, long to_pitch) {
    __m512i r[16], t[16];
    for (int i = 0; i < 16; i++) r[i] = _mm512_loadu_si512(from + i * from_pitch);
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int j = 0; j < 2; j++) {
            r[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + j + 2]);
            r[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + j + 2]);
        }
    for (int i = 0; i < 16; i += 8)
        for (int j = 0; j < 4; j++) {
            t[i + j] = _mm512_shuffle_i32x4(r[i + j], r[i + j + 4], 0x88);
            t[i + j + 4] = _mm512_shuffle_i32x4(r[i + j], r[i + j + 4], 0xdd);
        }
    for (int j = 0; j < 8; j++) {
        _mm512_storeu_si512(to + j * to_pitch, _mm512_shuffle_i32x4(t[j], t[j + 8], 0x88));
        _mm512_storeu_si512(to + (j + 8) * to_pitch, _mm512_shuffle_i32x4(t[j], t[j + 8], 0xdd));
    }
}

// w10: out[z][j][x] = a[j + 8][505 - x][501 - z]; rows of the input are turned into a block in the cache, whose rows
// go out.
void w10(const float *restrict a, float *restrict out, long planes) {
    enum { ROWS = 490, COLUMNS = 500, BLOCK = 256, PITCH = BLOCK + 32 };
    planes -= 16;
#pragma omp parallel
    {
        float *block = floats(496 * PITCH);
#pragma omp for schedule(static) collapse(2)
        for (long j = 0; j < planes; j++)
            for (long x0 = 0; x0 < COLUMNS; x0 += BLOCK) {
                long width = x0 + BLOCK > COLUMNS ? COLUMNS - x0 : BLOCK;
                for (long i = 0; i < width; i += LANES) {
                    long x = i + LANES > width ? width - LANES : i;
                    const float *row = a + ((j + 8) * 512 + 505 - x0 - x) * 512 + 6;
                    for (long k = 0; k < 496; k += LANES) turn(row + k, -512, block + k * PITCH + x, PITCH);
                }
                for (long z = 0; z < ROWS; z++)
                    stream_row(out + (z * planes + j) * COLUMNS + x0, block + (495 - z) * PITCH, width);
            }
        free(block);
    }
    _mm_sfence();
}

// w11: one frame of 1024 x 1024 into its place in the tiles of 32 frames.
void w11(const float *restrict frame, float *restrict tiles, long t) {
#pragma omp parallel for
    for (long y = 0; y < 1024; y++)
        for (long x = 0; x < 16; x++) {
            float *to = tiles + ((y / 64 * 16 + x) * 32 + t) * 4096 + y % 64 * 64;
            const float *from = frame + y * 1024 + x * 64;
            for (int i = 0; i < 64; i += LANES) STREAM(to + i, LOAD(from + i));
        }
    _mm_sfence();
}

void w12(float *restrict out, long n, int top, int left, const float *g) {
    enum { HIGH = 128 };
    long pitch = (n + 95) / LANES * LANES;
#pragma omp parallel for schedule(static)
    for (long y0 = 0; y0 < n; y0 += HIGH) {
        long high = y0 + HIGH > n ? n - y0 : HIGH;
        float *base = floats(8 * pitch), *soft = base + 5 * pitch;
        for (long r = 0; r < high + 6; r++) {
            noise_row(base + r % 5 * pitch, top + y0 + r - 3, left - 3, n + 6, 12);
            if (r >= 4) gauss_row(base, pitch, r - 4, soft + (r - 4) % 3 * pitch, n + 2, g);
            if (r < 6) continue;
            const float *restrict p = soft + (r - 6) % 3 * pitch + 1, *restrict c = soft + (r - 5) % 3 * pitch + 1,
                        *restrict q = soft + (r - 4) % 3 * pitch + 1;
            float *restrict to = out + (y0 + r - 6) * n;
            for (long x = 0; x < n; x++) {
                float gx = .5f * (c[x + 1] - c[x - 1]), gy = .5f * (q[x] - p[x]);
                to[x] = sqrtf(gx * gx + gy * gy);
            }
        }
        free(base);
    }
}
