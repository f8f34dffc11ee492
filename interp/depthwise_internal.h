/* Between convolution_depthwise.c and its vector loops. */
#ifndef INTERP_DEPTHWISE_INTERNAL_H
#define INTERP_DEPTHWISE_INTERNAL_H

#include <stdint.h>

/* Pixels computed together, so that a weight is read once for them. */
enum { DEPTHWISE_PIXELS = 4, DEPTHWISE_CHANNELS = 8 };

/* For pixels p < DEPTHWISE_PIXELS and channels c < channels (a multiple of DEPTHWISE_CHANNELS):
 * the sum over taps t < taps of inputs[t][p * pixel_step + c] * weights[t * channels + c], minus
 * and plus slack times the sum of the magnitudes, to low and high[p * channels + c]. */
typedef void depthwise_loop(const double *const *inputs, const double *weights, int64_t taps,
                            int64_t channels, int64_t pixel_step, double slack, double *low,
                            double *high);

depthwise_loop depthwise_level0, depthwise_level2, depthwise_level3;

#endif
