/* Damaged MLIR through the translation to HLO. Files are read, then damaged in memory, so that
 * nothing is refused by the reader: attributes go, become others' or get hostile numbers, operands,
 * types, regions and ops are exchanged or dropped. Each function must be translated, and the module
 * verified, or refused with a message, in less than a second. REFEREE_MUTATIONS sets how many (2000
 * by default), REFEREE_SEED the seed, which is printed first. Texts are our fixtures, and small
 * files of the public corpus (../shared/corpus-data, or below REFEREE_SHARED) where it is there. */
#include "hlo/base/error.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/verify.h"
#include "tests/damage.h"

/* --- what is there to damage --- */

enum { LIST_MAX = 20000 };

static struct mlir_op *ops[LIST_MAX];
static struct mlir_value *values[LIST_MAX];
static int op_count, value_count;

static void collect(struct mlir_op *op)
{
    if (op_count < LIST_MAX) {
        ops[op_count++] = op;
    }
    for (int i = 0; i < op->result_count && value_count < LIST_MAX; i++) {
        values[value_count++] = &op->results[i];
    }
    for (int r = 0; r < op->region_count; r++) {
        for (int b = 0; b < op->regions[r].count; b++) {
            struct mlir_block *block = op->regions[r].blocks[b];
            for (int i = 0; i < block->argument_count && value_count < LIST_MAX; i++) {
                values[value_count++] = &block->arguments[i];
            }
            for (int i = 0; i < block->count; i++) {
                collect(block->ops[i]);
            }
        }
    }
}

static struct mlir_op *any_op(struct rng *rng)
{
    return ops[rng_below(rng, (uint64_t)op_count)];
}

/* Attributes are shared by what the reader made once: they are copied before they are changed. */
static void damage_numbers(struct mlir_file *file, struct rng *rng, struct mlir_named *entry)
{
    static const int64_t hostile[] = {
        -1, 0,       1,         2,         3,         63,        64,
        65, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN, INT32_MIN, INT64_MAX / 8};
    int64_t number = hostile[rng_below(rng, sizeof hostile / sizeof *hostile)];
    struct mlir_attr *copy = arena_copy(&file->arena, entry->value, sizeof *copy);
    entry->value = copy;
    if (copy->kind == MLIR_ATTR_INT || copy->kind == MLIR_ATTR_BOOL) {
        copy->integer = number;
    } else if (copy->kind == MLIR_ATTR_INTS && copy->ints.count > 0) {
        size_t bytes = (size_t)copy->ints.count * sizeof(int64_t);
        int64_t *list = arena_copy(&file->arena, copy->ints.values, bytes);
        copy->ints.values = list;
        list[rng_below(rng, (uint64_t)copy->ints.count)] = number;
        copy->ints.count -= (int)rng_below(rng, 2);
    } else if (copy->kind == MLIR_ATTR_DIALECT && copy->dialect.parameters.count > 0) {
        struct mlir_dictionary *dictionary = &copy->dialect.parameters;
        size_t bytes = (size_t)dictionary->count * sizeof *dictionary->entries;
        dictionary->entries = arena_copy(&file->arena, dictionary->entries, bytes);
        uint64_t at = rng_below(rng, (uint64_t)dictionary->count);
        damage_numbers(file, rng, &dictionary->entries[at]);
    }
}

static void damage_attrs(struct mlir_file *file, struct rng *rng, struct mlir_op *op)
{
    if (op->attrs.count == 0) {
        return;
    }
    uint64_t at = rng_below(rng, (uint64_t)op->attrs.count);
    struct mlir_op *other = any_op(rng);
    switch (rng_below(rng, 4)) {
    case 0:
        memmove(op->attrs.entries + at, op->attrs.entries + at + 1,
                ((size_t)op->attrs.count - at - 1) * sizeof *op->attrs.entries);
        op->attrs.count--;
        break;
    case 1:
        if (other->attrs.count > 0) {
            op->attrs.entries[at].value =
                other->attrs.entries[rng_below(rng, (uint64_t)other->attrs.count)].value;
        }
        break;
    default:
        damage_numbers(file, rng, &op->attrs.entries[at]);
        break;
    }
}

static void damage_op(struct mlir_file *file, struct rng *rng)
{
    struct mlir_op *op = any_op(rng);
    struct mlir_value *value = values[rng_below(rng, (uint64_t)value_count)];
    switch (rng_below(rng, 9)) {
    case 0: /* another operand */
        if (op->operand_count > 0) {
            op->operands[rng_below(rng, (uint64_t)op->operand_count)] = value;
        }
        break;
    case 1: /* an operand less */
        op->operand_count -= op->operand_count > 0;
        break;
    case 2: /* another type */
        value->type = values[rng_below(rng, (uint64_t)value_count)]->type;
        break;
    case 3: { /* another op */
        const struct mlir_op *other = any_op(rng);
        op->opcode = other->opcode;
        op->name = other->name;
        break;
    }
    case 4: /* a region less */
        op->region_count -= op->region_count > 0;
        break;
    case 5: /* an op less */
        if (op->block != NULL && op->block->count > 0) {
            uint64_t at = rng_below(rng, (uint64_t)op->block->count);
            memmove(op->block->ops + at, op->block->ops + at + 1,
                    ((size_t)op->block->count - at - 1) * sizeof *op->block->ops);
            op->block->count--;
        }
        break;
    default:
        damage_attrs(file, rng, op);
        break;
    }
}

/* --- the translation --- */

static int translated, refused;

static void translate(struct mlir_file *file, const char *name, const char *path, long number)
{
    struct mlir_import_options options = {.entry = name, .checks = MLIR_CHECKS_KEEP};
    struct error err = {0};
    double start = damage_seconds();
    struct module *module = mlir_import(file, &options, &err);
    if (module != NULL) {
        struct findings findings;
        verify_module(module, &findings);
        findings_finish(&findings);
        translated++;
    } else {
        ck_assert_msg(err.code != ERROR_NONE && err.message[0] != '\0',
                      "mutation %ld of %s: refused without a message", number, path);
        refused++;
    }
    module_destroy(module);
    double took = damage_seconds() - start;
    ck_assert_msg(took < 1.0, "mutation %ld of %s takes %.1f s", number, path, took);
}

/* The first part of a text that is split by lines of dashes. */
static size_t first_part(const char *data, size_t size)
{
    const char *line = strstr(data, "\n// -----");
    return line != NULL && (size_t)(line - data) < size ? (size_t)(line - data) : size;
}

static void mutate(const struct damage_text *text, struct rng *rng, long number)
{
    struct error err = {0};
    size_t size = first_part(text->data, text->size);
    char *data = memory_alloc(size + 1);
    memcpy(data, text->data, size);
    data[size] = '\0';
    struct mlir_file *file = mlir_parse(data, size, text->path, 1, &err);
    free(data);
    if (file == NULL) { /* a fixture that holds what is wrong */
        return;
    }
    op_count = value_count = 0;
    collect(file->module);
    for (uint64_t i = 1 + rng_below(rng, 4); i > 0 && value_count > 0; i--) {
        damage_op(file, rng);
    }
    for (int i = 0; i < op_count; i++) {
        const struct mlir_attr *name = mlir_op_attr(ops[i], "sym_name");
        if (ops[i]->opcode == MLIR_OP_FUNC && name != NULL && name->kind == MLIR_ATTR_STRING) {
            translate(file, name->string.data, text->path, number);
        }
    }
    mlir_file_destroy(file);
}

START_TEST(mutations)
{
    uint64_t count = damage_count();
    printf("seed %llu, %llu mutations\n", (unsigned long long)environment_number("REFEREE_SEED", 1),
           (unsigned long long)count);
    struct damage_texts texts = {0};
    damage_collect_source_files(&texts, "tests/hlo/mlir/fixtures", ".mlir");
    damage_collect_public(&texts, "stablehlo/interpret", ".mlir");
    for (uint64_t number = 0; number < count; number++) {
        struct rng rng;
        damage_rng(&rng, number);
        mutate(&texts.list[rng_below(&rng, (uint64_t)texts.count)], &rng, (long)number);
    }
    printf("%d texts; %d functions translated, %d refused\n", texts.count, translated, refused);
    ck_assert_msg(count < 1000 || (translated > 0 && refused > 0), "all or none were translated");
    damage_texts_finish(&texts);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_import_mutations");
    TCase *mutation_case = tcase_create("mutations");
    tcase_set_timeout(mutation_case, 900);
    tcase_add_test(mutation_case, mutations);
    suite_add_tcase(suite, mutation_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
