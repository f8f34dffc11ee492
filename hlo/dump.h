/* Dump folders of XLA: which modules were compiled, and in which order their files were written.
 *
 * A compiler with --xla_dump_to leaves a file for the module before and after the pipeline and one
 * for each pass (all passes, or those that changed it), named
 *   [TIMESTAMP.]module_NNNN.NAME.SUFFIX.{txt,hlo.pb,hlo.pb.gz,riegeli}
 * among many that hold no module. Sources: xla/service/dump.cc, xla/hlo/pass/hlo_pass_pipeline.cc.
 */
#ifndef HLO_DUMP_H
#define HLO_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/base/arena.h"

struct error;
struct module;

enum dump_kind {
    DUMP_BEFORE,      /* before_optimizations */
    DUMP_PASS,        /* NNNN.PIPELINE.after_PASS.before_NEXT */
    DUMP_INSIDE_PASS, /* NNNN.PASS.STEP */
    DUMP_LANDMARK,    /* after_spmd_partitioner, before_config_assignment, … between passes */
    DUMP_AFTER,       /* after_optimizations and what follows it */
};

enum dump_change { DUMP_UNKNOWN, DUMP_UNCHANGED, DUMP_CHANGED };

struct dump_step {
    char *path, *file; /* file: the name alone */
    enum dump_kind kind;
    int64_t number;               /* of the file name's counter; −1 where it has none */
    char *pipeline, *pass, *next; /* "" where the name does not tell */
    char *step;                   /* STEP inside a pass, or the landmark's whole name; else "" */
    /* Did the pass say that it changed the module? Only module_NNNN.metadata.textproto tells. */
    enum dump_change change;
};

struct dump_module {
    int64_t id;      /* module_NNNN */
    char *name;      /* as far as file names tell */
    char *timestamp; /* "" if none */
    char *folder;    /* below the one scanned; "" if directly in it */
    int step_count;  /* at least 1 */
    /* In the order in which the compiler wrote them. A dump that is there in several formats is
     * one step: of protos (complete) rather than text (which may leave out large constants). */
    struct dump_step *steps;
    int snapshot_count;
    char **snapshots; /* paths of the HloSnapshot files with arguments, sorted */
};

struct dump {
    int module_count;
    struct dump_module *modules; /* by folder, timestamp, id and name */
    int skipped_count;           /* files that hold no module of a step */
    struct arena arena;          /* owns everything above */
};

/* Looks through the folder and those below it; links are followed. False when it cannot be read or
 * holds no module dump at all (NOT_FOUND says what to set to get one); then there is nothing to
 * finish. */
bool dump_scan(const char *folder, struct dump *dump, struct error *err);
void dump_finish(struct dump *dump);
/* Reads the module of a step; the caller's. NULL with *err when the file is gone, malformed, or of
 * a format that cannot be read (UNIMPLEMENTED: riegeli). Partition and replica counts are those of
 * the file: protos do not say them. */
struct module *dump_load(const struct dump_step *step, struct error *err);

#endif
