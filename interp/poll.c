/* Asking whether to stop; see poll.h. */
#include "interp/poll.h"

#include <stddef.h>

#include "hlo/base/error.h"
#include "interp/interp.h"

static _Thread_local struct poll *current;

void poll_begin(struct poll *poll, const struct interp_options *options)
{
    *poll = (struct poll){
        .cancelled = options->cancelled, .context = options->context, .asking = ATOMIC_FLAG_INIT};
    poll->outer = poll_swap(poll);
}

bool poll_end(struct poll *poll, struct error *err)
{
    poll_swap(poll->outer);
    return poll_check(poll, err);
}

struct poll *poll_current(void)
{
    return current;
}

struct poll *poll_swap(struct poll *poll)
{
    struct poll *before = current;
    current = poll;
    return before;
}

bool poll_stopped(struct poll *poll)
{
    if (poll == NULL || poll->cancelled == NULL) {
        return false;
    }
    if (atomic_load_explicit(&poll->stopped, memory_order_relaxed)) {
        return true;
    }
    if (!atomic_flag_test_and_set(&poll->asking)) {
        bool stop = poll->cancelled(poll->context);
        if (stop) {
            atomic_store(&poll->stopped, true);
        }
        atomic_flag_clear(&poll->asking);
        return stop;
    }
    return false;
}

bool poll_check(const struct poll *poll, struct error *err)
{
    return poll == NULL || !atomic_load(&poll->stopped) ||
           error_set(err, ERROR_DEADLINE_EXCEEDED, "the evaluation was cancelled");
}
