/* Hamiltonian Monte Carlo in C, on a log density that was written in Python. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "eight_schools.h"

#define SIZE 10 /* mu, log_tau, theta[8] */
#define STEPS 10
#define SAMPLES 20000

static uint64_t state = 20240607;

static double uniform(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static double normal(void) {
    double radius = sqrt(-2 * log(1 - uniform()));
    return radius * cos(6.283185307179586 * uniform());
}

static double log_density(const double *q, double *gradient) {
    double value;
    int status = eight_schools_value_and_grad(q, q + 1, q + 2, &value, gradient, gradient + 1, gradient + 2, NULL);
    if (status) {
        fprintf(stderr, "%s\n", eight_schools_status_message(status));
        exit(1);
    }
    return value;
}

int main(void) {
    double q[SIZE] = {0}, gradient[SIZE], sums[2] = {0}, step = 0.3;
    double value = log_density(q, gradient);
    printf("log density at 0: %.17g\n", value);
    int accepted = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        double p[SIZE], q_new[SIZE], g_new[SIZE], energy = -value, energy_new = 0, value_new = 0;
        for (int i = 0; i < SIZE; i++) {
            p[i] = normal();
            energy += 0.5 * p[i] * p[i];
            q_new[i] = q[i];
            g_new[i] = gradient[i];
        }
        for (int i = 0; i < STEPS; i++) {
            for (int k = 0; k < SIZE; k++) p[k] += 0.5 * step * g_new[k];
            for (int k = 0; k < SIZE; k++) q_new[k] += step * p[k];
            value_new = log_density(q_new, g_new);
            for (int k = 0; k < SIZE; k++) p[k] += 0.5 * step * g_new[k];
        }
        for (int i = 0; i < SIZE; i++) energy_new += 0.5 * p[i] * p[i];
        energy_new -= value_new;
        if (uniform() < exp(energy - energy_new)) {
            for (int i = 0; i < SIZE; i++) {
                q[i] = q_new[i];
                gradient[i] = g_new[i];
            }
            value = value_new;
            accepted++;
        }
        sums[0] += q[0];
        sums[1] += exp(q[1]);
    }
    printf("accepted: %.2f\n", (double)accepted / SAMPLES);
    printf("mean of mu: %.1f\nmean of tau: %.1f\n", sums[0] / SAMPLES, sums[1] / SAMPLES);
    return 0;
}
