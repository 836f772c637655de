/* Kernels that compute much for each number that they read: all pairs of bodies, and Mandelbrot's set. */
#include "vectors.h"

/* 1 / sqrt(x): an estimate and two steps of Newton's method where the machine has one, in some 10 cycles in
   the place of 40 for a root and a division. */
INLINE vector inverse_root(vector x) {
#if defined(__AVX512F__)
    vector y = _mm512_rsqrt14_pd((__m512d)x), half = 0.5 * x;
    y *= 1.5 - half * y * y;
    return y * (1.5 - half * y * y);
#else
    vector y;
    for (int lane = 0; lane < LANES; lane++) y[lane] = 1 / sqrt(x[lane]);
    return y;
#endif
}

/* Coordinates as arrays of their own, filled up with bodies without mass; vectors of bodies pull two at once. */
void n_body(const double *x, const double *m, double *acceleration, long n) {
    long full = (n + LANES - 1) / LANES * LANES;
    double *a = calloc(4 * full, sizeof(double)), *b = a + full, *c = b + full, *mass = c + full;
    for (long i = 0; i < n; i++) a[i] = x[3 * i], b[i] = x[3 * i + 1], c[i] = x[3 * i + 2], mass[i] = m[i];
#pragma omp parallel for schedule(static) if (n > 64)
    for (long i = 0; i < n; i += 2) {
        long k = i + 1 < n ? i + 1 : i;
        vector ax = {0}, ay = {0}, az = {0}, bx = {0}, by = {0}, bz = {0};
        for (long j = 0; j < full; j += LANES) {
            vector x = load(a + j), y = load(b + j), z = load(c + j), w = load(mass + j);
            vector dx = x - a[i], dy = y - b[i], dz = z - c[i];
            vector ex = x - a[k], ey = y - b[k], ez = z - c[k];
            vector r = inverse_root(dx * dx + dy * dy + dz * dz + 0.01);
            vector s = inverse_root(ex * ex + ey * ey + ez * ez + 0.01);
            r *= w * r * r, s *= w * s * s;
            ax += r * dx, ay += r * dy, az += r * dz;
            bx += s * ex, by += s * ey, bz += s * ez;
        }
        acceleration[3 * i] = total(ax), acceleration[3 * i + 1] = total(ay);
        acceleration[3 * i + 2] = total(az);
        acceleration[3 * k] = total(bx), acceleration[3 * k + 1] = total(by);
        acceleration[3 * k + 2] = total(bz);
    }
    free(a);
}

#define GROUPS 4 /* vectors whose steps do not wait for each other */

void mandelbrot(const double *left, int64_t *counts, long size, long limit) {
#pragma omp parallel for schedule(dynamic, 4) if (size * limit > 1 << 10)
    for (long i = 0; i < size; i++) {
        double y = -1.5 + 3.0 * i / size;
        for (long begin = 0; begin < size; begin += GROUPS * LANES) {
            vector x[GROUPS], a[GROUPS] = {0}, b[GROUPS] = {0}, count[GROUPS] = {0};
            for (int g = 0; g < GROUPS; g++)
                for (int lane = 0; lane < LANES; lane++)
                    x[g][lane] = *left + 3.0 * (begin + g * LANES + lane) / size;
            for (long k = 0; k < limit; k++) {
                int some = 0;
                for (int g = 0; g < GROUPS; g++) {
                    vector aa = a[g] * a[g], bb = b[g] * b[g], radius = 4.0 - (vector){0};
                    mask outside = less(radius, aa + bb);
                    vector next = aa - bb + x[g];
                    b[g] = choose(outside, b[g], 2 * a[g] * b[g] + y);
                    a[g] = choose(outside, a[g], next);
                    count[g] = choose(outside, count[g], count[g] + 1);
                    some |= any(~outside);
                }
                if (!some) break;
            }
            for (int g = 0; g < GROUPS; g++)
                for (int lane = 0; lane < LANES && begin + g * LANES + lane < size; lane++)
                    counts[i * size + begin + g * LANES + lane] = count[g][lane];
        }
    }
}
