/* The names of the files in a dump folder, taken apart; and the record of passes beside them. */
#ifndef HLO_DUMP_NAME_H
#define HLO_DUMP_NAME_H

#include "hlo/base/map.h"
#include "hlo/dump.h"

enum dump_file {
    DUMP_FILE_OTHER,
    DUMP_FILE_MODULE,
    DUMP_FILE_SNAPSHOT,
    DUMP_FILE_METADATA, /* module_NNNN.metadata.textproto */
};

/* All strings live in the arena. */
struct dump_name {
    enum dump_file file;
    int64_t id; /* −1: a snapshot that names its module only */
    char *timestamp, *name;
    char *stem;     /* without the extension: equal for one dump in several formats */
    int preference; /* among the formats of one stem; more is better */
    enum dump_kind kind;
    int64_t number;
    char *pipeline, *pass, *next, *step;
};

void dump_name_parse(const char *file, struct arena *arena, struct dump_name *name);
/* The file name without what tells its format. */
char *dump_name_stem(const char *file, struct arena *arena);
/* Where a landmark belongs among the dumps that carry a number: before the first one of this
 * pipeline; NULL when that is not known. */
const char *dump_landmark_pipeline(const char *landmark);
/* The place of a landmark of kind DUMP_AFTER among its like. */
int dump_after_rank(const char *landmark);
/* Can the file be what XLA makes of the name of a pass or pipeline? */
bool dump_name_fits(const char *file_part, const char *name);

/* What HloModuleMetadataProto says of one file. */
struct dump_record {
    const char *pass, *pipeline;
    bool changed;
};
/* Reads the text of the proto; records: stem of a file → struct dump_record, all in the arena.
 * What cannot be understood is passed over. Source: xla/service/hlo.proto. */
void dump_metadata_parse(const char *text, size_t size, struct arena *arena, struct map *records);

#endif
