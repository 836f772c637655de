/* Factorizations and solutions of systems of equations. */
#include "vectors.h"

/* Exchange rows p and q in the lanes where q has the larger element in column k. */
INLINE void pivot(vector a[3][4], int p, int q, int k) {
    mask larger = less(magnitude(a[p][k]), magnitude(a[q][k]));
    for (int j = k; j < 4; j++) {
        vector row = a[p][j];
        a[p][j] = choose(larger, a[q][j], row);
        a[q][j] = choose(larger, row, a[q][j]);
    }
}

/* Gaussian elimination with partial pivoting in each lane; the fourth column is the right-hand side. */
INLINE void solve_lanes(vector a[3][4]) {
    pivot(a, 0, 1, 0), pivot(a, 0, 2, 0);
    vector inverse = 1 / a[0][0], first = a[1][0] * inverse, second = a[2][0] * inverse;
    for (int j = 1; j < 4; j++) a[1][j] -= first * a[0][j], a[2][j] -= second * a[0][j];
    pivot(a, 1, 2, 1);
    vector middle = 1 / a[1][1], factor = a[2][1] * middle;
    for (int j = 2; j < 4; j++) a[2][j] -= factor * a[1][j];
    a[2][3] /= a[2][2];
    a[1][3] = (a[1][3] - a[1][2] * a[2][3]) * middle;
    a[0][3] = (a[0][3] - a[0][1] * a[1][3] - a[0][2] * a[2][3]) * inverse;
}

void solve_3x3(const double *restrict a, const double *restrict b, double *restrict x, long n) {
#pragma omp parallel for schedule(static) if (n > 1 << 11)
    for (long i = 0; i < n; i += LANES) {
        vector rows[3][4] = {0};
        for (int begin = 0; begin < 8; begin += LANES) { /* eight elements of each matrix by whole vectors */
            vector square[LANES];
            for (int lane = 0; lane < LANES; lane++)
                square[lane] = load(a + 9 * least(i + lane, n - 1) + begin);
            turn(square);
            for (int k = 0; k < LANES; k++) rows[(begin + k) / 3][(begin + k) % 3] = square[k];
        }
        for (int lane = 0; lane < LANES; lane++) {
            long system = least(i + lane, n - 1);
            rows[2][2][lane] = a[9 * system + 8];
            for (int k = 0; k < 3; k++) rows[k][3][lane] = b[3 * system + k];
        }
        solve_lanes(rows);
        for (int lane = 0; lane < LANES && i + lane < n; lane++)
            for (int k = 0; k < 3; k++) x[3 * (i + lane) + k] = rows[k][3][lane];
    }
}

/* Columns that are factored before what is right of them is updated. */
#define PANEL 8

static void exchange(double *a, double *b, long n) {
    for (long j = 0; j < n; j++) {
        double x = a[j];
        a[j] = b[j], b[j] = x;
    }
}

/* Partial pivoting, by panels: each element right of a panel is loaded and stored once for PANEL steps. */
void lu(const double *restrict from, double *restrict a, int64_t *restrict pivots, long n) {
    memcpy(a, from, sizeof(double) * n * n);
    for (long begin = 0; begin < n; begin += PANEL) {
        long end = least(begin + PANEL, n);
        for (long k = begin; k < end; k++) {
            long top = k;
            double most = fabs(a[k * n + k]);
            for (long i = k + 1; i < n; i++)
                if (fabs(a[i * n + k]) > most) most = fabs(a[i * n + k]), top = i;
            pivots[k] = top;
            if (top != k) exchange(a + k * n, a + top * n, n);
            double inverse = 1 / a[k * n + k];
            for (long i = k + 1; i < n; i++) {
                double factor = a[i * n + k] *= inverse;
                for (long j = k + 1; j < end; j++) a[i * n + j] -= factor * a[k * n + j];
            }
        }
        for (long k = begin; k < end; k++)
            for (long i = k + 1; i < end; i++) {
                double factor = a[i * n + k];
                for (long j = end; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
            }
        if (end - begin < PANEL) continue;
        for (long i = end; i < n; i++) {
            double *row = a + i * n;
            long j = end;
            for (; j + 2 * LANES <= n; j += 2 * LANES) {
                vector x = load(row + j), y = load(row + j + LANES);
                for (int k = 0; k < PANEL; k++) {
                    const double *pivot = a + (begin + k) * n + j;
                    x -= row[begin + k] * load(pivot), y -= row[begin + k] * load(pivot + LANES);
                }
                store(row + j, x), store(row + j + LANES, y);
            }
            for (; j < n; j++)
                for (int k = 0; k < PANEL; k++) row[j] -= row[begin + k] * a[(begin + k) * n + j];
        }
    }
}

/* Thomas's algorithm; one division a row, as the chain of divisions is what takes time. */
void tridiagonal(const double *restrict lower, const double *restrict diagonal, const double *restrict upper,
                 const double *restrict right, double *restrict x, long n) {
    double *c = malloc(sizeof(double) * n);
    c[0] = upper[0] / diagonal[0];
    x[0] = right[0] / diagonal[0];
    for (long i = 1; i < n; i++) {
        double inverse = 1 / (diagonal[i] - lower[i] * c[i - 1]);
        c[i] = upper[i] * inverse;
        x[i] = (right[i] - lower[i] * x[i - 1]) * inverse;
    }
    for (long i = n - 2; i >= 0; i--) x[i] -= c[i] * x[i + 1];
    free(c);
}
