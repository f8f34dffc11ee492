/* Asking whether to stop; see poll.h. */
#include "interp/poll.h"

#include <stddef.h>
#include <time.h>

#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "interp/interp.h"

static _Thread_local struct poll *current;

void poll_begin(struct poll *poll, const struct interp_options *options)
{
    *poll = (struct poll){
        .cancelled = options->cancelled, .context = options->context, .asking = ATOMIC_FLAG_INIT};
    poll->outer = poll_swap(poll);
}

struct literal *poll_end(struct poll *poll, struct literal *value, struct error *err)
{
    current = poll->outer;
    if (!atomic_load_explicit(&poll->stopped, memory_order_relaxed)) {
        return value;
    }
    literal_release(value);
    if (err != NULL) {
        *err = (struct error){0};
    }
    poll_check(poll, err);
    return NULL;
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

bool poll_now(void)
{
    return poll_stopped(current);
}

bool poll_check(const struct poll *poll, struct error *err)
{
    return poll == NULL || !atomic_load(&poll->stopped) ||
           error_set(err, ERROR_DEADLINE_EXCEEDED, "the evaluation was cancelled");
}

/* --- loops --- */

struct pieces {
    pool_function *function;
    void *context;
    int64_t grain;
    struct poll *poll;
};

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Begins with a grain, and doubles or halves the pieces until one takes about so long. */
static void run_pieces(void *context, int64_t begin, int64_t end)
{
    enum { SHORT = 4000000, LONG = 4 * SHORT };
    const struct pieces *pieces = context;
    struct poll *before = poll_swap(pieces->poll);
    int64_t piece = pieces->grain, start = nanoseconds();
    while (begin < end && !poll_stopped(pieces->poll)) {
        int64_t next = end - begin > piece ? begin + piece : end;
        pieces->function(pieces->context, begin, next);
        int64_t now = nanoseconds();
        if (now - start < SHORT) {
            piece = piece < end - begin ? 2 * piece : piece;
        } else if (now - start > LONG) {
            piece = piece > 1 ? piece / 2 : 1;
        }
        begin = next;
        start = now;
    }
    poll_swap(before);
}

bool poll_for(int64_t count, int64_t grain, pool_function *function, void *context)
{
    struct pieces pieces = {function, context, grain < 1 ? 1 : grain, current};
    if (count <= pieces.grain || current == NULL || current->cancelled == NULL) {
        pool_for(count, grain, function, context); /* nothing to cut, or nobody to ask */
        return true;
    }
    pool_for(count, grain, run_pieces, &pieces);
    return !atomic_load_explicit(&current->stopped, memory_order_relaxed);
}
