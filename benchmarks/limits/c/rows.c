/* Reductions of rows, each of which stays in the first cache between its passes. */
#include "vectors.h"

void softmax(const float *restrict x, float *restrict y, long rows, long columns) {
#pragma omp parallel for schedule(static) if (rows * columns > 1 << 14)
    for (long i = 0; i < rows; i++) {
        const float *from = x + i * columns;
        float *to = y + i * columns, top = -INFINITY, sum = 0;
        for (long j = 0; j < columns; j++) top = from[j] > top ? from[j] : top;
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
        float *to = y + i * columns, mean = 0, variance = 0;
        for (long j = 0; j < columns; j++) mean += from[j];
        mean /= columns;
        for (long j = 0; j < columns; j++) variance += (from[j] - mean) * (from[j] - mean);
        float factor = 1 / sqrtf(variance / columns + 1e-5f);
        for (long j = 0; j < columns; j++) to[j] = (from[j] - mean) * factor * scale[j] + shift[j];
    }
}

void variance(const double *restrict x, double *restrict y, long rows, long columns) {
#pragma omp parallel for schedule(static) if (rows * columns > 1 << 16)
    for (long i = 0; i < rows; i++) {
        const double *from = x + i * columns;
        double mean = 0, squares = 0;
        for (long j = 0; j < columns; j++) mean += from[j];
        mean /= columns;
        for (long j = 0; j < columns; j++) squares += (from[j] - mean) * (from[j] - mean);
        y[i] = squares / columns;
    }
}
