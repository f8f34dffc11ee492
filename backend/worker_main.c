/* Workers, the other side: what the spawned process does (worker.h). */
#define _GNU_SOURCE
#include "backend/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hlo/base/error.h"

/* Ends the process when the tester is gone, even in the midst of foreign code. */
static void *watch_tester(void *unused)
{
    (void)unused;
    struct pollfd file = {.fd = WORKER_SOCKET};
    while (poll(&file, 1, -1) < 0 && errno == EINTR) {
    }
    _exit(0);
}

/* Lets the address space grow by at most `growth` bytes from here; 0 = without limit. */
static void limit_memory(double growth)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0) {
        return;
    }
    limit.rlim_cur = limit.rlim_max;
    unsigned long long pages = 0;
    FILE *file = growth > 0 ? fopen("/proc/self/statm", "re") : NULL;
    if (file) {
        if (fscanf(file, "%llu", &pages) == 1) {
            double most = (double)pages * (double)sysconf(_SC_PAGESIZE) + growth;
            if (most < 9e18 && (limit.rlim_max == RLIM_INFINITY || most < (double)limit.rlim_max)) {
                limit.rlim_cur = (rlim_t)most;
            }
        }
        fclose(file);
    }
    setrlimit(RLIMIT_AS, &limit);
}

/* When memory runs out, the system shall end this process and not the tester. */
static void volunteer(void)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "we");
    if (file != NULL) {
        fputs("1000", file);
        fclose(file);
    }
}

void worker_report_stage(enum worker_stage stage)
{
    struct worker_packet packet = {.kind = PACKET_STAGE, .value = (int)stage};
    if (!worker_send(WORKER_SOCKET, packet, -1)) {
        _exit(0);
    }
}

/* Answers one request; false when the connection is broken. */
static bool answer(const struct worker_packet *packet, int file)
{
    struct parcel_reader reader;
    struct parcel_writer writer;
    struct error err = {0};
    if (packet->kind != PACKET_REQUEST || file < 0 || !parcel_reader_init(&reader, file, &err)) {
        return false;
    }
    parcel_writer_init(&writer);
    limit_memory(packet->value == WORKER_RUN ? packet->memory_limit : 0);
    pjrt_serve((enum worker_request)packet->value, &reader, &writer);
    limit_memory(0);
    int reply = parcel_seal(&writer, &err);
    if (reply < 0) {
        fprintf(stderr, "out of memory: %s\n", err.message);
        abort();
    }
    bool sent = worker_send(WORKER_SOCKET, (struct worker_packet){.kind = PACKET_REPLY}, reply);
    close(reply);
    parcel_writer_finish(&writer);
    parcel_reader_finish(&reader);
    return sent;
}

void backend_worker_main_if_asked(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], WORKER_ARGUMENT) != 0) {
        return;
    }
    struct rlimit no_core = {0};
    setrlimit(RLIMIT_CORE, &no_core);
    volunteer();
    pthread_t watcher;
    bool good = pthread_create(&watcher, NULL, watch_tester, NULL) == 0;
    while (good) {
        struct worker_packet packet;
        int file;
        good = worker_receive(WORKER_SOCKET, &packet, &file, 0) == 1 && answer(&packet, file);
    }
    _exit(0);
}
