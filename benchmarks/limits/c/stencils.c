/* Stencils of a grid's inside. */
#include "vectors.h"

void five_point(const double *restrict u, double *restrict v, long n, long m) {
#pragma omp parallel for schedule(static) if (n * m > 1 << 16)
    for (long i = 1; i < n - 1; i++) {
        const double *row = u + i * m;
        double *to = v + (i - 1) * (m - 2) - 1;
        for (long j = 1; j < m - 1; j++)
            to[j] = row[j] + 0.2 * (row[j - m] + row[j + m] + row[j - 1] + row[j + 1] - 4 * row[j]);
    }
}

void nine_point(const double *restrict u, double *restrict v, long n, long m) {
#pragma omp parallel for schedule(static) if (n * m > 1 << 16)
    for (long i = 1; i < n - 1; i++) {
        const double *row = u + i * m, *above = row - m, *below = row + m;
        double *to = v + (i - 1) * (m - 2) - 1;
        for (long j = 1; j < m - 1; j++) {
            double sides = above[j] + below[j] + row[j - 1] + row[j + 1];
            double corners = above[j - 1] + above[j + 1] + below[j - 1] + below[j + 1];
            to[j] = 0.25 * row[j] + 0.125 * sides + 0.0625 * corners;
        }
    }
}
