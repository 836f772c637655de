/* Reductions of rows, each of which stays in the first cache between its passes. */
#include "vectors.h"

#define WIDTH (BYTES / 4)
typedef float floats __attribute__((vector_size(BYTES), aligned(4), may_alias));

INLINE floats load_floats(const float *p) { return *(const floats *)p; }

INLINE float total_floats(const floats sum[SUMS]) {
    floats v = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    float result = 0;
    for (int lane = 0; lane < WIDTH; lane++) result += v[lane];
    return result;
}

static float sum_of(const float *x, long n) {
    floats sum[SUMS] = {0};
    long j = 0;
    for (; j + SUMS * WIDTH <= n; j += SUMS * WIDTH)
        for (int v = 0; v < SUMS; v++) sum[v] += load_floats(x + j + v * WIDTH);
    float result = total_floats(sum);
    for (; j < n; j++) result += x[j];
    return result;
}

/* Sum of the squares of what differs from `mean`. */
static float squares_of(const float *x, long n, float mean) {
    floats sum[SUMS] = {0};
    long j = 0;
    for (; j + SUMS * WIDTH <= n; j += SUMS * WIDTH)
        for (int v = 0; v < SUMS; v++) {
            floats apart = load_floats(x + j + v * WIDTH) - mean;
            sum[v] += apart * apart;
        }
    float result = total_floats(sum);
    for (; j < n; j++) result += (x[j] - mean) * (x[j] - mean);
    return result;
}

static float largest_of(const float *x, long n) {
    float tops[SUMS * WIDTH], top = -INFINITY;
    for (int v = 0; v < SUMS * WIDTH; v++) tops[v] = -INFINITY;
    long j = 0;
    for (; j + SUMS * WIDTH <= n; j += SUMS * WIDTH)
        for (int v = 0; v < SUMS * WIDTH; v++) tops[v] = x[j + v] > tops[v] ? x[j + v] : tops[v];
    for (; j < n; j++) top = x[j] > top ? x[j] : top;
    for (int v = 0; v < SUMS * WIDTH; v++) top = tops[v] > top ? tops[v] : top;
    return top;
}

void softmax(const float *restrict x, float *restrict y, long rows, long columns) {
#pragma omp parallel for schedule(static) if (rows * columns > 1 << 14)
    for (long i = 0; i < rows; i++) {
        const float *from = x + i * columns;
        float *to = y + i * columns, top = largest_of(from, columns), sum = 0;
        for (long j = 0; j < columns; j++) {
            to[j] = expf(from[j] - top);
            sum += to[j];
        }
        float scale = 1 / sum;
        for (long j = 0; j < columns; j++) to[j] *= scale;
    }
}

void layer_norm(const float *restrict x, const float *restrict scale, const float *restrict shift,
                float *restrict y, long rows, long columns) {
#pragma omp parallel for schedule(static) if (rows * columns > 1 << 16)
    for (long i = 0; i < rows; i++) {
        const float *from = x + i * columns;
        float *to = y + i * columns, mean = sum_of(from, columns) / columns;
        float factor = 1 / sqrtf(squares_of(from, columns, mean) / columns + 1e-5f);
        for (long j = 0; j < columns; j++) to[j] = (from[j] - mean) * factor * scale[j] + shift[j];
    }
}

static double mean_of(const double *x, long n) {
    vector sum[SUMS] = {0};
    long j = 0;
    for (; j + SUMS * LANES <= n; j += SUMS * LANES)
        for (int v = 0; v < SUMS; v++) sum[v] += load(x + j + v * LANES);
    double result = total((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; j < n; j++) result += x[j];
    return result / n;
}

void variance(const double *restrict x, double *restrict y, long rows, long columns) {
#pragma omp parallel for schedule(static) if (rows * columns > 1 << 16)
    for (long i = 0; i < rows; i++) {
        const double *from = x + i * columns;
        double mean = mean_of(from, columns), squares = 0;
        vector sum[SUMS] = {0};
        long j = 0;
        for (; j + SUMS * LANES <= columns; j += SUMS * LANES)
            for (int v = 0; v < SUMS; v++) {
                vector apart = load(from + j + v * LANES) - mean;
                sum[v] += apart * apart;
            }
        for (; j < columns; j++) squares += (from[j] - mean) * (from[j] - mean);
        y[i] = (total((sum[0] + sum[1]) + (sum[2] + sum[3])) + squares) / columns;
    }
}
