/* Times of a value with its gradient: exported, and written by hand. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "eight_schools.h"

#define CALLS 10000
#define ROUNDS 200

double by_hand(const double *q, double *gradient);

static double now(void) { return (double)clock() / CLOCKS_PER_SEC; }

static double exported(const double *q, double *gradient) {
    double value;
    eight_schools_value_and_grad(q, q + 1, q + 2, &value, gradient, gradient + 1, gradient + 2, NULL);
    return value;
}

static double nanoseconds(double (*function)(const double *, double *)) {
    double q[10] = {0.1, 0.2, 0.3, -0.4, 0.5, -0.6, 0.7, 0.8, -0.9, 1.0}, gradient[10], start = now();
    volatile double sum = 0;
    for (int i = 0; i < CALLS; i++) {
        q[0] += 1e-9;
        sum += function(q, gradient);
    }
    return (now() - start) / CALLS * 1e9;
}

int main(void) {
    double q[10] = {0.1, 0.2, 0.3, -0.4, 0.5, -0.6, 0.7, 0.8, -0.9, 1.0}, a[10], b[10], best[2] = {1e9, 1e9};
    double difference = fabs(exported(q, a) - by_hand(q, b));
    for (int i = 0; i < 10; i++) difference = fmax(difference, fabs(a[i] - b[i]));
    for (int round = 0; round < ROUNDS; round++) {
        best[0] = fmin(best[0], nanoseconds(exported));
        best[1] = fmin(best[1], nanoseconds(by_hand));
    }
    printf("largest difference: %.1e\n", difference);
    printf("exported: %.1f ns\nby hand: %.1f ns\n", best[0], best[1]);
    return 0;
}
