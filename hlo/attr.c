/* The attribute table, reading an instruction's list, equality and hash of each kind. */
#include "hlo/attr.h"

#include <pthread.h>
#include <string.h>

#include "hlo/base/map.h"
#include "hlo/literal.h"
#include "hlo/module.h"

const struct attr_info attr_table[ATTR_COUNT] = {
#define ATTR(id, text, kind, common) [ATTR_##id] = {text, ATTR_KIND_##kind, common},
#include "hlo/attrs.def"
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct map by_text;

static void build(void)
{
    map_init(&by_text);
    for (int key = 0; key < ATTR_COUNT; key++) {
        const char *text = attr_table[key].text;
        map_put(&by_text, text, strlen(text), (void *)&attr_table[key]);
    }
}

enum attr_key attr_from_text(const char *text, size_t size)
{
    pthread_once(&once, build);
    const struct attr_info *info = map_get(&by_text, text, size);
    return info != NULL ? (enum attr_key)(info - attr_table) : ATTR_COUNT;
}

static const struct {
    enum attr_kind kind;
    int64_t value;
    const char *text;
} words[] = {
#define WORD(kind, value, text) {ATTR_KIND_##kind, value, text},
#include "hlo/attr_enums.def"
};

const char *attr_enum_text(enum attr_kind kind, int64_t value)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].kind == kind && words[i].value == value) {
            return words[i].text;
        }
    }
    return NULL;
}

int64_t attr_enum_value(enum attr_kind kind, const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].kind == kind && strlen(words[i].text) == size &&
            memcmp(words[i].text, text, size) == 0) {
            return words[i].value;
        }
    }
    return -1;
}

/* --- reading --- */

const struct attr *attr_get(const struct instruction *instruction, enum attr_key key)
{
    for (int i = 0; i < instruction->attr_count; i++) {
        if (instruction->attrs[i].key >= key) {
            return instruction->attrs[i].key == key ? &instruction->attrs[i] : NULL;
        }
    }
    return NULL;
}

int64_t attr_int(const struct instruction *instruction, enum attr_key key, int64_t otherwise)
{
    const struct attr *attr = attr_get(instruction, key);
    return attr != NULL ? attr->integer : otherwise;
}

bool attr_bool(const struct instruction *instruction, enum attr_key key, bool otherwise)
{
    return attr_int(instruction, key, otherwise) != 0;
}

double attr_float(const struct instruction *instruction, enum attr_key key, double otherwise)
{
    const struct attr *attr = attr_get(instruction, key);
    return attr != NULL ? attr->real : otherwise;
}

const char *attr_string(const struct instruction *instruction, enum attr_key key)
{
    const struct attr *attr = attr_get(instruction, key);
    return attr != NULL ? attr->bytes.data : "";
}

struct ints attr_ints(const struct instruction *instruction, enum attr_key key)
{
    const struct attr *attr = attr_get(instruction, key);
    if (attr == NULL) {
        return (struct ints){0, NULL};
    }
    if (attr_table[key].kind == ATTR_KIND_INTS_OR_LISTS) {
        return attr->lists.count > 0 ? attr->lists.lists[0] : (struct ints){0, NULL};
    }
    return attr->ints;
}

const struct bytes *attr_frontend(const struct instruction *instruction, const char *key)
{
    const struct attr *attr = attr_get(instruction, ATTR_FRONTEND_ATTRIBUTES);
    for (int i = 0; attr != NULL && i < attr->string_map.count; i++) {
        const struct string_entry *entry = &attr->string_map.entries[i];
        if (strcmp(entry->key.data, key) == 0) {
            return &entry->value;
        }
    }
    return NULL;
}

struct slices attr_slices(const struct instruction *instruction)
{
    const struct attr *attr = attr_get(instruction, ATTR_SLICE);
    return attr != NULL ? attr->slices : (struct slices){0, NULL};
}

struct window attr_window(const struct instruction *instruction)
{
    const struct attr *attr = attr_get(instruction, ATTR_WINDOW);
    return attr != NULL ? attr->window : (struct window){0, NULL};
}

struct padding attr_padding(const struct instruction *instruction)
{
    const struct attr *attr = attr_get(instruction, ATTR_PADDING);
    return attr != NULL ? attr->padding : (struct padding){0, NULL};
}

const struct dim_labels *attr_dim_labels(const struct instruction *instruction)
{
    const struct attr *attr = attr_get(instruction, ATTR_DIM_LABELS);
    return attr != NULL ? attr->dim_labels : NULL;
}

const struct sharding *attr_sharding(const struct instruction *instruction)
{
    const struct attr *attr = attr_get(instruction, ATTR_SHARDING);
    return attr != NULL ? attr->sharding : NULL;
}

const struct groups *attr_groups(const struct instruction *instruction)
{
    const struct attr *attr = attr_get(instruction, ATTR_REPLICA_GROUPS);
    return attr != NULL ? attr->groups : NULL;
}

/* --- equality --- */

bool ints_equal(struct ints a, struct ints b)
{
    return a.count == b.count &&
           (a.count == 0 || memcmp(a.values, b.values, (size_t)a.count * sizeof(int64_t)) == 0);
}

static bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool string_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool values_equal(const int64_t *a, const int64_t *b, int count)
{
    return count == 0 || memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static bool lists_equal(struct lists a, struct lists b)
{
    if (a.count != b.count) {
        return false;
    }
    for (int i = 0; i < a.count; i++) {
        if (!ints_equal(a.lists[i], b.lists[i])) {
            return false;
        }
    }
    return true;
}

static bool window_equal(struct window a, struct window b)
{
    if (a.rank != b.rank) {
        return false;
    }
    for (int i = 0; i < a.rank; i++) {
        const struct window_dimension *x = &a.dimensions[i], *y = &b.dimensions[i];
        if (x->size != y->size || x->stride != y->stride || x->padding_low != y->padding_low ||
            x->padding_high != y->padding_high || x->window_dilation != y->window_dilation ||
            x->base_dilation != y->base_dilation || x->reversal != y->reversal) {
            return false;
        }
    }
    return true;
}

static bool dim_labels_equal(const struct dim_labels *a, const struct dim_labels *b)
{
    return a->spatial_rank == b->spatial_rank && a->input_batch == b->input_batch &&
           a->input_feature == b->input_feature &&
           a->kernel_input_feature == b->kernel_input_feature &&
           a->kernel_output_feature == b->kernel_output_feature &&
           a->output_batch == b->output_batch && a->output_feature == b->output_feature &&
           values_equal(a->input_spatial, b->input_spatial, a->spatial_rank) &&
           values_equal(a->kernel_spatial, b->kernel_spatial, a->spatial_rank) &&
           values_equal(a->output_spatial, b->output_spatial, a->spatial_rank);
}

static bool mesh_equal(const struct mesh *a, const struct mesh *b)
{
    if (a->axis_count != b->axis_count || a->maximal_device != b->maximal_device ||
        !ints_equal(a->device_ids, b->device_ids) ||
        !ints_equal(a->reshape_dims, b->reshape_dims) ||
        !ints_equal(a->transpose_perm, b->transpose_perm)) {
        return false;
    }
    for (int i = 0; i < a->axis_count; i++) {
        if (!string_equal(a->axes[i].name, b->axes[i].name) || a->axes[i].size != b->axes[i].size) {
            return false;
        }
    }
    return true;
}

static bool axis_refs_equal(struct axis_refs a, struct axis_refs b)
{
    if (a.count != b.count) {
        return false;
    }
    for (int i = 0; i < a.count; i++) {
        if (a.axes[i].axis != b.axes[i].axis || a.axes[i].pre != b.axes[i].pre ||
            a.axes[i].size != b.axes[i].size) {
            return false;
        }
    }
    return true;
}

static bool groups_equal(const struct groups *a, const struct groups *b)
{
    return a->form == b->form && lists_equal(a->list, b->list) &&
           a->group_count == b->group_count && a->group_size == b->group_size &&
           ints_equal(a->reshape_dims, b->reshape_dims) &&
           ints_equal(a->transpose_perm, b->transpose_perm) && mesh_equal(&a->mesh, &b->mesh) &&
           axis_refs_equal(a->axes, b->axes);
}

static bool metadata_equal(const struct metadata *a, const struct metadata *b)
{
    return string_equal(a->op_type, b->op_type) && string_equal(a->op_name, b->op_name) &&
           string_equal(a->source_file, b->source_file) &&
           string_equal(a->deduplicated_name, b->deduplicated_name) &&
           string_equal(a->scheduling_name, b->scheduling_name) &&
           a->source_line == b->source_line && a->source_end_line == b->source_end_line &&
           a->source_column == b->source_column && a->source_end_column == b->source_end_column &&
           a->stack_frame_id == b->stack_frame_id &&
           a->size_of_generated_code == b->size_of_generated_code &&
           a->size_of_memory_working_set == b->size_of_memory_working_set &&
           ints_equal(a->profile_type, b->profile_type) && bytes_equal(a->extra, b->extra);
}

bool sharding_equal(const struct sharding *a, const struct sharding *b)
{
    if (a == b || a == NULL || b == NULL) {
        return a == b;
    }
    if (a->form != b->form || a->device != b->device || a->count != b->count ||
        !ints_equal(a->tile_dims, b->tile_dims) || !ints_equal(a->devices, b->devices) ||
        !ints_equal(a->reshape_dims, b->reshape_dims) ||
        !ints_equal(a->transpose_perm, b->transpose_perm) ||
        a->last_tile_dim_replicate != b->last_tile_dim_replicate ||
        !ints_equal(a->last_tile_dims, b->last_tile_dims) ||
        a->is_shard_group != b->is_shard_group || a->shard_as != b->shard_as ||
        a->shard_group_id != b->shard_group_id || a->metadata_count != b->metadata_count ||
        !mesh_equal(&a->mesh, &b->mesh) || a->dimension_count != b->dimension_count ||
        !axis_refs_equal(a->replicated, b->replicated) ||
        !axis_refs_equal(a->unreduced, b->unreduced) || !axis_refs_equal(a->manual, b->manual) ||
        !string_equal(a->unreduced_kind, b->unreduced_kind)) {
        return false;
    }
    for (int i = 0; i < a->count; i++) {
        if (!sharding_equal(a->elements[i], b->elements[i])) {
            return false;
        }
    }
    for (int i = 0; i < a->metadata_count; i++) {
        if (!metadata_equal(a->metadata[i], b->metadata[i])) {
            return false;
        }
    }
    for (int i = 0; i < a->dimension_count; i++) {
        if (a->dimensions[i].open != b->dimensions[i].open ||
            a->dimensions[i].priority != b->dimensions[i].priority ||
            !axis_refs_equal(a->dimensions[i].axes, b->dimensions[i].axes)) {
            return false;
        }
    }
    return true;
}

static bool aliasing_equal(struct aliasing a, struct aliasing b)
{
    if (a.count != b.count) {
        return false;
    }
    for (int i = 0; i < a.count; i++) {
        if (a.entries[i].operand != b.entries[i].operand ||
            !ints_equal(a.entries[i].output_index, b.entries[i].output_index) ||
            !ints_equal(a.entries[i].operand_index, b.entries[i].operand_index)) {
            return false;
        }
    }
    return true;
}

/* Maps have no order (a proto map loses it). */
static bool string_map_equal(struct string_map a, struct string_map b)
{
    if (a.count != b.count) {
        return false;
    }
    for (int i = 0; i < a.count; i++) {
        int j = 0;
        while (j < b.count && !bytes_equal(a.entries[i].key, b.entries[j].key)) {
            j++;
        }
        if (j == b.count || !bytes_equal(a.entries[i].value, b.entries[j].value)) {
            return false;
        }
    }
    return true;
}

static bool statistics_equal(const struct statistics *a, const struct statistics *b)
{
    if (a->visualizing_index != b->visualizing_index || a->count != b->count) {
        return false;
    }
    for (int i = 0; i < a->count; i++) {
        if (!string_equal(a->entries[i].name, b->entries[i].name) ||
            a->entries[i].value != b->entries[i].value) {
            return false;
        }
    }
    return true;
}

bool attr_equal(const struct attr *a, const struct attr *b)
{
    if (a->key != b->key) {
        return false;
    }
    switch (attr_table[a->key].kind) {
    case ATTR_KIND_FLOAT:
        return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    case ATTR_KIND_STRING:
    case ATTR_KIND_STRING_OR_WORD:
    case ATTR_KIND_RAW:
    case ATTR_KIND_SPARSITY:
    case ATTR_KIND_BACKEND_CONFIG:
        return bytes_equal(a->bytes, b->bytes);
    case ATTR_KIND_INTS:
    case ATTR_KIND_BOOLS:
    case ATTR_KIND_PAIRS:
        return ints_equal(a->ints, b->ints);
    case ATTR_KIND_INTS_OR_LISTS:
        return lists_equal(a->lists, b->lists);
    case ATTR_KIND_SLICES:
        return a->slices.rank == b->slices.rank &&
               values_equal((const int64_t *)a->slices.dimensions,
                            (const int64_t *)b->slices.dimensions, 3 * a->slices.rank);
    case ATTR_KIND_PADDING:
        return a->padding.rank == b->padding.rank &&
               values_equal((const int64_t *)a->padding.dimensions,
                            (const int64_t *)b->padding.dimensions, 3 * a->padding.rank);
    case ATTR_KIND_WINDOW:
        return window_equal(a->window, b->window);
    case ATTR_KIND_DIM_LABELS:
        return dim_labels_equal(a->dim_labels, b->dim_labels);
    case ATTR_KIND_GROUPS:
        return groups_equal(a->groups, b->groups);
    case ATTR_KIND_PRECISIONS:
        return a->precisions.count == b->precisions.count &&
               (a->precisions.count == 0 || memcmp(a->precisions.values, b->precisions.values,
                                                   (size_t)a->precisions.count) == 0);
    case ATTR_KIND_SHARDING:
        return sharding_equal(a->sharding, b->sharding);
    case ATTR_KIND_LITERAL:
        return literal_equal(a->literal, b->literal);
    case ATTR_KIND_SHAPE:
        return a->shape == b->shape;
    case ATTR_KIND_SHAPES:
        return a->shapes.count == b->shapes.count &&
               (a->shapes.count == 0 ||
                memcmp(a->shapes.shapes, b->shapes.shapes,
                       (size_t)a->shapes.count * sizeof *a->shapes.shapes) == 0);
    case ATTR_KIND_ALIASING:
        return aliasing_equal(a->aliasing, b->aliasing);
    case ATTR_KIND_DOMAIN:
        return string_equal(a->domain->kind, b->domain->kind) &&
               sharding_equal(a->domain->entry, b->domain->entry) &&
               sharding_equal(a->domain->exit, b->domain->exit);
    case ATTR_KIND_RESULT_ACCURACY:
        return a->result_accuracy->has_tolerance == b->result_accuracy->has_tolerance &&
               a->result_accuracy->mode == b->result_accuracy->mode &&
               a->result_accuracy->atol == b->result_accuracy->atol &&
               a->result_accuracy->rtol == b->result_accuracy->rtol &&
               a->result_accuracy->ulps == b->result_accuracy->ulps;
    case ATTR_KIND_STRING_MAP:
        return string_map_equal(a->string_map, b->string_map);
    case ATTR_KIND_METADATA:
        return metadata_equal(a->metadata, b->metadata);
    case ATTR_KIND_ORIGIN:
        return bytes_equal(a->origin->text, b->origin->text);
    case ATTR_KIND_STATISTICS:
        return statistics_equal(a->statistics, b->statistics);
    default:
        return a->integer == b->integer;
    }
}

/* --- hash: equal attributes hash alike; kinds that seldom tell instructions apart hash by key
 * and size only --- */

static uint64_t hash_ints(struct ints ints, uint64_t seed)
{
    return hash_bytes(ints.values, (size_t)ints.count * sizeof(int64_t), seed);
}

uint64_t attr_hash(const struct attr *attr)
{
    uint64_t seed = (uint64_t)attr->key + 1;
    switch (attr_table[attr->key].kind) {
    case ATTR_KIND_STRING:
    case ATTR_KIND_STRING_OR_WORD:
    case ATTR_KIND_RAW:
    case ATTR_KIND_SPARSITY:
    case ATTR_KIND_BACKEND_CONFIG:
        return hash_bytes(attr->bytes.data, attr->bytes.size, seed);
    case ATTR_KIND_INTS:
    case ATTR_KIND_BOOLS:
    case ATTR_KIND_PAIRS:
        return hash_ints(attr->ints, seed);
    case ATTR_KIND_INTS_OR_LISTS:
        for (int i = 0; i < attr->lists.count; i++) {
            seed = hash_ints(attr->lists.lists[i], seed);
        }
        return seed;
    case ATTR_KIND_SLICES:
        return hash_bytes(attr->slices.dimensions,
                          (size_t)attr->slices.rank * sizeof *attr->slices.dimensions, seed);
    case ATTR_KIND_PADDING:
        return hash_bytes(attr->padding.dimensions,
                          (size_t)attr->padding.rank * sizeof *attr->padding.dimensions, seed);
    case ATTR_KIND_WINDOW:
        for (int i = 0; i < attr->window.rank; i++) {
            const struct window_dimension *d = &attr->window.dimensions[i];
            const int64_t fields[] = {d->size,         d->stride,          d->padding_low,
                                      d->padding_high, d->window_dilation, d->base_dilation,
                                      d->reversal};
            seed = hash_bytes(fields, sizeof fields, seed);
        }
        return seed;
    case ATTR_KIND_DIM_LABELS: {
        const struct dim_labels *d = attr->dim_labels;
        const int64_t fields[] = {d->input_batch,          d->input_feature,
                                  d->kernel_input_feature, d->kernel_output_feature,
                                  d->output_batch,         d->output_feature};
        seed = hash_bytes(fields, sizeof fields, seed);
        size_t size = (size_t)d->spatial_rank * sizeof(int64_t);
        seed = hash_bytes(d->input_spatial, size, seed);
        seed = hash_bytes(d->kernel_spatial, size, seed);
        return hash_bytes(d->output_spatial, size, seed);
    }
    case ATTR_KIND_LITERAL:
        return hash_u64(literal_hash(attr->literal), seed);
    case ATTR_KIND_SHAPE:
        return hash_u64(attr->shape->hash, seed);
    case ATTR_KIND_GROUPS:
        return hash_u64((uint64_t)attr->groups->form, seed);
    case ATTR_KIND_PRECISIONS:
        return hash_bytes(attr->precisions.values, (size_t)attr->precisions.count, seed);
    case ATTR_KIND_SHARDING:
        return hash_u64((uint64_t)attr->sharding->form, seed);
    case ATTR_KIND_SHAPES:
    case ATTR_KIND_ALIASING:
    case ATTR_KIND_DOMAIN:
    case ATTR_KIND_RESULT_ACCURACY:
    case ATTR_KIND_STRING_MAP:
    case ATTR_KIND_METADATA:
    case ATTR_KIND_ORIGIN:
    case ATTR_KIND_STATISTICS:
        return seed;
    default: /* FLOAT shares its bits with `integer` */
        return hash_u64((uint64_t)attr->integer, seed);
    }
}
