/* The log density of export.py and its gradient, as one writes them by hand. */
#include <math.h>

static const double effects[8] = {28, 8, -3, 7, -1, 1, 18, 12};
static const double errors[8] = {15, 10, 16, 11, 9, 11, 10, 18};

double by_hand(const double *q, double *gradient) {
    double mu = q[0], log_tau = q[1], tau = exp(log_tau), scaled = tau / 5;
    double value = log_tau - 0.5 * (mu / 5) * (mu / 5) - log1p(scaled * scaled);
    double of_mu = -mu / 25, of_tau = 0;
    for (int i = 0; i < 8; i++) {
        double theta = q[2 + i], residual = (effects[i] - mu - tau * theta) / errors[i];
        double pull = residual / errors[i];
        value -= 0.5 * theta * theta + 0.5 * residual * residual;
        of_mu += pull;
        of_tau += pull * theta;
        gradient[2 + i] = pull * tau - theta;
    }
    gradient[0] = of_mu;
    gradient[1] = 1 - 2 * scaled * scaled / (1 + scaled * scaled) + of_tau * tau;
    return value;
}
