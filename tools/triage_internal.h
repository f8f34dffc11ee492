/* Shared by the stages of `referee triage`. Private to tools/triage_*.c. */
#ifndef TOOLS_TRIAGE_INTERNAL_H
#define TOOLS_TRIAGE_INTERNAL_H

#include <pthread.h>

#include "tools/progress.h"
#include "tools/triage_job.h"

/* Backends that a thread has opened, by URI and time limit. */
struct triage_team {
    size_t count, capacity;
    struct team_member {
        char *uri;
        double timeout;
        struct backend *backend;
    } * list;
    struct backend *reference;
};

struct triage_state {
    const struct triage_items *items;
    const struct triage_settings *settings;
    struct triage_results *results;
    pthread_mutex_t mutex;
    struct journal journal;
    bool has_journal, failed; /* failed: *err is set */
    struct error *err;
    double start;
    size_t next;
    json_t **done;          /* [item]: array of its records */
    json_t *past, *reduced; /* of the journal: records by id, reduced modules by id */
    struct progress progress;
};

/* Is the time over, or was it interrupted? context: struct triage_state. */
bool triage_is_over(void *context);
/* NULL with *err. Belongs to the team. */
struct backend *team_backend(const struct triage_state *state, struct triage_team *team,
                             const char *uri, double timeout, struct error *err);
bool team_start(const struct triage_state *state, struct triage_team *team, struct error *err);
void team_finish(struct triage_team *team);
/* How a backend is called in keys. free() it. */
char *triage_backend_text(const char *uri);
/* Keeps the first error; everybody stops. */
void triage_fail(struct triage_state *state, const struct error *err);
/* Writes to the journal, if there is one. */
void triage_keep(struct triage_state *state, const json_t *object);
/* Does work [0, count), in as many threads as the settings say, each with a team of its own, until
 * one fails or the time is over. `work` says in *err when it fails, and what was done for progress.
 */
typedef const char *triage_work_function(struct triage_state *state, struct triage_team *team,
                                         size_t index, struct error *err);
void triage_threads(struct triage_state *state, size_t count, triage_work_function *work);
struct triage_options triage_options_of(const struct triage_state *state, const char *backend_name,
                                        struct backend *backend, struct backend *reference);

/* Lines of a text as an array; and joined again. */
json_t *json_lines(const char *lines);

/* The limit for parts of what hangs: seconds. */
double triage_hurried(double timeout);
/* Parts with long texts are files of their own, in the output folder. free() it. */
char *triage_part_path(const struct triage_state *state, const char *id);

/* First stage: looks into one item; an array of records. NULL: stopped, or with *err a backend
 * cannot be opened. */
json_t *triage_look_into(struct triage_state *state, struct triage_team *team,
                         const struct triage_item *item, struct error *err);
/* The specimen of a text as specimen_print writes it. */
bool triage_read_part(const char *text, struct specimen *specimen, struct error *err);
/* That of a record, whether it holds it or a file does. */
bool triage_part_of(const struct triage_state *state, const json_t *record,
                    struct specimen *specimen, struct error *err);

/* Second stage: groups, shrunk, and joined. */
void triage_group_all(struct triage_state *state);
void triage_add_member(struct triage_group *group, json_t *record);
/* Groups whose reduced modules are of one kind become one; also those of one kind but for an
 * element type, where each fails with the other's type too. */
void triage_join_all(struct triage_state *state);

#endif
