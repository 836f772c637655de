/* Kernels that move elements, or count them. */
#include "vectors.h"

#define TABLES 4 /* so that equal neighbours do not wait for each other's stores */

void histogram(const int64_t *restrict x, int64_t *restrict counts, long n, long bins) {
    memset(counts, 0, sizeof(int64_t) * bins);
#pragma omp parallel if (n > 1 << 16)
    {
        uint32_t *tables = calloc(TABLES * bins, sizeof(uint32_t));
#pragma omp for schedule(static)
        for (long block = 0; block < n / TABLES; block++)
            for (int t = 0; t < TABLES; t++) tables[t * bins + x[block * TABLES + t]]++;
#pragma omp single
        for (long i = n / TABLES * TABLES; i < n; i++) tables[x[i]]++;
#pragma omp critical
        for (int t = 0; t < TABLES; t++)
            for (long bin = 0; bin < bins; bin++) counts[bin] += tables[t * bins + bin];
        free(tables);
    }
}

void gather(const double *restrict table, const int64_t *restrict index, double *restrict y, long size, long n) {
#pragma omp parallel for schedule(static) if (n > 1 << 16)
    for (long i = 0; i < n; i++) y[i] = table[index[i]];
}

/* One thread: sums of two would have to be told apart or added up, which costs more than it gains here. */
void scatter_add(const double *restrict x, const int64_t *restrict index, const double *restrict values,
                 double *restrict y, long size, long n) {
    memcpy(y, x, sizeof(double) * size);
    for (long i = 0; i < n; i++) y[index[i]] += values[i];
}

/* Blocks of SIDE x SIDE, whose lines fit the first cache, in squares of vectors that are transposed in registers. */
#define SIDE 64

INLINE void turn_square(const double *from, long n, double *to, long m) {
    vector row[LANES];
    for (int i = 0; i < LANES; i++) row[i] = load(from + i * n);
    turn(row);
    for (int i = 0; i < LANES; i++) store(to + i * m, row[i]);
}

/* y[columns][rows] from x[rows][columns]. */
void transpose(const double *restrict x, double *restrict y, long rows, long columns) {
#pragma omp parallel for schedule(static) if (rows * columns > 1 << 16)
    for (long top = 0; top < rows; top += SIDE)
        for (long left = 0; left < columns; left += SIDE) {
            long bottom = least(top + SIDE, rows), right = least(left + SIDE, columns), j = left;
            for (; j + LANES <= right; j += LANES) {
                long i = top;
                for (; i + LANES <= bottom; i += LANES)
                    turn_square(x + i * columns + j, columns, y + j * rows + i, rows);
                for (; i < bottom; i++)
                    for (int k = 0; k < LANES; k++) y[(j + k) * rows + i] = x[i * columns + j + k];
            }
            for (; j < right; j++)
                for (long i = top; i < bottom; i++) y[j * rows + i] = x[i * columns + j];
        }
}
