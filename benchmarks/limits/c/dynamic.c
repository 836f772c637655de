/* Dynamic programming. */
#include "vectors.h"

/* Squares of the matrix: three of them fit the first cache. */
#define SIDE 32

/* c = min(c, a + b) for squares of rows `n` apart, in tiles of four rows and two vectors in registers. */
static void relax(double *c, const double *a, const double *b, long n) {
    for (long i = 0; i < SIDE; i += 4)
        for (long j = 0; j < SIDE; j += 2 * LANES) {
            vector best[4][2];
            for (int r = 0; r < 4; r++)
                for (int v = 0; v < 2; v++) best[r][v] = load(c + (i + r) * n + j + v * LANES);
            for (long k = 0; k < SIDE; k++) {
                vector x = load(b + k * n + j), y = load(b + k * n + j + LANES);
                for (int r = 0; r < 4; r++) {
                    double step = a[(i + r) * n + k];
                    best[r][0] = lower(best[r][0], step + x), best[r][1] = lower(best[r][1], step + y);
                }
            }
            for (int r = 0; r < 4; r++)
                for (int v = 0; v < 2; v++) store(c + (i + r) * n + j + v * LANES, best[r][v]);
        }
}

/* The same where c is one of the others, so that one step is done after the other. */
static void relax_in_turn(double *c, const double *a, const double *b, long n, long rows, long columns,
                          long steps) {
    for (long k = 0; k < steps; k++)
        for (long i = 0; i < rows; i++) {
            double step = a[i * n + k];
            for (long j = 0; j < columns; j++) {
                double way = step + b[k * n + j];
                c[i * n + j] = way < c[i * n + j] ? way : c[i * n + j];
            }
        }
}

/* By squares on the diagonal: that one, its row and its column, then all others. */
void floyd_warshall(const double *from, double *d, long n) {
    memcpy(d, from, sizeof(double) * n * n);
    if (n % SIDE) {
        relax_in_turn(d, d, d, n, n, n, n);
        return;
    }
    for (long k = 0; k < n; k += SIDE) {
        double *middle = d + k * n + k;
        relax_in_turn(middle, middle, middle, n, SIDE, SIDE, SIDE);
        for (long j = 0; j < n; j += SIDE)
            if (j != k) relax_in_turn(d + k * n + j, middle, d + k * n + j, n, SIDE, SIDE, SIDE);
#pragma omp parallel for schedule(static) if (n > 64)
        for (long i = 0; i < n; i += SIDE) {
            if (i == k) continue;
            relax_in_turn(d + i * n + k, d + i * n + k, middle, n, SIDE, SIDE, SIDE);
            for (long j = 0; j < n; j += SIDE)
                if (j != k) relax(d + i * n + j, d + i * n + k, d + k * n + j, n);
        }
    }
}

/* Along the anti-diagonals, whose elements do not need each other; the second sequence is reversed for it. */
void edit_distance(const int64_t *s, const int64_t *t, int64_t *result, long n, long m) {
    int32_t *memory = malloc(sizeof(int32_t) * (5 * (n + 1) + 2 * m));
    int32_t *before = memory, *last = before + n + 1, *next = last + n + 1, *first = next + n + 1;
    int32_t *reversed = first + n;
    for (long i = 0; i < n; i++) first[i] = s[i];
    for (long j = 0; j < m; j++) reversed[j] = t[m - 1 - j];
    for (long diagonal = 0; diagonal <= n + m; diagonal++) { /* of rows i and columns diagonal - i */
        long begin = diagonal > m ? diagonal - m : 0, end = least(diagonal, n);
        if (begin == 0) next[0] = diagonal;
        if (end == diagonal) next[end] = diagonal;
        const int32_t *other = reversed + m - diagonal; /* other[i] is t[diagonal - i - 1] */
        long stop = end == diagonal ? end : end + 1;
#pragma omp simd
        for (long i = begin > 1 ? begin : 1; i < stop; i++) {
            int32_t replaced = before[i - 1] + (first[i - 1] != other[i]);
            int32_t moved = (last[i - 1] < last[i] ? last[i - 1] : last[i]) + 1;
            next[i] = replaced < moved ? replaced : moved;
        }
        int32_t *oldest = before;
        before = last, last = next, next = oldest;
    }
    *result = last[n];
    free(memory);
}
