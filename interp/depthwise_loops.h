/* The loop of convolution_depthwise.c, compiled once per vector level (hlo/vector.h). Products of
 * values of at most 24 bits are exact, so every level rounds the same sums. */
#include "interp/depthwise_internal.h"

void VECTOR_FUNCTION(depthwise)(const double *const *inputs, const double *weights, int64_t taps,
                                int64_t channels, int64_t pixel_step, double slack, double *low,
                                double *high)
{
    for (int64_t c = 0; c < channels; c += VECTOR_WIDTH) {
        vector sums[DEPTHWISE_PIXELS], sizes[DEPTHWISE_PIXELS];
        for (int p = 0; p < DEPTHWISE_PIXELS; p++) {
            /* Sums start from +0 (exact_dot.h). */
            sums[p] = vector_read(inputs[0] + p * pixel_step + c) * vector_read(weights + c) + 0.0;
            sizes[p] = vector_abs(sums[p]);
        }
        for (int64_t t = 1; t < taps; t++) {
            vector weight = vector_read(weights + t * channels + c);
            const double *input = inputs[t] + c;
            for (int p = 0; p < DEPTHWISE_PIXELS; p++) {
                vector product = vector_read(input + p * pixel_step) * weight;
                sums[p] += product;
                sizes[p] += vector_abs(product);
            }
        }
        for (int p = 0; p < DEPTHWISE_PIXELS; p++) {
            vector error = sizes[p] * vector_all(slack);
            vector_write(low + p * channels + c, sums[p] - error);
            vector_write(high + p * channels + c, sums[p] + error);
        }
    }
}
