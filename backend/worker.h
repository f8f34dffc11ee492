/* Workers: processes in which foreign code runs.
 *
 * A worker is a spawned copy of this program (never a fork: threads and locks would come along), or
 * for jaxlib: a Python (jaxlib/worker.py, which has the packets and messages of this side again).
 * It answers requests one after the other and is kept over many of them. Whatever the foreign code
 * does, the tester only sees how the call ended:
 *   - the process is gone              CRASH, with the signal and the last lines of its output
 *   - no answer by the deadline        TIMEOUT; the process is killed
 *   - memory ran out                   OOM: its words on dying, its peak against the limit, or a
 *                                      SIGKILL that is not ours (the kernel's)
 * The worker's stdout and stderr go to a pipe of which the last lines are kept. It leads a process
 * group of its own, which is killed with it, and it ends by itself when the tester is gone: a
 * thread of it waits for the socket to close. (PR_SET_PDEATHSIG would follow the thread that
 * spawned it, which may end long before the tester does.) */
#ifndef BACKEND_WORKER_H
#define BACKEND_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "backend/parcel.h"

/* What a worker is asked to do. */
enum worker_request { WORKER_OPEN, WORKER_RUN };

/* How far a request got, for messages. */
enum worker_stage {
    STAGE_START,
    STAGE_LOAD,
    STAGE_COMPILE,
    STAGE_TRANSFER,
    STAGE_EXECUTE,
    STAGE_FETCH,
    STAGE_COUNT
};

struct worker;

/* No process yet. memory_limit: bytes of address space that one request may add; 0 = no limit. */
struct worker *worker_create(size_t memory_limit);
/* From the next start on: the process has these entries, "NAME=VALUE", in its environment. They are
 * borrowed; at most 8. */
void worker_set_environment(struct worker *worker, const char *const *entries, size_t count);
/* From the next start on: the process is another program, which answers in the same words.
 * arguments[0] is its path; they are borrowed, and NULL ends them. */
void worker_set_program(struct worker *worker, const char *const *arguments);
/* From the next start on: memory that the process allocates or frees is filled with a pattern
 * (glibc's MALLOC_PERTURB_), so that reading what nobody wrote shows. */
void worker_poison(struct worker *worker);
void worker_destroy(struct worker *worker); /* NULL is allowed */
bool worker_is_running(const struct worker *worker);
/* Ends the process at once; the next call starts another. */
void worker_stop(struct worker *worker);

/* Sends a request and waits for the answer, at most `timeout` seconds from when the worker took it
 * up. True: *reply holds the answer (finish it). False: there is none; *outcome and message say
 * why, and the process is gone. */
bool worker_call(struct worker *worker, enum worker_request request,
                 const struct parcel_writer *writer, double timeout, struct parcel_reader *reply,
                 enum outcome *outcome, struct text *message);

/* Appends text[0..size) with what is no valid UTF-8 and no printable character replaced by '?', at
 * most `limit` bytes. */
void text_append_clean(struct text *out, const char *text, size_t size, size_t limit);

/* --- in the worker (worker_main.c) --- */

/* The socket's descriptor, and the word that makes a program a worker. */
#define WORKER_SOCKET 3
#define WORKER_ARGUMENT "--referee-worker"

/* One packet either way; a message comes along as a memory file, but for STAGE packets. */
enum worker_packet_kind { PACKET_REQUEST, PACKET_STAGE, PACKET_REPLY };
struct worker_packet {
    unsigned magic;
    int kind;  /* enum worker_packet_kind */
    int value; /* the request or the stage */
    double memory_limit;
};
#define WORKER_MAGIC 0x77726b31u

bool worker_send(int socket, struct worker_packet packet, int file);
/* Returns 1 for a packet, 0 at the end, -1 when there is none now or it is garbage (errno). *file
 * is -1 when none came along. */
int worker_receive(int socket, struct worker_packet *packet, int *file, int flags);

/* Tells the tester how far the request is. */
void worker_report_stage(enum worker_stage stage);
/* What foreign code does with a request: fills the reply. Set by the one service there is. */
void pjrt_serve(enum worker_request request, struct parcel_reader *reader,
                struct parcel_writer *writer);

#endif
