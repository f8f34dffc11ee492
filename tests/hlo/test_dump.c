/* Dump folders: which files are dumps, of which module, and in which order they were written.
 * File names are those that XLA and libtpu write; so are the orders. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/dump.h"
#include "hlo/dump_name.h"
#include "hlo/module.h"
#include "hlo/proto/proto_format.h"
#include "hlo/text/text_format.h"

static const char module_text[] = "HloModule jit_f\n"
                                  "ENTRY main {\n"
                                  "  x = f32[3] parameter(0)\n"
                                  "  ROOT y = f32[3] add(x, x)\n"
                                  "}\n";

static char root[64];

static void make_root(void)
{
    const char *folder = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/dump.XXXXXX",
             folder != NULL && strlen(folder) < 40 ? folder : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_tree(const char *path)
{
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        chmod(path, 0700);
        DIR *stream = opendir(path);
        for (const struct dirent *item; (item = readdir(stream)) != NULL;) {
            if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0) {
                char below[4096];
                snprintf(below, sizeof below, "%s/%s", path, item->d_name);
                remove_tree(below);
            }
        }
        closedir(stream);
        rmdir(path);
    } else {
        unlink(path);
    }
}

static void remove_root(void)
{
    remove_tree(root);
}

static const char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void put_data(const char *name, const void *data, size_t size)
{
    struct error err = {0};
    ck_assert_msg(file_write(path_of(name), data, size, &err), "%s", err.message);
}

/* Each a file with a module as text. */
static void put(const char *name, ...)
{
    va_list names;
    va_start(names, name);
    for (; name != NULL; name = va_arg(names, const char *)) {
        put_data(name, module_text, strlen(module_text));
    }
    va_end(names);
}

static void put_folder(const char *name)
{
    ck_assert_int_eq(mkdir(path_of(name), 0700), 0);
}

static void set_time(const char *name, time_t seconds)
{
    struct timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path_of(name), times, 0), 0);
}

static void scan(struct dump *dump)
{
    struct error err = {0};
    ck_assert_msg(dump_scan(root, dump, &err), "%s", err.message);
}

/* The files of the steps in their order, and nothing else. */
static void expect_steps(const struct dump_module *module, ...)
{
    va_list files;
    va_start(files, module);
    int i = 0;
    for (const char *file; (file = va_arg(files, const char *)) != NULL; i++) {
        ck_assert_int_lt(i, module->step_count);
        ck_assert_str_eq(module->steps[i].file, file);
        ck_assert_str_eq(module->steps[i].path + strlen(module->steps[i].path) - strlen(file),
                         file);
    }
    va_end(files);
    ck_assert_int_eq(i, module->step_count);
}

/* --- names --- */

static const struct {
    const char *file;
    enum dump_kind kind;
    int64_t id, number;
    const char *timestamp, *name, *pipeline, *pass, *next, *step;
} names[] = {
    {"module_0000.small.before_optimizations.hlo.pb", DUMP_BEFORE, 0, -1, "", "small", "", "", "",
     "before_optimizations"},
    {"1796024124310678.module_0012.jit_f.cpu_after_optimizations.hlo.pb.gz", DUMP_AFTER, 12, -1,
     "1796024124310678", "jit_f", "", "", "", "cpu_after_optimizations"},
    {"module_0003.jit_f.sm_9.0a_gpu_after_optimizations.txt", DUMP_AFTER, 3, -1, "", "jit_f", "",
     "", "", "sm_9.0a_gpu_after_optimizations"},
    {"module_0003.jit_f.gfx90a_gpu_after_optimizations.txt", DUMP_AFTER, 3, -1, "", "jit_f", "", "",
     "", "gfx90a_gpu_after_optimizations"},
    {"module_0003.jit_f.after_optimizations.txt", DUMP_AFTER, 3, -1, "", "jit_f", "", "", "",
     "after_optimizations"},
    {"module_0003.jit_f.after_spmd_partitioner.txt", DUMP_LANDMARK, 3, -1, "", "jit_f", "", "", "",
     "after_spmd_partitioner"},
    /* libtpu appends the number of its source to the module's name. */
    {"module_0000.small.cl_1014260217.after_codegen.hlo.pb", DUMP_AFTER, 0, -1, "", "small", "", "",
     "", "after_codegen"},
    {"module_0000.small.cl_1014260217.0035.multi_output_fusion_and_bf16_folding.after_tpu_fusion."
     "before_tpu_trivial_instruction_unfuser.hlo.pb",
     DUMP_PASS, 0, 35, "", "small", "multi_output_fusion_and_bf16_folding", "tpu_fusion",
     "tpu_trivial_instruction_unfuser", ""},
    {"module_0000.small.0041.copy-insertion.after_adding_copies_to_resolve_interference.hlo.pb",
     DUMP_INSIDE_PASS, 0, 41, "", "small", "", "copy-insertion", "",
     "after_adding_copies_to_resolve_interference"},
    {"module_0000.small.cl_1014260217.0016.tpu-tiling-rewriter.before_tiling_rewriter.hlo.pb",
     DUMP_INSIDE_PASS, 0, 16, "", "small", "", "tpu-tiling-rewriter", "", "before_tiling_rewriter"},
    /* A pipeline and a pass whose own names begin like the marks around them. */
    {"module_0000.small.0013.after_layout_assignment.after_pipeline-start.before_pipeline-end.txt",
     DUMP_PASS, 0, 13, "", "small", "after_layout_assignment", "pipeline-start", "pipeline-end",
     ""},
    {"module_0000.small.0120.HLO_passes_after_layout_assignment.after_after_layout_assignment."
     "before_reshape-decomposer.txt",
     DUMP_PASS, 0, 120, "", "small", "HLO_passes_after_layout_assignment",
     "after_layout_assignment", "reshape-decomposer", ""},
    {"module_0000.small.0004.outer.after_dce.before_optimizations.txt", DUMP_PASS, 0, 4, "",
     "small", "outer", "dce", "optimizations", ""},
    /* Dots and digits in the names of modules, pipelines and passes; more than four digits. */
    {"module_10000.jit_f.1234.v2.12345.pipe.line.after_a.b.before_c.d.txt", DUMP_PASS, 10000, 12345,
     "", "jit_f.1234.v2", "pipe.line", "a.b", "c.d", ""},
    {"module_0001.jit_f.1234.before_optimizations.txt", DUMP_BEFORE, 1, -1, "", "jit_f.1234", "",
     "", "", "before_optimizations"},
    /* The module's name is left out of a file name that would be too long. */
    {"module_0001.0002.pipe.after_a.before_b.txt", DUMP_PASS, 1, 2, "", "", "pipe", "a", "b", ""},
    {"module_0001.before_optimizations.txt", DUMP_BEFORE, 1, -1, "", "", "", "", "",
     "before_optimizations"},
};

START_TEST(test_names)
{
    struct arena arena;
    arena_init(&arena);
    struct dump_name name;
    dump_name_parse(names[_i].file, &arena, &name);
    ck_assert_int_eq(name.file, DUMP_FILE_MODULE);
    ck_assert_int_eq(name.kind, names[_i].kind);
    ck_assert_int_eq(name.id, names[_i].id);
    ck_assert_int_eq(name.number, names[_i].number);
    ck_assert_str_eq(name.timestamp, names[_i].timestamp);
    ck_assert_str_eq(name.name, names[_i].name);
    ck_assert_str_eq(name.pipeline, names[_i].pipeline);
    ck_assert_str_eq(name.pass, names[_i].pass);
    ck_assert_str_eq(name.next, names[_i].next);
    ck_assert_str_eq(name.step, names[_i].step);
    arena_finish(&arena);
}
END_TEST

/* However a name is cut or lacks a character: what it is taken for holds together. */
START_TEST(test_damaged_names)
{
    size_t size = strlen(names[_i].file);
    for (size_t at = 0; at < 2 * size; at++) {
        struct arena arena;
        arena_init(&arena);
        char *file = arena_string(&arena, names[_i].file, at < size ? at : size);
        if (at >= size) {
            memmove(file + at - size, file + at - size + 1, 2 * size - at);
        }
        struct dump_name name;
        dump_name_parse(file, &arena, &name);
        if (name.file == DUMP_FILE_MODULE) {
            ck_assert_int_ge(name.id, 0);
            bool is_pass = name.kind == DUMP_PASS, is_inside = name.kind == DUMP_INSIDE_PASS;
            ck_assert_int_eq(name.number >= 0, is_pass || is_inside);
            ck_assert_int_eq(name.pass[0] != '\0' || name.next[0] != '\0', is_pass || is_inside);
            ck_assert_int_eq(name.step[0] != '\0', !is_pass);
            ck_assert(strncmp(file, name.stem, strlen(name.stem)) == 0);
        }
        arena_finish(&arena);
    }
}
END_TEST

/* What compilers and clients leave beside the dumps. */
static const char *const sidecars[] = {
    "module_0000.small.cpu_after_optimizations-buffer-assignment.txt",
    "module_0000.small.cpu_after_optimizations-buffer-assignment-values.txt",
    "module_0000.small.cpu_after_optimizations-live-range.txt",
    "module_0000.small.cpu_after_optimizations-memory-usage-report.txt",
    "module_0000.small.sm_9.0a_gpu_after_optimizations-memory-usage-report.pb",
    "module_0000.small.sm_9.0a_gpu_after_optimizations-memory-usage-report.pb.gz",
    "module_0000.small.cl_1014260217.after_optimizations-memory-usage-report.pb",
    "module_0000.small.priority_fusion_dump.pb",
    "module_0000.small.thunk_metadata.pb",
    "module_0000.small.thunk_sequence.txt",
    "module_0000.small.thunk_sequence_after_thunk_passes.txt",
    "module_0000.small.cl_1014260217.basic_compiler_metadata.pb",
    "module_0000.small.cl_1014260217.execution_options.pb",
    "module_0000.small.cl_1014260217.hlo_module_config.pb",
    "module_0000.small.cl_1014260217.flagfile",
    "module_0000.small.debug_options",
    "module_0000.small.config.pbtxt",
    "module_0000.small.gpu_target_config.pbtxt",
    "module_0000.small.autotune_results.pbtxt",
    "module_0000.small.ir-no-opt.ll",
    "module_0000.small.ptx",
    "module_0000.small.obj-file.__compute_module_tanh_add_fusion.o",
    "module_0000.small.0013.after_layout_assignment.after_pipeline-start.before_pipeline-end.html",
    "module_0000.small.0013.after_layout_assignment.after_pipeline-start.before_pipeline-end.dot",
    "module_0000.small.cpu_after_optimizations.top_level.html",
    "module_0000.small.before_optimizations.url",
    "before_optimizations.txt",
    "module_.hlo.pb",
    "module_0000",
    "module_0000.",
    "module_0000.txt",
    "module_0000..txt",
    "12.",
    "12",
    "12module_0000.x.before_optimizations.txt",
    "module_99999999999999999999.x.before_optimizations.txt",
    "",
};

START_TEST(test_sidecars)
{
    struct arena arena;
    arena_init(&arena);
    struct dump_name name;
    dump_name_parse(sidecars[_i], &arena, &name);
    ck_assert_msg(name.file == DUMP_FILE_OTHER, "%s is taken for %d", sidecars[_i], name.file);
    arena_finish(&arena);
}
END_TEST

/* --- folders --- */

START_TEST(test_order)
{
    make_root();
    put("module_0000.f.cpu_after_optimizations.txt", "module_0000.f.before_optimizations.txt",
        "module_0000.f.10000.p.after_z.before_pipeline-end.txt",
        "module_0000.f.9999.p.after_y.before_z.txt",
        "module_0000.f.0001.p.after_pipeline-start.before_a.txt",
        "module_0000.f.0002.a.after_something.txt", "module_0000.f.debug_options", "note.txt",
        NULL);
    struct dump dump;
    scan(&dump);
    ck_assert_int_eq(dump.module_count, 1);
    ck_assert_int_eq(dump.skipped_count, 2);
    const struct dump_module *module = &dump.modules[0];
    ck_assert_str_eq(module->name, "f");
    ck_assert_str_eq(module->folder, "");
    ck_assert_str_eq(module->timestamp, "");
    ck_assert_int_eq(module->id, 0);
    expect_steps(module, "module_0000.f.before_optimizations.txt",
                 "module_0000.f.0001.p.after_pipeline-start.before_a.txt",
                 "module_0000.f.0002.a.after_something.txt",
                 "module_0000.f.9999.p.after_y.before_z.txt",
                 "module_0000.f.10000.p.after_z.before_pipeline-end.txt",
                 "module_0000.f.cpu_after_optimizations.txt", NULL);
    for (int i = 0; i < module->step_count; i++) {
        ck_assert_int_eq(module->steps[i].change, DUMP_UNKNOWN);
    }
    dump_finish(&dump);
    remove_root();
}
END_TEST

/* XLA:GPU writes after_spmd_partitioner just before the pipeline "optimization", and
 * before_config_assignment just before "config-assigner". */
START_TEST(test_landmarks)
{
    make_root();
    put("module_0000.f.sm_9.0_gpu_after_optimizations.txt",
        "module_0000.f.before_config_assignment.txt", "module_0000.f.after_spmd_partitioner.txt",
        "module_0000.f.before_optimizations.txt",
        "module_0000.f.0003.optimization.after_pipeline-start.before_x.txt",
        "module_0000.f.0002.host-compute.after_pipeline-start.before_y.txt",
        "module_0000.f.0035.config-assigner.after_pipeline-start.before_z.txt",
        "module_0000.f.0036.config-assigner.after_z.before_pipeline-end.txt",
        "module_0000.f.0034.fusion-wrapper.after_pipeline-start.before_fusion-wrapper.txt", NULL);
    struct dump dump;
    scan(&dump);
    expect_steps(&dump.modules[0], "module_0000.f.before_optimizations.txt",
                 "module_0000.f.0002.host-compute.after_pipeline-start.before_y.txt",
                 "module_0000.f.after_spmd_partitioner.txt",
                 "module_0000.f.0003.optimization.after_pipeline-start.before_x.txt",
                 "module_0000.f.0034.fusion-wrapper.after_pipeline-start.before_fusion-wrapper.txt",
                 "module_0000.f.before_config_assignment.txt",
                 "module_0000.f.0035.config-assigner.after_pipeline-start.before_z.txt",
                 "module_0000.f.0036.config-assigner.after_z.before_pipeline-end.txt",
                 "module_0000.f.sm_9.0_gpu_after_optimizations.txt", NULL);
    dump_finish(&dump);
    remove_root();
}
END_TEST

/* The order in which libtpu wrote them. */
START_TEST(test_tpu_order)
{
    make_root();
    put("module_0000.f.cl_7.after_codegen.txt", "module_0000.f.cl_7.after_optimizations.txt",
        "module_0000.f.cl_7.after_optimizations_after_buffer_assignment.txt",
        "module_0000.f.cl_7.after_optimizations_before_buffer_assignment.txt",
        "module_0000.f.cl_7.before_optimizations.txt",
        "module_0000.f.cl_7.0000.p.after_a.before_b.txt", NULL);
    struct dump dump;
    scan(&dump);
    ck_assert_int_eq(dump.module_count, 1);
    ck_assert_str_eq(dump.modules[0].name, "f");
    expect_steps(&dump.modules[0], "module_0000.f.cl_7.before_optimizations.txt",
                 "module_0000.f.cl_7.0000.p.after_a.before_b.txt",
                 "module_0000.f.cl_7.after_optimizations_before_buffer_assignment.txt",
                 "module_0000.f.cl_7.after_optimizations.txt",
                 "module_0000.f.cl_7.after_optimizations_after_buffer_assignment.txt",
                 "module_0000.f.cl_7.after_codegen.txt", NULL);
    dump_finish(&dump);
    remove_root();
}
END_TEST

/* A landmark of no known place stands where its time puts it, unless times tell nothing. */
START_TEST(test_times)
{
    static const char *const in_time[] = {
        "module_0000.f.before_optimizations.txt", "module_0000.f.0000.p.after_a.before_b.txt",
        "module_0000.f.after_mystery.txt", "module_0000.f.0001.p.after_b.before_c.txt",
        "module_0000.f.cpu_after_optimizations.txt"};
    make_root();
    for (int i = 0; i < 5; i++) {
        put(in_time[i], NULL);
        set_time(in_time[i], 1000 + i);
    }
    struct dump dump;
    scan(&dump);
    expect_steps(&dump.modules[0], in_time[0], in_time[1], in_time[2], in_time[3], in_time[4],
                 NULL);
    dump_finish(&dump);
    /* Unpacked from an archive, in the order of names: before_optimizations is late. */
    set_time(in_time[0], 2000);
    scan(&dump);
    expect_steps(&dump.modules[0], in_time[0], in_time[1], in_time[3], in_time[2], in_time[4],
                 NULL);
    dump_finish(&dump);
    remove_root();
}
END_TEST

/* --xla_dump_hlo_to_subfolder, --xla_dump_include_timestamp, and several modules. */
START_TEST(test_modules)
{
    make_root();
    put_folder("jit_f");
    put_folder("jit_f/host_12");
    put_folder("jit_f/host_13");
    put("jit_f/host_12/module_0001.jit_f.before_optimizations.txt",
        "jit_f/host_13/module_0001.jit_f.before_optimizations.txt",
        "999.module_0004.g.before_optimizations.txt", "1000.module_0004.g.before_optimizations.txt",
        "1000.module_0004.g.cpu_after_optimizations.txt",
        "1000.module_0003.h.before_optimizations.txt", "module_0010.b.before_optimizations.txt",
        "module_0002.b.before_optimizations.txt", "module_0002.a.before_optimizations.txt", NULL);
    struct dump dump;
    scan(&dump);
    static const struct {
        const char *folder, *timestamp, *name;
        int64_t id;
        int steps;
    } expected[] = {
        {"", "", "a", 2, 1},
        {"", "", "b", 2, 1},
        {"", "", "b", 10, 1},
        {"", "999", "g", 4, 1},
        {"", "1000", "h", 3, 1},
        {"", "1000", "g", 4, 2},
        {"jit_f/host_12", "", "jit_f", 1, 1},
        {"jit_f/host_13", "", "jit_f", 1, 1},
    };
    ck_assert_int_eq(dump.module_count, 8);
    for (int i = 0; i < 8; i++) {
        const struct dump_module *module = &dump.modules[i];
        ck_assert_str_eq(module->folder, expected[i].folder);
        ck_assert_str_eq(module->timestamp, expected[i].timestamp);
        ck_assert_str_eq(module->name, expected[i].name);
        ck_assert_int_eq(module->id, expected[i].id);
        ck_assert_int_eq(module->step_count, expected[i].steps);
        struct error err = {0};
        struct module *loaded = dump_load(&module->steps[0], &err);
        ck_assert_msg(loaded != NULL, "%s", err.message);
        module_destroy(loaded);
    }
    dump_finish(&dump);
    remove_root();
}
END_TEST

/* A name that was left out of one file is that of the others, if they agree. */
START_TEST(test_left_out_names)
{
    make_root();
    put("module_0001.long.before_optimizations.txt", "module_0001.0000.p.after_a.before_b.txt",
        "module_0001.long.cpu_after_optimizations.txt", "module_0002.x.before_optimizations.txt",
        "module_0002.y.before_optimizations.txt", "module_0002.0000.p.after_a.before_b.txt", NULL);
    struct dump dump;
    scan(&dump);
    ck_assert_int_eq(dump.module_count, 4);
    ck_assert_str_eq(dump.modules[0].name, "long");
    ck_assert_int_eq(dump.modules[0].step_count, 3);
    ck_assert_str_eq(dump.modules[1].name, "");
    ck_assert_str_eq(dump.modules[2].name, "x");
    ck_assert_str_eq(dump.modules[3].name, "y");
    dump_finish(&dump);
    remove_root();
}
END_TEST

static void put_proto(const char *name, bool packed)
{
    struct error err = {0};
    struct module *module = text_read_module(module_text, strlen(module_text), "m", 1, &err);
    ck_assert_ptr_nonnull(module);
    size_t size = 0;
    void *data = proto_write_module(module, PROTO_HLO, &size, &err);
    ck_assert_msg(data != NULL, "%s", err.message);
    if (packed) {
        gzFile file = gzopen(path_of(name), "wb");
        ck_assert_int_eq(gzwrite(file, data, (unsigned)size), (int)size);
        gzclose(file);
    } else {
        put_data(name, data, size);
    }
    free(data);
    module_destroy(module);
}

/* One dump in several formats is one step, of the best of them. */
START_TEST(test_formats)
{
    make_root();
    put("module_0000.f.before_optimizations.txt", "module_0000.f.0000.p.after_a.before_b.txt",
        "module_0000.f.0001.p.after_b.before_c.txt",
        "module_0000.f.0001.p.after_b.before_c.riegeli",
        "module_0000.f.0002.p.after_c.before_d.riegeli", NULL);
    put_proto("module_0000.f.before_optimizations.hlo.pb", false);
    put_proto("module_0000.f.0000.p.after_a.before_b.hlo.pb.gz", true);
    put_data("module_0000.f.0003.p.after_d.before_e.txt", "HloModule ?", 11);
    put_data("module_0000.f.0004.p.after_e.before_f.hlo.pb", "", 0);
    struct dump dump;
    scan(&dump);
    ck_assert_int_eq(dump.module_count, 1);
    const struct dump_module *module = &dump.modules[0];
    expect_steps(module, "module_0000.f.before_optimizations.hlo.pb",
                 "module_0000.f.0000.p.after_a.before_b.hlo.pb.gz",
                 "module_0000.f.0001.p.after_b.before_c.txt",
                 "module_0000.f.0002.p.after_c.before_d.riegeli",
                 "module_0000.f.0003.p.after_d.before_e.txt",
                 "module_0000.f.0004.p.after_e.before_f.hlo.pb", NULL);
    for (int i = 0; i < module->step_count; i++) {
        struct error err = {0};
        struct module *loaded = dump_load(&module->steps[i], &err);
        ck_assert_int_eq(loaded != NULL, i < 3);
        if (loaded != NULL) {
            ck_assert_str_eq(loaded->name, "jit_f");
            ck_assert_int_eq(loaded->entry->count, 2);
            ck_assert_int_eq(loaded->entry->root->opcode, OP_ADD);
        } else {
            ck_assert_int_eq(err.code, i == 3 ? ERROR_UNIMPLEMENTED : ERROR_INVALID_ARGUMENT);
            ck_assert_msg(i != 3 || strstr(err.message, "Riegeli") != NULL, "%s", err.message);
        }
        module_destroy(loaded);
    }
    dump_finish(&dump);
    remove_root();
}
END_TEST

START_TEST(test_snapshots)
{
    make_root();
    put("module_0000.f.before_optimizations.txt", "module_0001.g.before_optimizations.txt",
        "1234.module_0000.f.execution_0001.hlo_snapshot.pb",
        "1234.module_0000.f.execution_0000.hlo_snapshot.pb",
        "module_0000.f.execution_0000.hlo_unoptimized_snapshot.txt",
        "module_0000.f.before_snapshot.77.pb", "module_0000.f.snapshot.78.pb",
        "module_g.execution_0000.hlo_snapshot.pb", "module_other.execution_0000.hlo_snapshot.pb",
        NULL);
    struct dump dump;
    scan(&dump);
    ck_assert_int_eq(dump.module_count, 2);
    ck_assert_int_eq(dump.modules[0].step_count, 1);
    ck_assert_int_eq(dump.modules[0].snapshot_count, 5);
    ck_assert_int_eq(dump.modules[1].snapshot_count, 1);
    ck_assert_str_eq(dump.modules[1].snapshots[0],
                     path_of("module_g.execution_0000.hlo_snapshot.pb"));
    ck_assert_str_eq(dump.modules[0].snapshots[0], path_of("module_0000.f.before_snapshot.77.pb"));
    ck_assert_int_eq(dump.skipped_count, 1);
    dump_finish(&dump);
    remove_root();
}
END_TEST

/* Text of HloModuleMetadataProto as protobuf prints it. Names come whole, blanks and all, and the
 * record tells whether a pass changed the module. A nested pipeline's first dump is recorded under
 * the pass that the pipeline is in the outer one. */
static const char metadata[] =
    "canonical_module_id: 7\n"
    "module_group_name: \"a } b\"\n"
    "pass_metadata {\n"
    "  pass_id: 1\n"
    "  pass_name: \"a pass [x]\"\n"
    "  pipeline_name: \"the pipeline\"\n"
    "  dump_filenames: "
    "\"/else/where/module_0007.f.0001.the_pipeline.after_a_pass__x_.before_b.txt\"\n"
    "  module_changed: true\n"
    "  module_id: 7\n"
    "  custom_metadata {\n"
    "    type_url: \"x\" # a comment }\n"
    "    value: \"\\\"}\"\n"
    "  }\n"
    "}\n"
    "pass_metadata {\n"
    "  pass_id: 2\n"
    "  pass_name: \"b\"\n"
    "  pipeline_name: \"the pipeline\"\n"
    "  dump_filenames: \"/else/where/module_0007.f.0002.b.after_pipeline-start.before_c.txt\"\n"
    "  dump_filenames: \"/else/where/module_0007.f.0003.the_pipeline.after_b.before_d.txt\"\n"
    "}\n";

START_TEST(test_metadata)
{
    make_root();
    put("module_0007.f.0001.the_pipeline.after_a_pass__x_.before_b.txt",
        "module_0007.f.0002.b.after_pipeline-start.before_c.txt",
        "module_0007.f.0003.the_pipeline.after_b.before_d.txt",
        "module_0008.f.0001.the_pipeline.after_a_pass__x_.before_b.txt", NULL);
    put_data("module_0007.metadata.textproto", metadata, strlen(metadata));
    struct dump dump;
    scan(&dump);
    ck_assert_int_eq(dump.module_count, 2);
    const struct dump_step *steps = dump.modules[0].steps;
    ck_assert_str_eq(steps[0].pass, "a pass [x]");
    ck_assert_str_eq(steps[0].pipeline, "the pipeline");
    ck_assert_int_eq(steps[0].change, DUMP_CHANGED);
    ck_assert_str_eq(steps[1].pass, "pipeline-start");
    ck_assert_str_eq(steps[1].pipeline, "b");
    ck_assert_int_eq(steps[1].change, DUMP_UNKNOWN);
    ck_assert_str_eq(steps[2].pass, "b");
    ck_assert_str_eq(steps[2].pipeline, "the pipeline");
    ck_assert_int_eq(steps[2].change, DUMP_UNCHANGED);
    ck_assert_str_eq(dump.modules[1].steps[0].pass, "a_pass__x_");
    dump_finish(&dump);
    /* However it is cut, nothing worse than missing records. */
    for (size_t size = 0; size < strlen(metadata); size++) {
        put_data("module_0007.metadata.textproto", metadata, size);
        scan(&dump);
        ck_assert_int_eq(dump.modules[0].step_count, 3);
        dump_finish(&dump);
    }
    remove_root();
}
END_TEST

START_TEST(test_failures)
{
    struct dump dump;
    struct error err = {0};
    make_root();
    ck_assert(!dump_scan(path_of("absent"), &dump, &err));
    ck_assert_int_eq(err.code, ERROR_NOT_FOUND);
    /* Nothing there, or nothing of use: what to set is told. */
    for (int i = 0; i < 2; i++) {
        error_clear(&err);
        ck_assert(!dump_scan(root, &dump, &err));
        ck_assert_int_eq(err.code, ERROR_NOT_FOUND);
        ck_assert_msg(strstr(err.message, "--xla_dump_to=") != NULL, "%s", err.message);
        ck_assert_msg(strstr(err.message, "--xla_dump_hlo_pass_re=.*") != NULL, "%s", err.message);
        put("module_0000.f.debug_options", NULL);
    }
    error_clear(&err);
    ck_assert(!dump_scan(path_of("module_0000.f.debug_options"), &dump, &err));
    ck_assert_int_eq(err.code, ERROR_INVALID_ARGUMENT);
    /* A file that vanishes after the scan. */
    error_clear(&err);
    put("module_0000.f.before_optimizations.txt", NULL);
    scan(&dump);
    unlink(path_of("module_0000.f.before_optimizations.txt"));
    ck_assert_ptr_null(dump_load(&dump.modules[0].steps[0], &err));
    ck_assert_int_eq(err.code, ERROR_NOT_FOUND);
    dump_finish(&dump);
    /* A folder that may not be read (unless one may read everything). */
    if (geteuid() != 0) {
        error_clear(&err);
        chmod(root, 0);
        ck_assert(!dump_scan(root, &dump, &err));
        ck_assert_msg(strstr(err.message, "cannot read") != NULL, "%s", err.message);
    }
    remove_root();
}
END_TEST

/* Links are followed, also in circles; one that leads nowhere is no dump, nor is a pipe. */
START_TEST(test_links)
{
    make_root();
    put_folder("real");
    put("real/module_0000.f.before_optimizations.txt", NULL);
    char target[128];
    snprintf(target, sizeof target, "%s/real/module_0000.f.before_optimizations.txt", root);
    ck_assert_int_eq(symlink(target, path_of("module_0001.f.before_optimizations.txt")), 0);
    ck_assert_int_eq(symlink("nowhere", path_of("module_0002.f.before_optimizations.txt")), 0);
    ck_assert_int_eq(symlink(root, path_of("real/up")), 0);
    ck_assert_int_eq(mkfifo(path_of("module_0003.f.before_optimizations.txt"), 0600), 0);
    struct dump dump;
    scan(&dump);
    ck_assert_int_eq(dump.module_count, 2);
    ck_assert_int_eq(dump.modules[0].id, 1);
    ck_assert_str_eq(dump.modules[1].folder, "real");
    ck_assert_int_eq(dump.skipped_count, 2);
    struct error err = {0};
    struct module *module = dump_load(&dump.modules[0].steps[0], &err);
    ck_assert_msg(module != NULL, "%s", err.message);
    module_destroy(module);
    dump_finish(&dump);
    remove_root();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dump");
    TCase *tests = tcase_create("dump");
    tcase_add_loop_test(tests, test_names, 0, (int)(sizeof names / sizeof *names));
    tcase_add_loop_test(tests, test_damaged_names, 0, (int)(sizeof names / sizeof *names));
    tcase_add_loop_test(tests, test_sidecars, 0, (int)(sizeof sidecars / sizeof *sidecars));
    tcase_add_test(tests, test_order);
    tcase_add_test(tests, test_landmarks);
    tcase_add_test(tests, test_tpu_order);
    tcase_add_test(tests, test_times);
    tcase_add_test(tests, test_modules);
    tcase_add_test(tests, test_left_out_names);
    tcase_add_test(tests, test_formats);
    tcase_add_test(tests, test_snapshots);
    tcase_add_test(tests, test_metadata);
    tcase_add_test(tests, test_failures);
    tcase_add_test(tests, test_links);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
