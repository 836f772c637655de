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
#define INLINE static inline __attribute__((always_inline))

/* May stand at any address that suits a double. */
typedef double vector __attribute__((vector_size(BYTES), aligned(8), may_alias));
typedef int64_t integers __attribute__((vector_size(BYTES), aligned(8), may_alias));

INLINE vector load(const double *p) { return *(const vector *)p; }
INLINE void store(double *p, vector v) { *(vector *)p = v; }

/* Four sums at once, so that an addition does not wait for the latency of the one before. */
#define SUMS 4

INLINE double total(vector v) {
    double sum = 0;
    for (int lane = 0; lane < LANES; lane++) sum += v[lane];
    return sum;
}

/* Comparisons lane by lane; C, unlike C++, has no selects between vectors. */
#if defined(__AVX512F__)
typedef __mmask8 mask;
INLINE mask less(vector a, vector b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ); }
INLINE int any(mask m) { return m != 0; }
INLINE vector choose(mask m, vector a, vector b) {
    return (vector)_mm512_mask_blend_pd(m, (__m512d)b, (__m512d)a);
}
INLINE vector lower(vector a, vector b) { return (vector)_mm512_min_pd((__m512d)a, (__m512d)b); }
INLINE vector magnitude(vector a) { return (vector)_mm512_abs_pd((__m512d)a); }
#else
typedef integers mask;
INLINE mask less(vector a, vector b) { return a < b; }
INLINE int any(mask m) {
    int64_t some = 0;
    for (int lane = 0; lane < LANES; lane++) some |= m[lane];
    return some != 0;
}
INLINE vector choose(mask m, vector a, vector b) {
    return (vector)((m & (integers)a) | (~m & (integers)b));
}
INLINE vector lower(vector a, vector b) { return choose(a < b, a, b); }
INLINE vector magnitude(vector a) { return (vector)((integers)a & INT64_MAX); }
#endif

/* A vector of f(lane), for the indices of shuffles, which are from LANES on those of a second vector. */
#if BYTES == 64
#define EACH(f) ((integers){f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)})
#elif BYTES == 32
#define EACH(f) ((integers){f(0), f(1), f(2), f(3)})
#else
#define EACH(f) ((integers){f(0), f(1)})
#endif

/* Exchange the elements beside the diagonal in squares of step x step. */
INLINE void turn_by(vector row[LANES], int step) {
#define UPPER(lane) ((lane) & step ? LANES + (lane) - step : (lane))
#define LOWER(lane) ((lane) & step ? LANES + (lane) : (lane) + step)
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++) {
        if (i & step) continue;
        vector a = row[i], b = row[i + step];
        row[i] = __builtin_shuffle(a, b, EACH(UPPER));
        row[i + step] = __builtin_shuffle(a, b, EACH(LOWER));
    }
}

/* Transpose a square of vectors, in registers. */
INLINE void turn(vector row[LANES]) {
    turn_by(row, 1);
    if (LANES > 2) turn_by(row, 2);
    if (LANES > 4) turn_by(row, 4);
}

INLINE long least(long a, long b) { return a < b ? a : b; }

#endif
