/* Vectors of GNU C, as wide as the machine's registers. */
#ifndef VECTORS_H
#define VECTORS_H

#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512") /* gcc's default for most of these machines is 256 */
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define LANES (BYTES / 8)

/* May stand at any address that suits a double. */
typedef double vector __attribute__((vector_size(BYTES), aligned(8), may_alias));
typedef int64_t integers __attribute__((vector_size(BYTES), aligned(8), may_alias));

static inline vector load(const double *p) { return *(const vector *)p; }
static inline void store(double *p, vector v) { *(vector *)p = v; }

static inline double total(vector v) {
    double sum = 0;
    for (int lane = 0; lane < LANES; lane++) sum += v[lane];
    return sum;
}

/* Comparisons lane by lane; C, unlike C++, has no selects between vectors. */
#if defined(__AVX512F__)
typedef __mmask8 mask;
static inline mask less(vector a, vector b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ); }
static inline int any(mask m) { return m != 0; }
static inline vector choose(mask m, vector a, vector b) {
    return (vector)_mm512_mask_blend_pd(m, (__m512d)b, (__m512d)a);
}
static inline vector lower(vector a, vector b) { return (vector)_mm512_min_pd((__m512d)a, (__m512d)b); }
static inline vector magnitude(vector a) { return (vector)_mm512_abs_pd((__m512d)a); }
#else
typedef integers mask;
static inline mask less(vector a, vector b) { return a < b; }
static inline int any(mask m) {
    int64_t some = 0;
    for (int lane = 0; lane < LANES; lane++) some |= m[lane];
    return some != 0;
}
static inline vector choose(mask m, vector a, vector b) {
    return (vector)((m & (integers)a) | (~m & (integers)b));
}
static inline vector lower(vector a, vector b) { return choose(a < b, a, b); }
static inline vector magnitude(vector a) { return (vector)((integers)a & INT64_MAX); }
#endif

/* Transpose a square of vectors, in registers. */
static inline __attribute__((always_inline)) void turn(vector row[LANES]) {
#pragma GCC unroll 4
    for (int step = 1; step < LANES; step *= 2)
#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++) {
            if (i & step) continue;
            integers low, high; /* elements of both vectors, those of the second from LANES on */
#pragma GCC unroll 8
            for (int lane = 0; lane < LANES; lane++) {
                low[lane] = lane & step ? LANES + lane - step : lane;
                high[lane] = lane & step ? LANES + lane : lane + step;
            }
            vector a = row[i], b = row[i + step];
            row[i] = __builtin_shuffle(a, b, low);
            row[i + step] = __builtin_shuffle(a, b, high);
        }
}

static inline long least(long a, long b) { return a < b ? a : b; }

#endif
