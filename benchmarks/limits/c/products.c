/* Matrix products. */
#include "vectors.h"

/* The tile of the result in registers: ROWS rows of three vectors, the operands' vectors beside them. */
#define ROWS (BYTES == 64 ? 8 : 4)
#define WIDTH (3 * LANES)
/* Blocks: DEPTH x WIDTH of B stay in the first cache, HEIGHT x DEPTH of A and DEPTH x ACROSS of B in the second. */
#define DEPTH 192
#define HEIGHT 96
#define ACROSS (20 * WIDTH)
#define SMALL 96 /* operands of at most so many rows and columns are read where they are */

/* c += a b for `rows` rows and `vectors` vectors; a[i][k] is at i * ai + k * ak. */
INLINE void tile(int rows, int vectors, const double *a, long ai, long ak,
                                                       const double *b, long bk, double *c, long ci,
                                                       long depth) {
    vector sum[ROWS][3];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++) sum[i][j] = load(c + i * ci + j * LANES);
    for (long k = 0; k < depth; k++) {
        vector line[3];
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++) line[j] = load(b + k * bk + j * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            double factor = a[i * ai + k * ak];
#pragma GCC unroll 3
            for (int j = 0; j < vectors; j++) sum[i][j] += factor * line[j];
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++) store(c + i * ci + j * LANES, sum[i][j]);
}

/* c += a b for all rows of a block, `vectors` vectors across; rows of a are `ai` apart, tiles of them `at`. */
INLINE void column(int vectors, const double *a, long at, long ai, long ak,
                                                         const double *b, long bk, double *c, long ci, long rows,
                                                         long depth) {
    long i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        tile(ROWS, vectors, a + i / ROWS * at, ai, ak, b, bk, c + i * ci, ci, depth);
    for (long r = 0; i + r < rows; r++)
        tile(1, vectors, a + i / ROWS * at + r * ai, ai, ak, b, bk, c + (i + r) * ci, ci, depth);
}

/* c += a b for a block; panels of WIDTH columns of b are `bp` apart. */
static void block(const double *a, long at, long ai, long ak, const double *b, long bp, long bk, double *c,
                  long ci, long rows, long columns, long depth) {
    for (long j = 0; j < columns; j += WIDTH, b += bp) {
        long here = least(WIDTH, columns - j), whole = here / LANES;
        if (whole == 3) column(3, a, at, ai, ak, b, bk, c + j, ci, rows, depth);
        if (whole == 2) column(2, a, at, ai, ak, b, bk, c + j, ci, rows, depth);
        if (whole == 1) column(1, a, at, ai, ak, b, bk, c + j, ci, rows, depth);
        for (long i = 0; i < rows; i++)
            for (long s = whole * LANES; s < here; s++) {
                const double *row = a + i / ROWS * at + i % ROWS * ai;
                double sum = 0;
                for (long k = 0; k < depth; k++) sum += row[k * ak] * b[k * bk + s];
                c[i * ci + j + s] += sum;
            }
    }
}

/* Panels of WIDTH columns, each row of a panel behind the one before. */
static void pack_columns(const double *b, long bk, double *to, long depth, long columns) {
#pragma omp for schedule(static)
    for (long j = 0; j < columns; j += WIDTH)
        for (long k = 0; k < depth; k++)
            for (long s = 0; s < least(WIDTH, columns - j); s++)
                to[j * depth + k * WIDTH + s] = b[k * bk + j + s];
}

/* Tiles of ROWS rows, each column of a tile behind the one before. */
static void pack_rows(const double *a, long ai, double *to, long depth, long rows) {
    for (long i = 0; i < rows; i++)
        for (long k = 0; k < depth; k++) to[(i / ROWS * depth + k) * ROWS + i % ROWS] = a[i * ai + k];
}

/* c[n][m] = a[n][l] b[l][m]. */
void gemm(const double *a, const double *b, double *c, long n, long l, long m) {
    if (n <= SMALL && l <= SMALL && m <= SMALL) {
        memset(c, 0, sizeof(double) * n * m);
        block(a, ROWS * l, l, 1, b, WIDTH, m, c, m, n, m, l);
        return;
    }
    double *columns = aligned_alloc(64, sizeof(double) * DEPTH * ACROSS);
#pragma omp parallel
    {
        double *rows = aligned_alloc(64, sizeof(double) * HEIGHT * DEPTH);
#pragma omp for schedule(static)
        for (long i = 0; i < n; i++) memset(c + i * m, 0, sizeof(double) * m);
        for (long j = 0; j < m; j += ACROSS)
            for (long k = 0; k < l; k += DEPTH) {
                long depth = least(DEPTH, l - k), across = least(ACROSS, m - j);
                pack_columns(b + k * m + j, m, columns, depth, across);
#pragma omp for schedule(dynamic)
                for (long i = 0; i < n; i += HEIGHT) {
                    long height = least(HEIGHT, n - i);
                    pack_rows(a + i * l + k, l, rows, depth, height);
                    block(rows, ROWS * depth, 1, ROWS, columns, depth * WIDTH, WIDTH, c + i * m + j, m, height,
                          across, depth);
                }
            }
        free(rows);
    }
    free(columns);
}

/* Four rows at once: each vector of x is loaded once for them. */
void gemv(const double *a, const double *x, double *y, long n, long m) {
#pragma omp parallel for schedule(static) if (n * m > 1 << 16)
    for (long i = 0; i < n; i += 4) {
        const double *row[4];
        vector sum[4] = {0};
        double rest[4] = {0};
        for (int r = 0; r < 4; r++) row[r] = a + least(i + r, n - 1) * m;
        long j = 0;
        for (; j + LANES <= m; j += LANES)
            for (int r = 0; r < 4; r++) sum[r] += load(row[r] + j) * load(x + j);
        for (; j < m; j++)
            for (int r = 0; r < 4; r++) rest[r] += row[r][j] * x[j];
        for (int r = 0; r < 4 && i + r < n; r++) y[i + r] = total(sum[r]) + rest[r];
    }
}
