/* Scans a dump folder: collects the files, groups them by module, and orders each module's steps.
 *
 * The counter in the file names is the order of writing (one counter a module; StepNumberForModule
 * in xla/service/dump.cc). Dumps without a counter are placed by what is known of them, else by
 * their modification time where the times of the others agree with their counters. */
#include "hlo/dump.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/dump_name.h"
#include "hlo/format.h"
#include "hlo/module.h"

struct entry {
    struct dump_name name;
    char *path, *file, *folder;
    int64_t time; /* of the last change, in ns */
    int place;    /* of a landmark: how many numbered dumps come before it; see place_landmarks */
};

struct scan {
    struct dump *dump;
    const char *root;
    struct arena names; /* of the entries; the strings that stay are copied */
    struct entry *entries, *snapshots, *metadata;
    size_t count, snapshot_count, metadata_count;
    size_t capacity, snapshot_capacity, metadata_capacity;
    char **folders; /* relative ones that are still to be read */
    size_t folder_count, folder_capacity;
    struct map seen; /* folders by device and inode: links can make circles */
    int skipped;
};

/* --- collecting --- */

static char *join(struct arena *arena, const char *folder, const char *name)
{
    size_t size = strlen(folder);
    bool joined = size == 0 || name[0] == '\0' || folder[size - 1] == '/';
    const char *slash = joined ? "" : "/";
    return arena_printf(arena, "%s%s%s", folder, slash, name);
}

static void add(struct entry **entries, size_t *count, size_t *capacity, const struct entry *entry)
{
    *entries = grow(*entries, *count, capacity, sizeof **entries);
    (*entries)[(*count)++] = *entry;
}

static void add_file(struct scan *scan, char *folder, const char *name, const struct stat *info)
{
    struct entry entry = {.folder = folder};
    dump_name_parse(name, &scan->names, &entry.name);
    if (entry.name.file == DUMP_FILE_OTHER) {
        scan->skipped++;
        return;
    }
    struct arena *arena = &scan->dump->arena;
    entry.file = arena_string(arena, name, strlen(name));
    entry.path = join(arena, join(&scan->names, scan->root, folder), name);
    entry.time = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
    if (entry.name.file == DUMP_FILE_MODULE) {
        add(&scan->entries, &scan->count, &scan->capacity, &entry);
    } else if (entry.name.file == DUMP_FILE_SNAPSHOT) {
        add(&scan->snapshots, &scan->snapshot_count, &scan->snapshot_capacity, &entry);
    } else {
        add(&scan->metadata, &scan->metadata_count, &scan->metadata_capacity, &entry);
    }
}

/* False when the folder cannot be read. What vanishes meanwhile is passed over. */
static bool read_folder(struct scan *scan, char *folder, struct error *err)
{
    const char *path = join(&scan->names, scan->root, folder);
    DIR *stream = opendir(path);
    if (stream == NULL) {
        return error_set(err, errno == ENOTDIR ? ERROR_INVALID_ARGUMENT : ERROR_NOT_FOUND,
                         "cannot read the folder %s: %s", path, strerror(errno));
    }
    for (;;) {
        errno = 0;
        const struct dirent *item = readdir(stream);
        if (item == NULL) {
            break;
        }
        const char *name = item->d_name;
        struct stat info;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            continue;
        }
        if (fstatat(dirfd(stream), name, &info, 0) != 0) {
            scan->skipped++;
        } else if (S_ISDIR(info.st_mode)) {
            uint64_t identity = hash_u64((uint64_t)info.st_ino, (uint64_t)info.st_dev);
            if (map_put_int(&scan->seen, identity, scan) == NULL) {
                scan->folders = grow(scan->folders, scan->folder_count, &scan->folder_capacity,
                                     sizeof *scan->folders);
                scan->folders[scan->folder_count++] = join(&scan->dump->arena, folder, name);
            }
        } else if (S_ISREG(info.st_mode)) {
            add_file(scan, folder, name, &info);
        } else {
            scan->skipped++; /* a pipe would never end */
        }
    }
    int problem = errno;
    closedir(stream);
    return problem == 0 || error_set(err, ERROR_NOT_FOUND, "cannot read the folder %s: %s", path,
                                     strerror(problem));
}

static bool collect(struct scan *scan, struct error *err)
{
    struct stat info;
    if (stat(scan->root, &info) == 0) {
        map_put_int(&scan->seen, hash_u64((uint64_t)info.st_ino, (uint64_t)info.st_dev), scan);
    }
    if (!read_folder(scan, arena_string(&scan->dump->arena, "", 0), err)) {
        return false;
    }
    while (scan->folder_count > 0) {
        if (!read_folder(scan, scan->folders[--scan->folder_count], NULL)) {
            scan->skipped++;
        }
    }
    return true;
}

/* --- grouping --- */

/* Timestamps are numbers of any length. */
static int compare_numbers(const char *a, const char *b)
{
    size_t x = strlen(a), y = strlen(b);
    return x != y ? (x < y ? -1 : 1) : strcmp(a, b);
}

/* Files of one module, but for its name: that is left out of a file name that grows too long. */
static int compare_origins(const struct entry *a, const struct entry *b)
{
    int order = strcmp(a->folder, b->folder);
    order = order != 0 ? order : compare_numbers(a->name.timestamp, b->name.timestamp);
    return order != 0 ? order : (a->name.id > b->name.id) - (a->name.id < b->name.id);
}

static int compare_modules(const struct entry *a, const struct entry *b)
{
    int order = compare_origins(a, b);
    return order != 0 ? order : strcmp(a->name.name, b->name.name);
}

/* By module, then by dump, the best format of a dump first. */
static int by_dump(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = compare_modules(a, b);
    order = order != 0 ? order : strcmp(a->name.stem, b->name.stem);
    return order != 0 ? order : b->name.preference - a->name.preference;
}

static int by_module(const void *left, const void *right)
{
    int order = compare_modules(left, right);
    return order != 0
               ? order
               : strcmp(((const struct entry *)left)->file, ((const struct entry *)right)->file);
}

/* Files that lost their module's name get it back, if there is only one with their number. */
static void restore_names(struct scan *scan)
{
    qsort(scan->entries, scan->count, sizeof *scan->entries, by_module);
    for (size_t begin = 0, end; begin < scan->count; begin = end) {
        char *first = NULL, *last = NULL;
        for (end = begin;
             end < scan->count && compare_origins(&scan->entries[begin], &scan->entries[end]) == 0;
             end++) {
            char *name = scan->entries[end].name.name;
            first = first == NULL && name[0] != '\0' ? name : first;
            last = name[0] != '\0' ? name : last;
        }
        for (size_t i = begin; first != NULL && strcmp(first, last) == 0 && i < end; i++) {
            scan->entries[i].name.name = first;
        }
    }
}

/* --- the order of one module's dumps --- */

/* The place among the numbered dumps comes first, then what can share a place: a landmark stands
 * before the numbered dump that has as many before it. */
static int by_writing(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->place != b->place) {
        return a->place < b->place ? -1 : 1;
    }
    if (a->name.kind != b->name.kind) {
        return a->name.kind == DUMP_LANDMARK ? -1 : b->name.kind == DUMP_LANDMARK ? 1 : 0;
    }
    int x = a->name.kind == DUMP_AFTER ? dump_after_rank(a->name.step) : 0;
    int y = b->name.kind == DUMP_AFTER ? dump_after_rank(b->name.step) : 0;
    if (x != y) {
        return x - y;
    }
    if (a->time != b->time) {
        return a->time < b->time ? -1 : 1;
    }
    return strcmp(a->file, b->file);
}

static int by_number(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->name.number != b->name.number) {
        return a->name.number < b->name.number ? -1 : 1;
    }
    return a->time != b->time ? (a->time < b->time ? -1 : 1) : strcmp(a->file, b->file);
}

/* Do modification times tell the order of writing? Not after a copy or an archive: then they do not
 * rise with the numbers from before_optimizations on. entries[0..count): by number, −1 first. */
static bool times_tell(const struct entry *entries, int count)
{
    const struct entry *before = NULL, *last = NULL;
    for (int i = 0; i < count; i++) {
        if (entries[i].name.kind == DUMP_BEFORE) {
            before = &entries[i];
        } else if (entries[i].name.number >= 0) {
            const struct entry *previous = last == NULL ? before : last;
            if (previous == NULL || previous->time > entries[i].time) {
                return false;
            }
            last = &entries[i];
        }
    }
    return last != NULL && before->time < last->time;
}

/* The number of numbered dumps that come before the landmark. */
static int landmark_place(const struct entry *entries, int count, const struct entry *landmark,
                          bool by_time)
{
    const char *pipeline = dump_landmark_pipeline(landmark->name.step);
    int numbered = 0, earlier = 0;
    for (int i = 0; i < count; i++) {
        if (entries[i].name.number >= 0) {
            if (pipeline != NULL && strcmp(entries[i].name.pipeline, pipeline) == 0) {
                return numbered;
            }
            numbered++;
            earlier += entries[i].time <= landmark->time ? 1 : 0;
        }
    }
    return by_time ? earlier : numbered;
}

static void order(struct entry *entries, int count)
{
    qsort(entries, (size_t)count, sizeof *entries, by_number);
    bool by_time = times_tell(entries, count);
    int numbered = 0;
    for (int i = 0; i < count; i++) {
        struct entry *entry = &entries[i];
        switch (entry->name.kind) {
        case DUMP_BEFORE:
            entry->place = -1;
            break;
        case DUMP_AFTER:
            entry->place = count;
            break;
        case DUMP_LANDMARK:
            entry->place = landmark_place(entries, count, entry, by_time);
            break;
        default:
            entry->place = numbered++;
        }
    }
    qsort(entries, (size_t)count, sizeof *entries, by_writing);
}

/* --- the result --- */

static char *keep(struct scan *scan, const char *text)
{
    return arena_string(&scan->dump->arena, text, strlen(text));
}

static void make_module(struct scan *scan, struct entry *entries, int count,
                        struct dump_module *module)
{
    order(entries, count);
    *module = (struct dump_module){
        .id = entries->name.id,
        .name = keep(scan, entries->name.name),
        .timestamp = keep(scan, entries->name.timestamp),
        .folder = entries->folder,
        .step_count = count,
        .steps = arena_array(&scan->dump->arena, (size_t)count, sizeof *module->steps),
    };
    for (int i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        module->steps[i] = (struct dump_step){
            .path = entry->path,
            .file = entry->file,
            .kind = entry->name.kind,
            .number = entry->name.number,
            .pipeline = keep(scan, entry->name.pipeline),
            .pass = keep(scan, entry->name.pass),
            .next = keep(scan, entry->name.next),
            .step = keep(scan, entry->name.step),
        };
    }
}

static void make_modules(struct scan *scan)
{
    restore_names(scan);
    qsort(scan->entries, scan->count, sizeof *scan->entries, by_dump);
    size_t kept = 0;
    int modules = 0;
    for (size_t i = 0; i < scan->count; i++) {
        const struct entry *entry = &scan->entries[i];
        const struct entry *last = kept > 0 ? &scan->entries[kept - 1] : NULL;
        bool same_module = last != NULL && compare_modules(last, entry) == 0;
        if (same_module && strcmp(last->name.stem, entry->name.stem) == 0) {
            continue; /* the same dump in another format */
        }
        modules += same_module ? 0 : 1;
        scan->entries[kept++] = *entry;
    }
    scan->count = kept;
    struct dump *dump = scan->dump;
    dump->modules = arena_array(&dump->arena, (size_t)modules, sizeof *dump->modules);
    for (size_t begin = 0, end; begin < kept; begin = end) {
        for (end = begin + 1;
             end < kept && compare_modules(&scan->entries[begin], &scan->entries[end]) == 0;
             end++) {
        }
        make_module(scan, &scan->entries[begin], (int)(end - begin),
                    &dump->modules[dump->module_count++]);
    }
}

static void use_records(struct dump_module *module, const struct map *records, struct arena *names,
                        struct arena *arena)
{
    for (int i = 0; i < module->step_count; i++) {
        struct dump_step *step = &module->steps[i];
        const char *stem = dump_name_stem(step->file, names);
        const struct dump_record *record = map_get(records, stem, strlen(stem));
        /* The first dump of a nested pipeline is recorded under the pass that the pipeline is. */
        if (record != NULL && step->kind == DUMP_PASS && dump_name_fits(step->pass, record->pass) &&
            dump_name_fits(step->pipeline, record->pipeline)) {
            step->pass = arena_string(arena, record->pass, strlen(record->pass));
            step->pipeline = arena_string(arena, record->pipeline, strlen(record->pipeline));
            step->change = record->changed ? DUMP_CHANGED : DUMP_UNCHANGED;
        }
    }
}

static void add_metadata(struct scan *scan)
{
    for (size_t i = 0; i < scan->metadata_count; i++) {
        const struct entry *entry = &scan->metadata[i];
        size_t size;
        char *text = file_read(entry->path, &size, NULL);
        if (text == NULL) {
            continue; /* names alone do */
        }
        struct map records;
        map_init(&records);
        dump_metadata_parse(text, size, &scan->names, &records);
        for (int k = 0; k < scan->dump->module_count; k++) {
            struct dump_module *module = &scan->dump->modules[k];
            if (module->id == entry->name.id && strcmp(module->folder, entry->folder) == 0) {
                use_records(module, &records, &scan->names, &scan->dump->arena);
            }
        }
        map_finish(&records);
        free(text);
    }
}

/* Snapshots carry a timestamp even where dumps do not, and some have only the module's name. */
static struct dump_module *snapshot_owner(struct dump *dump, const struct entry *entry)
{
    struct dump_module *owner = NULL;
    for (int i = 0; i < dump->module_count; i++) {
        struct dump_module *module = &dump->modules[i];
        if (strcmp(module->folder, entry->folder) != 0 ||
            strcmp(module->name, entry->name.name) != 0 ||
            (entry->name.id >= 0 && module->id != entry->name.id)) {
            continue;
        }
        if (strcmp(module->timestamp, entry->name.timestamp) == 0) {
            return module;
        }
        owner = owner == NULL && module->timestamp[0] == '\0' ? module : owner;
    }
    return owner;
}

static void add_snapshots(struct scan *scan)
{
    if (scan->snapshot_count > 0) {
        qsort(scan->snapshots, scan->snapshot_count, sizeof *scan->snapshots, by_module);
    }
    struct arena *arena = &scan->dump->arena;
    for (size_t i = 0; i < scan->snapshot_count; i++) {
        struct dump_module *owner = snapshot_owner(scan->dump, &scan->snapshots[i]);
        if (owner == NULL) {
            scan->skipped++;
            continue;
        }
        /* Few: doubling at each power of two. */
        int count = owner->snapshot_count;
        if ((count & (count - 1)) == 0) {
            char **snapshots =
                arena_array(arena, (size_t)(count > 0 ? 2 * count : 1), sizeof *snapshots);
            for (int k = 0; k < count; k++) {
                snapshots[k] = owner->snapshots[k];
            }
            owner->snapshots = snapshots;
        }
        owner->snapshots[owner->snapshot_count++] = scan->snapshots[i].path;
    }
}

bool dump_scan(const char *folder, struct dump *dump, struct error *err)
{
    *dump = (struct dump){.module_count = 0};
    arena_init(&dump->arena);
    struct scan scan = {.dump = dump, .root = folder};
    arena_init(&scan.names);
    map_init(&scan.seen);
    bool ok = collect(&scan, err);
    if (ok && scan.count == 0) {
        ok = error_set(err, ERROR_NOT_FOUND,
                       "%s holds no module dump (other files: %d%s); to get one, run the program "
                       "with XLA_FLAGS=\"--xla_dump_to=%s --xla_dump_hlo_pass_re=.* "
                       "--xla_dump_hlo_as_proto\"",
                       folder, scan.skipped + (int)scan.snapshot_count,
                       scan.snapshot_count > 0 ? ", snapshots among them" : "", folder);
    }
    if (ok) {
        make_modules(&scan);
        add_metadata(&scan);
        add_snapshots(&scan);
        dump->skipped_count = scan.skipped + (int)scan.metadata_count;
    }
    free(scan.entries);
    free(scan.snapshots);
    free(scan.metadata);
    free(scan.folders);
    map_finish(&scan.seen);
    arena_finish(&scan.names);
    if (!ok) {
        dump_finish(dump);
    }
    return ok;
}

void dump_finish(struct dump *dump)
{
    arena_finish(&dump->arena);
    *dump = (struct dump){.module_count = 0};
}

struct module *dump_load(const struct dump_step *step, struct error *err)
{
    size_t size = strlen(step->path);
    bool is_riegeli = size > 8 && strcmp(step->path + size - 8, ".riegeli") == 0;
    if (is_riegeli) {
        error_set(err, ERROR_UNIMPLEMENTED,
                  "%s: files of the Riegeli format cannot be read; dump with "
                  "--xla_dump_hlo_as_proto instead",
                  step->path);
        return NULL;
    }
    struct loaded_file file;
    if (!module_load(step->path, &file, err)) {
        return NULL;
    }
    struct module *module = NULL;
    if (file.count == 0) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%s holds no module", step->path);
    } else if (file.modules[0].module == NULL) {
        if (err != NULL && err->code == ERROR_NONE && file.modules[0].error != NULL) {
            *err = *file.modules[0].error;
        }
    } else {
        module = file.modules[0].module;
        file.modules[0].module = NULL;
    }
    loaded_file_finish(&file);
    return module;
}
