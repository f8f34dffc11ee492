/* replica_groups as lists of ids: the three forms, and numbers that contradict each other. What the
 * forms mean follows xla/hlo/ir/tile_assignment.h (iota) and mesh_and_axis.h. */
#include <check.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/groups.h"

#define INTS(...)                                                             \
    {                                                                         \
        sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]) \
        {                                                                     \
            __VA_ARGS__                                                       \
        }                                                                     \
    }

static void check_ids(const struct groups *groups, int64_t all, int64_t group_count,
                      const int64_t *ids, int64_t count)
{
    struct id_list list;
    ck_assert(groups_expand(groups, all, &list));
    ck_assert_int_eq(list.group_count, group_count);
    ck_assert_int_eq(list.starts[group_count], count);
    for (int64_t i = 0; i < count; i++) {
        ck_assert_int_eq(list.ids[i], ids[i]);
    }
    id_list_finish(&list);
}

START_TEST(nobody_is_named)
{
    const struct groups empty = {.form = GROUPS_LIST};
    check_ids(NULL, 3, 1, (const int64_t[]){0, 1, 2}, 3);
    check_ids(&empty, 2, 1, (const int64_t[]){0, 1}, 2);
}
END_TEST

START_TEST(iota)
{
    /* [3,2]<=[2,3]T(1,0): the columns of {{0,1,2},{3,4,5}}. */
    const struct groups groups = {.form = GROUPS_IOTA,
                                  .group_count = 3,
                                  .group_size = 2,
                                  .reshape_dims = INTS(2, 3),
                                  .transpose_perm = INTS(1, 0)};
    check_ids(&groups, 0, 3, (const int64_t[]){0, 3, 1, 4, 2, 5}, 6);
}
END_TEST

START_TEST(mesh)
{
    const struct mesh_axis axes[] = {{"x", 2}, {"y", 4}};
    const struct axis_ref x[] = {{0, 0, 0}}, part[] = {{1, 2, 2}};
    struct groups groups = {.form = GROUPS_MESH, .mesh = {.axis_count = 2, .axes = axes}};
    groups.mesh.maximal_device = -1;
    groups.axes = (struct axis_refs){1, x};
    check_ids(&groups, 0, 4, (const int64_t[]){0, 4, 1, 5, 2, 6, 3, 7}, 8);
    /* "y":(2)2 is the minor half of y. */
    groups.axes = (struct axis_refs){1, part};
    check_ids(&groups, 0, 4, (const int64_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 8);
}
END_TEST

START_TEST(contradictions)
{
    struct id_list list;
    struct groups groups = {.form = GROUPS_IOTA, .group_count = 3, .group_size = 2};
    groups.reshape_dims = (struct ints)INTS(2, 2);
    ck_assert(!groups_expand(&groups, 0, &list));
    id_list_finish(&list);
    groups.group_count = INT64_MAX;
    ck_assert(!groups_expand(&groups, 0, &list));
    id_list_finish(&list);
    const struct mesh_axis huge[] = {{"x", INT64_MAX}, {"y", 2}};
    const struct axis_ref y[] = {{1, 0, 0}};
    groups = (struct groups){.form = GROUPS_MESH, .mesh = {.axis_count = 2, .axes = huge}};
    groups.axes = (struct axis_refs){1, y};
    ck_assert(!groups_expand(&groups, 0, &list));
    id_list_finish(&list);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("groups");
    TCase *tests = tcase_create("groups");
    tcase_add_test(tests, nobody_is_named);
    tcase_add_test(tests, iota);
    tcase_add_test(tests, mesh);
    tcase_add_test(tests, contradictions);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
