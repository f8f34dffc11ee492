/* Fetching packages (fetching.h): with pip, which checks their hashes, and nothing is installed. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/plugins.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "tools/fetching.h"

extern char **environ;

/* Arguments of a program, and whether what it says is shown. */
struct call {
    const char *arguments[40];
    int count;
    bool silent;
};

static void add(struct call *call, const char *argument)
{
    if (call->count < 39) {
        call->arguments[call->count++] = argument;
    }
}

/* Runs a program from the path to its end; true if it says that all went well. Its output goes to
 * standard error. */
static bool run_program(struct call *call)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t interrupt;
    pid_t process;
    int status = 1;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    if (call->silent) {
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    }
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_setsigdefault(&attributes, &interrupt);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    bool started = posix_spawnp(&process, call->arguments[0], &actions, &attributes,
                                (char *const *)call->arguments, environ) == 0;
    while (started && waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A Python that has pip: the one of the path, or the system's. NULL when there is none. */
static const char *find_python(void)
{
    static const char *const names[] = {"python3", "/usr/bin/python3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct call call = {{names[i], "-m", "pip", "--version"}, 4, true};
        if (run_program(&call)) {
            return names[i];
        }
    }
    return NULL;
}

/* --- folders --- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static void remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes the folders on the way to `path`, not itself. */
static bool make_parents(const char *path, struct error *err)
{
    struct text part;
    text_init(&part);
    bool good = true;
    for (const char *c = path; good && *c != '\0'; c++) {
        if (*c == '/' && part.size > 0 && mkdir(part.data, 0777) != 0 && errno != EEXIST) {
            good = error_set(err, ERROR_NOT_FOUND, "%s: %s", part.data, strerror(errno));
        }
        text_char(&part, *c);
    }
    text_finish(&part);
    return good;
}

/* --- fetching --- */

size_t fetch_bytes(const struct plugin_row *row)
{
    const struct plugin_package *package;
    size_t sum = 0;
    for (int i = 0; (package = plugin_package(row, i)) != NULL; i++) {
        sum += package->bytes;
    }
    return sum;
}

void fetch_title(const struct plugin_row *row, struct text *out)
{
    text_append(out, row->title);
    if (row->date != NULL) {
        text_printf(out, " %s of %s", row->version, row->date);
    }
}

bool fetch_is_there(const struct plugin_row *row)
{
    char *folder = plugin_folder(row);
    struct stat status;
    bool there = stat(folder, &status) == 0;
    free(folder);
    return there;
}

void fetch_announce(const struct plugin_row *row)
{
    const struct plugin_package *package;
    struct text title;
    text_init(&title);
    fetch_title(row, &title);
    printf("%s, %.0f MB from the Python package index:\n", title.data,
           (double)fetch_bytes(row) / 1e6);
    for (int i = 0; (package = plugin_package(row, i)) != NULL; i++) {
        printf("  %-22s %-9s %5.0f MB  %s; licence: %s\n", package->name, package->version,
               (double)package->bytes / 1e6, package->what, package->licence);
    }
    fflush(stdout);
    text_finish(&title);
}

/* The requirements as pip reads them: nothing but these very files is accepted. */
static bool write_requirements(const struct plugin_row *row, const char *path, struct error *err)
{
    struct text text;
    text_init(&text);
    const struct plugin_package *package;
    for (int i = 0; (package = plugin_package(row, i)) != NULL; i++) {
        text_printf(&text, "%s==%s --hash=sha256:%s\n", package->name, package->version,
                    package->hash);
    }
    bool good = file_write(path, text.data, text.size, err);
    text_finish(&text);
    return good;
}

/* libtpu's wheels are marked for one version of Python each, though all that is wanted of them is a
 * library: so the tags are given, whatever Python runs pip. */
static bool download(const char *python, const char *requirements, const char *wheels)
{
    struct call call = {0};
    static const char *const words[] = {"-m",
                                        "pip",
                                        "download",
                                        "--disable-pip-version-check",
                                        "--retries",
                                        "1",
                                        "--no-deps",
                                        "--require-hashes",
                                        "--only-binary",
                                        ":all:",
                                        "--implementation",
                                        "cp",
                                        "--python-version",
                                        "3.11",
                                        "--abi",
                                        "cp311",
                                        "--abi",
                                        "none",
                                        "--platform",
                                        "manylinux2014_x86_64",
                                        "--platform",
                                        "manylinux_2_17_x86_64",
                                        "--platform",
                                        "manylinux_2_27_x86_64",
                                        "--platform",
                                        "manylinux_2_31_x86_64",
                                        "--dest"};
    add(&call, python);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        add(&call, words[i]);
    }
    add(&call, wheels);
    add(&call, "--requirement");
    add(&call, requirements);
    return run_program(&call);
}

/* Unpacks every wheel of a folder; tools keep their right to be run, which zip files do not. */
static bool unpack(const char *python, const char *wheels, const char *folder)
{
    static const char script[] = "import glob, os, stat, sys, zipfile\n"
                                 "for wheel in glob.glob(os.path.join(sys.argv[1], '*.whl')):\n"
                                 "    with zipfile.ZipFile(wheel) as archive:\n"
                                 "        for entry in archive.infolist():\n"
                                 "            path = archive.extract(entry, sys.argv[2])\n"
                                 "            if entry.external_attr >> 16 & 0o111 or "
                                 "'/bin/' in entry.filename:\n"
                                 "                os.chmod(path, 0o755)\n";
    struct call call = {{python, "-c", script, wheels, folder}, 5, false};
    return run_program(&call);
}

/* Everything happens in a folder beside, which is renamed at the end: the plugin is there whole or
 * not at all. */
static bool fetch_into(const struct plugin_row *row, const char *python, const char *folder,
                       struct error *err)
{
    struct text work, wheels, requirements, plugin, library;
    struct text *const texts[] = {&work, &wheels, &requirements, &plugin, &library};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        text_init(texts[i]);
    }
    text_printf(&work, "%s-XXXXXX", folder);
    bool good = make_parents(folder, err);
    bool made = good && mkdtemp(work.data) != NULL;
    text_printf(&wheels, "%s/wheels", work.data);
    text_printf(&requirements, "%s/requirements.txt", work.data);
    text_printf(&plugin, "%s/plugin", work.data);
    text_printf(&library, "%s/%s", plugin.data, plugin_file(row));
    if (good && !made) {
        good = error_set(err, ERROR_NOT_FOUND, "%s: %s", work.data, strerror(errno));
    }
    good = good && write_requirements(row, requirements.data, err);
    if (good && !download(python, requirements.data, wheels.data)) {
        good = error_set(err, ERROR_NOT_FOUND,
                         "pip could not fetch it (its words are above); is there a network?");
    }
    if (good && (!unpack(python, wheels.data, plugin.data) || !file_exists(library.data))) {
        good =
            error_set(err, ERROR_INTERNAL, "%s cannot be unpacked; is the disk full?", wheels.data);
    }
    struct stat status;
    if (good && rename(plugin.data, folder) != 0 && stat(folder, &status) != 0) {
        good = error_set(err, ERROR_NOT_FOUND, "%s: %s", folder, strerror(errno));
    }
    if (made) {
        remove_folder(work.data);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        text_finish(texts[i]);
    }
    return good;
}

bool fetch_row(const struct plugin_row *row, struct error *err)
{
    const char *python = find_python();
    if (python == NULL) {
        return error_set(err, ERROR_NOT_FOUND,
                         "python3 with pip is needed (apt install python3-pip)");
    }
    char *folder = plugin_folder(row);
    bool good = fetch_into(row, python, folder, err);
    free(folder);
    return good;
}
