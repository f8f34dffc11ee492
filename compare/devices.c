/* Several devices as one. */
#include "compare/devices.h"

#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

struct literal *devices_join(struct literal *const *results, int count)
{
    if (count == 1) {
        return literal_retain(results[0]);
    }
    const struct shape **shapes = memory_alloc((size_t)count * sizeof *shapes);
    struct literal **elements = memory_alloc((size_t)count * sizeof *elements);
    for (int d = 0; d < count; d++) {
        shapes[d] = results[d]->shape;
        elements[d] = literal_retain(results[d]);
    }
    struct literal *joined = literal_tuple_take(shape_tuple(count, shapes), elements);
    free(elements);
    free(shapes);
    return joined;
}

struct literal *devices_evaluate(const struct module *module, struct literal *const *arguments,
                                 int argument_count, const struct interp_options *interp,
                                 struct error *err)
{
    int replicas = interp->replica_count > 0 ? interp->replica_count : 1;
    int partitions = interp->partition_count > 0 ? interp->partition_count : 1;
    int devices = replicas * partitions, each = argument_count / devices;
    struct interp_options options = *interp;
    options.replica_count = replicas;
    options.partition_count = partitions;
    if (devices == 1) {
        return interp_evaluate(module, arguments, argument_count, interp, err);
    }
    struct literal *const **sets = memory_alloc((size_t)devices * sizeof *sets);
    struct literal **results = memory_zalloc((size_t)devices * sizeof *results);
    for (int d = 0; d < devices; d++) {
        sets[d] = arguments + (ptrdiff_t)d * each;
    }
    struct literal *joined = NULL;
    if (interp_evaluate_devices(module, devices, sets, each, results, &options, err)) {
        joined = devices_join(results, devices);
    }
    for (int d = 0; d < devices; d++) {
        literal_release(results[d]);
    }
    free(results);
    free(sets);
    return joined;
}

bool devices_matter(const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            switch (instruction->opcode) {
            case OP_PARTITION_ID:
            case OP_REPLICA_ID:
                return true;
            case OP_RECV:
            case OP_SEND:
                if (!attr_bool(instruction, ATTR_IS_HOST_TRANSFER, false)) {
                    return true;
                }
                break;
            default:
                if (opcode_takes(instruction->opcode, ATTR_REPLICA_GROUPS) ||
                    opcode_takes(instruction->opcode, ATTR_SOURCE_TARGET_PAIRS)) {
                    return true;
                }
                break;
            }
        }
    }
    return false;
}
