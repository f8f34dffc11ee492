/* A command as the test of a shrinker, and specimens as files. */
#define _GNU_SOURCE
#include "tools/shrink_script.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

void specimen_print(const struct specimen *specimen, const char *note, struct text *out)
{
    if (note[0] != '\0') {
        text_printf(out, "//@ note %s\n", note);
    }
    for (int i = 0; i < specimen_argument_total(specimen); i++) {
        text_append(out, "//@ arg ");
        shape_print(specimen->arguments[i]->shape, false, out);
        text_char(out, ' ');
        literal_print(specimen->arguments[i], false, 0, out);
        text_char(out, '\n');
    }
    text_print_module(specimen->module, &print_canonical, out);
}

bool specimen_write(const struct specimen *specimen, const char *note, const char *path,
                    struct error *err)
{
    struct text text;
    text_init(&text);
    specimen_print(specimen, note, &text);
    bool ok = file_write(path, text.data, text.size, err);
    text_finish(&text);
    return ok;
}

/* Waits for the process, and ends its group at the deadline. */
static int wait_for(pid_t process, double timeout)
{
    double deadline = clock_seconds() + timeout;
    struct timespec pause = {.tv_nsec = 200 * 1000};
    for (;;) {
        int status = 0;
        pid_t ended = waitpid(process, &status, WNOHANG);
        if (ended == process) {
            kill(-process, SIGKILL); /* what it left behind */
            int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            return code > 128 ? SCRIPT_SIGNAL + code - 128 : code; /* as shells tell signals */
        }
        if (clock_seconds() > deadline) {
            kill(-process, SIGKILL);
            waitpid(process, &status, 0);
            return SCRIPT_TIMEOUT;
        }
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < 20 * 1000 * 1000 ? 2 * pause.tv_nsec : pause.tv_nsec;
    }
}

int script_run(const struct script_test *test, int thread, const struct specimen *specimen,
               struct error *err)
{
    struct text path, line;
    text_init(&path);
    text_init(&line);
    text_printf(&path, "%s/candidate.%d.hlo", test->folder, thread);
    text_printf(&line, "%s \"$1\"", test->command);
    int status = -1;
    if (specimen_write(specimen, "", path.data, err)) {
        char *arguments[] = {"sh", "-c", line.data, "sh", path.data, NULL};
        posix_spawnattr_t attributes;
        posix_spawn_file_actions_t actions;
        pid_t process;
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
        int problem = posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
        if (problem != 0) {
            error_set(err, ERROR_NOT_FOUND, "/bin/sh: %s", strerror(problem));
        } else {
            status = wait_for(process, test->timeout);
        }
    }
    text_finish(&path);
    text_finish(&line);
    return status;
}

bool shrink_test_script(void *context, int thread, const struct specimen *specimen)
{
    const struct script_test *test = context;
    struct error ignored = {0};
    return script_run(test, thread, specimen, &ignored) == test->status;
}
