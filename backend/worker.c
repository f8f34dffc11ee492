/* Workers, the tester's side: spawning, calling, and telling how a process died (worker.h). */
#define _GNU_SOURCE
#include "backend/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"

#define RING_SIZE 65536
#define MESSAGE_LINES 20
#define LINE_MOST 2000
enum { ENTRIES_MOST = 8 };

extern char **environ;

static const char *const stage_texts[STAGE_COUNT] = {
    [STAGE_START] = "starting",    [STAGE_LOAD] = "loading the plugin",
    [STAGE_COMPILE] = "compiling", [STAGE_TRANSFER] = "passing the arguments",
    [STAGE_EXECUTE] = "executing", [STAGE_FETCH] = "fetching the results",
};

struct worker {
    size_t memory_limit;
    bool poison;
    const char *entries[ENTRIES_MOST]; /* of the environment */
    size_t entry_count;
    const char *const *program; /* NULL: this one */
    pid_t pid;                  /* 0: none */
    int socket, output, process;
    enum worker_stage stage;
    long start_kilobytes; /* resident when the request began */
    /* The last bytes of its output; `written` counts all. */
    char ring[RING_SIZE];
    size_t written;
};

/* --- packets --- */

bool worker_send(int socket, struct worker_packet packet, int file)
{
    struct iovec part = {.iov_base = &packet, .iov_len = sizeof(packet)};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    packet.magic = WORKER_MAGIC;
    if (file >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof(control);
        struct cmsghdr *c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &file, sizeof(file));
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &header, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof(packet);
}

int worker_receive(int socket, struct worker_packet *packet, int *file, int flags)
{
    struct iovec part = {.iov_base = packet, .iov_len = sizeof(*packet)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof(control)};
    *file = -1;
    ssize_t got;
    do {
        got = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) {
        return 0;
    }
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); got > 0 && c; c = CMSG_NXTHDR(&header, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            memcpy(file, CMSG_DATA(c), sizeof(*file));
        }
    }
    if (got != (ssize_t)sizeof(*packet) || packet->magic != WORKER_MAGIC) {
        if (*file >= 0) {
            close(*file);
            *file = -1;
        }
        errno = got < 0 ? errno : EPROTO;
        return -1;
    }
    return 1;
}

/* --- life --- */

struct worker *worker_create(size_t memory_limit)
{
    struct worker *worker = memory_zalloc(sizeof(*worker));
    worker->memory_limit = memory_limit;
    worker->socket = worker->output = worker->process = -1;
    return worker;
}

void worker_poison(struct worker *worker)
{
    worker->poison = true;
}

void worker_set_program(struct worker *worker, const char *const *arguments)
{
    worker->program = arguments;
}

void worker_set_environment(struct worker *worker, const char *const *entries, size_t count)
{
    worker->entry_count = count < ENTRIES_MOST ? count : ENTRIES_MOST;
    for (size_t i = 0; i < worker->entry_count; i++) {
        worker->entries[i] = entries[i];
    }
}

bool worker_is_running(const struct worker *worker)
{
    return worker->pid != 0;
}

static void close_file(int *file)
{
    if (*file >= 0) {
        close(*file);
    }
    *file = -1;
}

/* Kills the whole group, reaps the process. */
static int worker_reap(struct worker *worker, struct rusage *usage)
{
    int status = 0;
    kill(-worker->pid, SIGKILL);
    kill(worker->pid, SIGKILL);
    while (wait4(worker->pid, &status, 0, usage) < 0 && errno == EINTR) {
    }
    worker->pid = 0;
    return status;
}

void worker_stop(struct worker *worker)
{
    if (worker->pid != 0) {
        struct rusage usage;
        worker_reap(worker, &usage);
    }
    close_file(&worker->socket);
    close_file(&worker->output);
    close_file(&worker->process);
}

void worker_destroy(struct worker *worker)
{
    if (worker) {
        worker_stop(worker);
        free(worker);
    }
}

/* The environment of a worker: ours, with what it must know and no thread pools that it does not
 * need. `extra` entries win over ours. */
static char **worker_environment(const char *const *extra, size_t extra_count)
{
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    char **list = memory_zalloc((count + extra_count + 1) * sizeof(*list));
    size_t filled = 0;
    for (size_t i = 0; i < count; i++) {
        bool replaced = false;
        for (size_t k = 0; k < extra_count; k++) {
            replaced |= strncmp(environ[i], extra[k], strcspn(extra[k], "=") + 1) == 0;
        }
        if (!replaced) {
            list[filled++] = environ[i];
        }
    }
    for (size_t k = 0; k < extra_count; k++) {
        list[filled++] = (char *)extra[k];
    }
    return list;
}

static int worker_spawn(struct worker *worker, int socket, int output)
{
    const char *extra[5 + ENTRIES_MOST] = {
        "REFEREE_WORKER=1",
        "OPENBLAS_NUM_THREADS=1",
        /* When we are built with a sanitizer, the foreign code's ends stay its own. */
        "ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:allocator_may_return_null=1:detect_leaks=0",
    };
    size_t count = 3;
    if (worker->memory_limit > 0) {
        /* Arenas of idle threads would count against the limit on address space. */
        extra[count++] = "MALLOC_ARENA_MAX=4";
    }
    if (worker->poison) {
        /* glibc fills with the complement, 0x7f: large in every float and integer type. */
        extra[count++] = "MALLOC_PERTURB_=128";
    }
    for (size_t i = 0; i < worker->entry_count; i++) {
        extra[count++] = worker->entries[i];
    }
    char **environment = worker_environment(extra, count);
    static const char *const own[] = {"referee-worker", WORKER_ARGUMENT, NULL};
    const char *const *arguments = worker->program != NULL ? worker->program : own;
    const char *path = worker->program != NULL ? worker->program[0] : "/proc/self/exe";
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    posix_spawn_file_actions_adddup2(&actions, socket, WORKER_SOCKET);
    posix_spawn_file_actions_addclosefrom_np(&actions, WORKER_SOCKET + 1);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    int failure = posix_spawn(&worker->pid, path, &actions, &attributes, (char *const *)arguments,
                              environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    if (failure != 0) {
        worker->pid = 0;
    }
    return failure;
}

/* Moves a descriptor above those that the child's are copied onto. */
static int above_standard(int file)
{
    if (file < 0 || file > WORKER_SOCKET) {
        return file;
    }
    int moved = fcntl(file, F_DUPFD_CLOEXEC, WORKER_SOCKET + 1);
    close(file);
    return moved;
}

static bool worker_start(struct worker *worker, struct error *err)
{
    int sockets[2] = {-1, -1}, pipes[2] = {-1, -1};
    if (getenv("REFEREE_WORKER")) {
        return error_set(err, ERROR_INTERNAL,
                         "a worker may start no workers: does main() begin with "
                         "backend_worker_main_if_asked?");
    }
    bool good = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0 &&
                pipe2(pipes, O_CLOEXEC) == 0;
    sockets[1] = above_standard(sockets[1]);
    pipes[1] = above_standard(pipes[1]);
    int failure = good && sockets[1] >= 0 && pipes[1] >= 0
                      ? worker_spawn(worker, sockets[1], pipes[1])
                      : errno;
    close_file(&sockets[1]);
    close_file(&pipes[1]);
    worker->socket = sockets[0];
    worker->output = pipes[0];
    worker->written = 0;
    worker->stage = STAGE_START;
    if (failure == 0) {
        fcntl(worker->output, F_SETFL, O_NONBLOCK);
        worker->process = pidfd_open(worker->pid, 0);
        failure = worker->process < 0 ? errno : 0;
    }
    if (failure != 0) {
        worker_stop(worker);
        return error_set(err, ERROR_INTERNAL, "no worker process: %s", strerror(failure));
    }
    return true;
}

/* --- output --- */

static void output_drain(struct worker *worker)
{
    char buffer[4096];
    /* A worker that writes without end must not keep us here. */
    for (int i = 0; i < 64; i++) {
        ssize_t got = read(worker->output, buffer, sizeof(buffer));
        if (got <= 0) {
            return;
        }
        for (ssize_t k = 0; k < got; k++) {
            worker->ring[worker->written++ % RING_SIZE] = buffer[k];
        }
    }
}

void text_append_clean(struct text *out, const char *text, size_t size, size_t limit)
{
    size_t end = out->size + limit;
    for (size_t i = 0; i < size && out->size < end;) {
        unsigned char c = (unsigned char)text[i];
        size_t more = c < 0x80                ? 0
                      : c >= 0xc2 && c < 0xe0 ? 1
                      : c >= 0xe0 && c < 0xf0 ? 2
                      : c >= 0xf0 && c < 0xf5 ? 3
                                              : 9;
        bool good = more == 0 ? (c >= ' ' && c != 0x7f) || c == '\n' || c == '\t'
                              : more < 4 && i + more < size;
        for (size_t k = 1; good && k <= more; k++) {
            good = ((unsigned char)text[i + k] & 0xc0) == 0x80;
        }
        if (good && more > 1) { /* overlong forms, surrogates, beyond U+10FFFF */
            unsigned char d = (unsigned char)text[i + 1];
            good = !(c == 0xe0 && d < 0xa0) && !(c == 0xed && d > 0x9f) &&
                   !(c == 0xf0 && d < 0x90) && !(c == 0xf4 && d > 0x8f);
        }
        if (!good) {
            text_char(out, '?');
            i++;
        } else {
            text_append_n(out, text + i, more + 1);
            i += more + 1;
        }
    }
}

/* Says the line something? Stack frames without names do not. */
static bool line_says_something(const char *line, size_t size)
{
    while (size > 0 && (*line == ' ' || *line == '\t' || *line == '\r')) {
        line++;
        size--;
    }
    return size > 0 && !(size > 1 && line[0] == '@' && line[1] == ' ');
}

/* The last lines that the worker wrote. */
static void output_append(const struct worker *worker, struct text *message)
{
    struct line {
        size_t begin, size;
    } lines[MESSAGE_LINES];
    size_t size = worker->written < RING_SIZE ? worker->written : RING_SIZE;
    char *tail = memory_alloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        tail[i] = worker->ring[(worker->written - size + i) % RING_SIZE];
    }
    int count = 0;
    for (size_t end = size; count < MESSAGE_LINES && end > 0;) {
        size_t begin = end;
        while (begin > 0 && tail[begin - 1] != '\n') {
            begin--;
        }
        if (line_says_something(tail + begin, end - begin)) {
            lines[count++] = (struct line){begin, end - begin};
        }
        end = begin > 0 ? begin - 1 : 0;
    }
    while (count-- > 0) {
        text_char(message, '\n');
        text_append_clean(message, tail + lines[count].begin, lines[count].size, LINE_MOST);
    }
    free(tail);
}

static bool output_says(const struct worker *worker, const char *const *words)
{
    struct text all;
    bool said = false;
    text_init(&all);
    output_append(worker, &all);
    for (; *words; words++) {
        said |= strcasestr(all.data, *words) != NULL;
    }
    text_finish(&all);
    return said;
}

/* --- ends --- */

static void end_timeout(struct worker *worker, double timeout, enum outcome *outcome,
                        struct text *message)
{
    *outcome = OUTCOME_TIMEOUT;
    text_printf(message, "no answer after %g s while %s", timeout, stage_texts[worker->stage]);
    output_drain(worker);
    output_append(worker, message);
    worker_stop(worker);
}

/* The process ended, or sent what is no packet. */
static void end_crash(struct worker *worker, bool garbage, enum outcome *outcome,
                      struct text *message)
{
    static const char *const memory_words[] = {"bad_alloc", "out of memory",
                                               "cannot allocate memory", NULL};
    struct rusage usage = {0};
    /* Its last words can still be in the pipe, and it may be dying: its own signal is the answer.
     */
    struct pollfd gone = {.fd = worker->process, .events = POLLIN};
    if (!garbage) {
        poll(&gone, 1, 2000);
    }
    bool ended = (gone.revents & POLLIN) != 0;
    output_drain(worker);
    int status = worker_reap(worker, &usage);
    output_drain(worker);
    bool aborted =
        WIFSIGNALED(status) && (WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGSEGV ||
                                WTERMSIG(status) == SIGBUS || WTERMSIG(status) == SIGTRAP);
    double grown = 1024.0 * (double)(usage.ru_maxrss - worker->start_kilobytes);
    *outcome = OUTCOME_CRASH;
    if (garbage || !ended) {
        text_append(message, "the worker broke its connection");
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        *outcome = OUTCOME_OOM;
        text_append(message, "killed from outside (SIGKILL), most likely for want of memory,");
    } else if (aborted &&
               (output_says(worker, memory_words) ||
                (worker->memory_limit > 0 && grown > 0.75 * (double)worker->memory_limit))) {
        *outcome = OUTCOME_OOM;
        text_printf(message, "out of memory (SIG%s)", sigabbrev_np(WTERMSIG(status)));
    } else if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        text_printf(message, "SIG%s", name ? name : "?");
    } else {
        text_printf(message, "exited with status %d", WEXITSTATUS(status));
    }
    text_printf(message, " while %s", stage_texts[worker->stage]);
    output_append(worker, message);
    worker_stop(worker);
}

/* Resident memory of the worker, in kilobytes. */
static long worker_resident(const struct worker *worker)
{
    char path[64];
    long total = 0, resident = 0;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)worker->pid);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fscanf(file, "%ld %ld", &total, &resident) != 2) {
            resident = 0;
        }
        fclose(file);
    }
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* --- calling --- */

/* Reads what the socket has: 1 the reply came, 0 go on, -1 the end. */
static int take_packets(struct worker *worker, double *deadline, double timeout, int *file,
                        bool *garbage)
{
    for (;;) {
        struct worker_packet packet;
        int got = worker_receive(worker->socket, &packet, file, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return 0;
        }
        if (got < 0) {
            *garbage = true;
        }
        if (got <= 0) {
            return -1;
        }
        if (packet.kind == PACKET_REPLY && *file >= 0) {
            return 1;
        }
        if (packet.kind != PACKET_STAGE || packet.value < 0 || packet.value >= STAGE_COUNT ||
            *file >= 0) {
            close_file(file);
            *garbage = true;
            return -1;
        }
        if (worker->stage == STAGE_START) {
            /* The worker is up and begins: that is when the clock starts. */
            *deadline = clock_seconds() + timeout;
        }
        worker->stage = (enum worker_stage)packet.value;
    }
}

bool worker_call(struct worker *worker, enum worker_request request,
                 const struct parcel_writer *writer, double timeout, struct parcel_reader *reply,
                 enum outcome *outcome, struct text *message)
{
    struct error err = {0};
    *outcome = OUTCOME_RUNTIME_ERROR;
    if (!worker_is_running(worker) && !worker_start(worker, &err)) {
        text_append(message, err.message);
        return false;
    }
    int file = parcel_seal(writer, &err);
    if (file < 0) {
        *outcome = OUTCOME_OOM;
        text_append(message, err.message);
        return false;
    }
    worker->stage = STAGE_START;
    worker->start_kilobytes = worker_resident(worker);
    output_drain(worker); /* what came after the last reply */
    worker->written = 0;
    struct worker_packet packet = {.kind = PACKET_REQUEST,
                                   .value = (int)request,
                                   .memory_limit = (double)worker->memory_limit};
    bool garbage = false;
    bool sent = worker_send(worker->socket, packet, file);
    close(file);
    file = -1;
    double deadline = clock_seconds() + timeout;
    int state = sent ? 0 : -1;
    while (state == 0) {
        struct pollfd files[] = {{.fd = worker->socket, .events = POLLIN},
                                 {.fd = worker->output, .events = POLLIN},
                                 {.fd = worker->process, .events = POLLIN}};
        double left = deadline - clock_seconds();
        if (left <= 0) {
            end_timeout(worker, timeout, outcome, message);
            return false;
        }
        if (poll(files, 3, left > 1000 ? 1000000 : (int)(left * 1000) + 1) < 0 && errno != EINTR) {
            state = -1;
            break;
        }
        if (files[1].revents & POLLIN) {
            output_drain(worker);
        }
        state = take_packets(worker, &deadline, timeout, &file, &garbage);
        if (state == 0 && (files[2].revents & POLLIN)) {
            /* It ended, whoever else holds the socket; its last packet may just have come. */
            state = take_packets(worker, &deadline, timeout, &file, &garbage);
            state = state == 0 ? -1 : state;
        }
    }
    if (state < 0) {
        end_crash(worker, garbage, outcome, message);
        return false;
    }
    output_drain(worker);
    if (!parcel_reader_init(reply, file, &err)) {
        end_crash(worker, true, outcome, message);
        return false;
    }
    return true;
}
