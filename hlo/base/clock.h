/* Time that only goes forward, for deadlines and durations. */
#ifndef HLO_BASE_CLOCK_H
#define HLO_BASE_CLOCK_H

/* Seconds since some moment before the program began. */
double clock_seconds(void);

#endif
