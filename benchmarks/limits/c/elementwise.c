/* Kernels without neighbours: each element of the result follows from the same elements of the operands. */
#include "vectors.h"

void copy(const double *restrict x, double *restrict y, long n) {
#pragma omp parallel for schedule(static) if (n > 1 << 18)
    for (long begin = 0; begin < n; begin += 1 << 15)
        memcpy(y + begin, x + begin, sizeof(double) * least(1 << 15, n - begin));
}

void axpy(const double *restrict x, const double *restrict y, double *restrict z, long n) {
#pragma omp parallel for simd schedule(static) if (n > 1 << 17)
    for (long i = 0; i < n; i++) z[i] = 2.5 * x[i] + y[i];
}

static double dot_of(const double *x, const double *y, long n) {
    vector sum[SUMS] = {0};
    long i = 0;
    for (; i + SUMS * LANES <= n; i += SUMS * LANES)
        for (int v = 0; v < SUMS; v++) sum[v] += load(x + i + v * LANES) * load(y + i + v * LANES);
    double result = total((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; i < n; i++) result += x[i] * y[i];
    return result;
}

void dot(const double *x, const double *y, double *result, long n) {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum) if (n > 1 << 17)
    for (long begin = 0; begin < n; begin += 1 << 14)
        sum += dot_of(x + begin, y + begin, least(1 << 14, n - begin));
    *result = sum;
}

/* Exponentials of vectors are libmvec's, here and below. */
void exp_chain(const double *restrict x, const double *restrict y, double *restrict z, long n) {
#pragma omp parallel for simd schedule(static) if (n > 1 << 13)
    for (long i = 0; i < n; i++) z[i] = exp(-x[i] / 2) / (1 + exp(-y[i])) + x[i] * y[i];
}

void black_scholes(const double *restrict spot, const double *restrict strike, const double *restrict years,
                   double *restrict call, double *restrict put, long n) {
    const double rate = 0.02, volatility = 0.3, root = M_SQRT1_2;
#pragma omp parallel for simd schedule(static) if (n > 1 << 12)
    for (long i = 0; i < n; i++) {
        double spread = volatility * sqrt(years[i]);
        double d1 = (log(spot[i] / strike[i]) + (rate + volatility * volatility / 2) * years[i]) / spread;
        double d2 = d1 - spread;
        double paid = strike[i] * exp(-rate * years[i]);
        double value = spot[i] * (0.5 + 0.5 * erf(d1 * root)) - paid * (0.5 + 0.5 * erf(d2 * root));
        call[i] = value;
        put[i] = value - spot[i] + paid;
    }
}
