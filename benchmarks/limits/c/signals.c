/* Kernels along a signal. */
#include <omp.h>

#include "vectors.h"

#define OUTPUTS 8 /* vectors of results in registers */

/* y[i] = sum of h[k] x[i + taps - 1 - k], where all of h meets x. Two taps that are a vector apart share loads. */
void fir(const double *restrict x, const double *restrict h, double *restrict y, long n, long taps) {
    long results = n - taps + 1, whole = results - results % (OUTPUTS * LANES);
#pragma omp parallel for schedule(static) if (results * taps > 1 << 16)
    for (long begin = 0; begin < whole; begin += OUTPUTS * LANES) {
        const double *from = x + begin + taps - 1;
        vector sum[OUTPUTS] = {0};
        long block = 0;
        for (; block + 2 * LANES <= taps; block += 2 * LANES)
            for (long k = block; k < block + LANES; k++) {
                vector before = load(from - k - LANES);
#pragma GCC unroll 8
                for (int v = 0; v < OUTPUTS; v++) {
                    vector here = load(from - k + v * LANES);
                    sum[v] += h[k] * here + h[k + LANES] * before;
                    before = here;
                }
            }
        for (long k = block; k < taps; k++)
#pragma GCC unroll 8
            for (int v = 0; v < OUTPUTS; v++) sum[v] += h[k] * load(from - k + v * LANES);
        for (int v = 0; v < OUTPUTS; v++) store(y + begin + v * LANES, sum[v]);
    }
    for (long i = whole; i < results; i++) {
        double sum = 0;
        for (long k = 0; k < taps; k++) sum += h[k] * x[i + taps - 1 - k];
        y[i] = sum;
    }
}

/* `v` with each lane moved `by` lanes up, zeros below. */
INLINE vector moved(vector v, int by) {
#define BELOW(lane) ((lane) < by ? (lane) : LANES + (lane)-by)
    return __builtin_shuffle((vector){0}, v, EACH(BELOW));
}

/* Sums in a vector's lanes by log2(LANES) additions; one addition of each vector waits for the last one's. */
static double sums_of(const double *x, double *y, long n, double start) {
#define LAST(lane) (LANES - 1)
    vector before = start - (vector){0};
    long i = 0;
    for (; i + LANES <= n; i += LANES) {
        vector v = load(x + i);
        v += moved(v, 1);
        if (LANES > 2) v += moved(v, 2);
        if (LANES > 4) v += moved(v, 4);
        store(y + i, v + before);
        before += __builtin_shuffle(v, EACH(LAST));
    }
    double sum = before[0];
    for (; i < n; i++) y[i] = sum += x[i];
    return sum;
}

#define CHUNK (1 << 15)

/* On one thread one pass; on several the sums of chunks first. */
void cumulative_sum(const double *restrict x, double *restrict y, long n) {
    long chunks = (n + CHUNK - 1) / CHUNK;
    if (chunks < 8 || omp_get_max_threads() == 1) {
        sums_of(x, y, n, 0);
        return;
    }
    double *starts = calloc(chunks + 1, sizeof(double));
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (long chunk = 0; chunk < chunks; chunk++) {
            vector sum[SUMS] = {0};
            long begin = chunk * CHUNK, end = least(begin + CHUNK, n), i = begin;
            for (; i + SUMS * LANES <= end; i += SUMS * LANES)
                for (int v = 0; v < SUMS; v++) sum[v] += load(x + i + v * LANES);
            double rest = total((sum[0] + sum[1]) + (sum[2] + sum[3]));
            for (; i < end; i++) rest += x[i];
            starts[chunk + 1] = rest;
        }
#pragma omp single
        for (long chunk = 1; chunk <= chunks; chunk++) starts[chunk] += starts[chunk - 1];
#pragma omp for schedule(static)
        for (long chunk = 0; chunk < chunks; chunk++)
            sums_of(x + chunk * CHUNK, y + chunk * CHUNK, least(CHUNK, n - chunk * CHUNK), starts[chunk]);
    }
    free(starts);
}

/* Transforms of 1,024 complex numbers: Stockham's algorithm in steps of 8, 8 and 16, real and imaginary parts apart. */
#define SIZE 1024

typedef struct {
    vector re, im;
} number;

static double first_re[7][SIZE / 8], first_im[7][SIZE / 8], second_re[16][7], second_im[16][7];

__attribute__((constructor)) static void find_roots(void) {
    for (int k = 1; k < 8; k++) {
        for (int p = 0; p < SIZE / 8; p++) {
            first_re[k - 1][p] = cos(2 * M_PI * k * p / SIZE);
            first_im[k - 1][p] = -sin(2 * M_PI * k * p / SIZE);
        }
        for (int p = 0; p < 16; p++) {
            second_re[p][k - 1] = cos(2 * M_PI * k * p / 128);
            second_im[p][k - 1] = -sin(2 * M_PI * k * p / 128);
        }
    }
}

INLINE number plus(number a, number b) { return (number){a.re + b.re, a.im + b.im}; }
INLINE number minus(number a, number b) { return (number){a.re - b.re, a.im - b.im}; }
INLINE number turned(number a) { return (number){a.im, -a.re}; } /* -i a */
INLINE number times(number a, vector re, vector im) {
    return (number){a.re * re - a.im * im, a.re * im + a.im * re};
}

/* The transform of four numbers that are `step` apart, in place. */
INLINE void four(number *x, int step) {
    number a = plus(x[0], x[2 * step]), b = minus(x[0], x[2 * step]);
    number c = plus(x[step], x[3 * step]), d = turned(minus(x[step], x[3 * step]));
    x[0] = plus(a, c), x[step] = plus(b, d), x[2 * step] = minus(a, c), x[3 * step] = minus(b, d);
}

/* The transform of eight, in place. */
INLINE void eight(number *x) {
    const vector half = M_SQRT1_2 - (vector){0};
    four(x, 2), four(x + 1, 2);
    number a = x[3], b = x[7];
    x[3] = (number){(a.re + a.im) * half, (a.im - a.re) * half};
    x[5] = turned(x[5]);
    x[7] = (number){(b.im - b.re) * half, -(b.re + b.im) * half};
    number y[8];
    for (int k = 0; k < 4; k++) y[k] = plus(x[2 * k], x[2 * k + 1]), y[k + 4] = minus(x[2 * k], x[2 * k + 1]);
    for (int k = 0; k < 8; k++) x[k] = y[k];
}

/* The transform of sixteen, in place; the result of index c + 4 d stands at 4 c + d. */
INLINE void sixteen(number *x) {
    const double cosine = 0.92387953251128675613, sine = 0.38268343236508977173, half = M_SQRT1_2;
    const double re[4][4] = {{1, 1, 1, 1}, {1, cosine, half, sine}, {1, half, 0, -half}, {1, sine, -half, -cosine}};
    const double im[4][4] = {{0, 0, 0, 0}, {0, -sine, -half, -cosine}, {0, -half, -1, -half}, {0, -cosine, -half, sine}};
    for (int a = 0; a < 4; a++) four(x + a, 4);
    for (int c = 1; c < 4; c++)
        for (int a = 1; a < 4; a++) {
            vector zero = {0};
            x[4 * c + a] = times(x[4 * c + a], zero + re[a][c], zero + im[a][c]);
        }
    for (int c = 0; c < 4; c++) four(x + 4 * c, 1);
}

INLINE void read_pairs(const double *p, number *x) {
#define EVEN(lane) (2 * (lane))
#define ODD(lane) (2 * (lane) + 1)
    vector a = load(p), b = load(p + LANES);
    x->re = __builtin_shuffle(a, b, EACH(EVEN)), x->im = __builtin_shuffle(a, b, EACH(ODD));
}

INLINE void write_pairs(double *p, number x) {
#define FIRST(lane) ((lane) / 2 + (lane) % 2 * LANES)
#define SECOND(lane) (FIRST(lane) + LANES / 2)
    store(p, __builtin_shuffle(x.re, x.im, EACH(FIRST)));
    store(p + LANES, __builtin_shuffle(x.re, x.im, EACH(SECOND)));
}

static void transform(const double *x, double *y) {
    double re[2][SIZE] __attribute__((aligned(64))), im[2][SIZE] __attribute__((aligned(64)));
    for (int p = 0; p < SIZE / 8; p += LANES) {
        number z[8];
        for (int k = 0; k < 8; k++) read_pairs(x + 2 * (p + SIZE / 8 * k), z + k);
        eight(z);
        for (int k = 1; k < 8; k++) z[k] = times(z[k], load(first_re[k - 1] + p), load(first_im[k - 1] + p));
        for (int group = 0; group < 8; group += LANES) {
            vector a[LANES], b[LANES];
            for (int k = 0; k < LANES; k++) a[k] = z[group + k].re, b[k] = z[group + k].im;
            turn(a), turn(b);
            for (int lane = 0; lane < LANES; lane++) {
                store(re[0] + 8 * (p + lane) + group, a[lane]);
                store(im[0] + 8 * (p + lane) + group, b[lane]);
            }
        }
    }
    for (int p = 0; p < 16; p++)
        for (int q = 0; q < 8; q += LANES) {
            number z[8];
            for (int k = 0; k < 8; k++)
                z[k] = (number){load(re[0] + q + 8 * (p + 16 * k)), load(im[0] + q + 8 * (p + 16 * k))};
            eight(z);
            for (int k = 0; k < 8; k++) {
                vector zero = {0};
                if (k) z[k] = times(z[k], zero + second_re[p][k - 1], zero + second_im[p][k - 1]);
                store(re[1] + q + 8 * (8 * p + k), z[k].re), store(im[1] + q + 8 * (8 * p + k), z[k].im);
            }
        }
    for (int q = 0; q < 64; q += LANES) {
        number z[16];
        for (int k = 0; k < 16; k++) z[k] = (number){load(re[1] + q + 64 * k), load(im[1] + q + 64 * k)};
        sixteen(z);
        for (int k = 0; k < 16; k++) write_pairs(y + 2 * (q + 64 * (k / 4 + k % 4 * 4)), z[k]);
    }
}

/* Complex numbers are pairs of doubles. */
void fft_1024(const double *x, double *y, long rows) {
#pragma omp parallel for schedule(static) if (rows > 8)
    for (long row = 0; row < rows; row++) transform(x + 2 * SIZE * row, y + 2 * SIZE * row);
}
