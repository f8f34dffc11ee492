/* The verifier: malformed modules, each with the place and the text of its one finding, beside the
 * same module without the fault. Verdicts are those of XLA's verifier (xla/service/hlo_verifier.cc;
 * tried on XLA's CPU plugin, lammps-jax-pjrt-cpu 0.11.2, where that takes the opcode). Shapes of
 * single instructions are in test_infer.c. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"

/* In `text`, '@' stands before the place of the finding; without '@' it is the module's header.
 * `message` NULL: there must be no finding. */
struct verify_case {
    const char *text, *message;
};

static void check_case(const struct verify_case *the_case)
{
    char text[4096];
    size_t used = 0;
    int line = 1, column = 1, want_line = 1, want_column = 0;
    for (const char *at = the_case->text; *at != '\0'; at++) {
        if (*at == '@') {
            want_line = line;
            want_column = column;
            continue;
        }
        ck_assert_uint_lt(used, sizeof text - 1);
        text[used++] = *at;
        column = *at == '\n' ? 1 : column + 1;
        line += *at == '\n';
    }
    text[used] = '\0';
    struct error err = {0};
    struct module *module = text_read_module(text, used, "case.hlo", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d: %s\n%s", err.line, err.column, err.message, text);
    struct findings findings;
    bool ok = verify_module(module, &findings);
    ck_assert_int_eq(ok, findings.count == 0);
    if (the_case->message == NULL) {
        ck_assert_msg(ok, "%s\n%s", ok ? "" : findings.list[0].text, text);
    } else {
        ck_assert_msg(findings.count == 1, "%d findings, %s\n%s", findings.count,
                      ok ? "" : findings.list[findings.count - 1].text, text);
        const struct finding *finding = &findings.list[0];
        ck_assert_msg(strstr(finding->text, the_case->message) != NULL, "%s\nis not: %s\n%s",
                      finding->text, the_case->message, text);
        ck_assert_str_eq(finding->where.file, "case.hlo");
        ck_assert_msg(finding->where.line == want_line && finding->where.column == want_column,
                      "%d:%d, wanted %d:%d: %s\n%s", finding->where.line, finding->where.column,
                      want_line, want_column, finding->text, text);
    }
    findings_finish(&findings);
    module_destroy(module);
}

#define M "HloModule m\n"
#define ADD "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }\n"
#define NEG "neg { q = f32[3] parameter(0)\n ROOT n = f32[3] negate(q) }\n"
#define NEG_T \
    "neg { q = f32[3] parameter(0)\n ROOT n = f32[3] negate(q) }, execution_thread=\"t\"\n"
#define ENTRY "ENTRY e { p = f32[3] parameter(0)\n "
#define STARTED "((f32[3]), f32[3], s32[])"

static const struct verify_case instructions[] = {
    {M ENTRY "ROOT r = f32[3] negate(p) }", NULL},
    {M ENTRY "ROOT @r = f32[4] negate(p) }", "must be f32[3]{0}"},
    {M "ENTRY e { @p = f32[?] parameter(0)\n ROOT r = f32[3] constant({1, 2, 3}) }",
     "unbounded dimension"},
    /* compare */
    {M "ENTRY e { p = s32[3] parameter(0)\n ROOT r = pred[3] compare(p, p), direction=LT }", NULL},
    {M "ENTRY e { p = s32[3] parameter(0)\n ROOT @r = pred[3] compare(p, p), direction=LT, "
       "type=FLOAT }",
     "compares s32 as FLOAT"},
    {M "ENTRY e { p = c64[3] parameter(0)\n ROOT r = pred[3] compare(p, p), direction=LT }", NULL},
    {M "ENTRY e { p = c64[3] parameter(0)\n ROOT r = c64[3] maximum(p, p) }", NULL},
    /* custom calls */
    {M ENTRY "ROOT r = f32[3] custom-call(p), custom_call_target=\"x\", "
             "output_to_operand_aliasing={{}: (0, {})} }",
     NULL},
    {M ENTRY "ROOT @r = f32[3] custom-call(p), custom_call_target=\"x\", "
             "output_to_operand_aliasing={{}: (1, {})} }",
     "names operand 1 of 1"},
    {M ENTRY "ROOT @r = f32[3] custom-call(p), custom_call_target=\"x\", "
             "output_to_operand_aliasing={{0}: (0, {})} }",
     "names a part that is not there"},
    {M ENTRY "ROOT @r = f32[4] custom-call(p), custom_call_target=\"x\", "
             "output_to_operand_aliasing={{}: (0, {})} }",
     "joins f32[4]{0} and f32[3]{0}"},
    {M ENTRY "ROOT r = f32[4] custom-call(p), custom_call_target=\"x\", "
             "output_to_operand_aliasing={{}: (0, {})}, "
             "frontend_attributes={xla_skip_custom_call_alias_shape_check=\"true\"} }",
     NULL},
    {M ENTRY "ROOT @r = u32[] custom-call(), custom_call_target=\"GetRngSeed\" }",
     "GetRngSeed takes nothing and gives u64[]"},
    /* composites */
    {M NEG ENTRY "ROOT r = f32[3] call(p), to_apply=neg, is_composite=true, "
                 "frontend_attributes={composite.name=\"a.b\",composite.version=\"1\"} }",
     NULL},
    {M NEG ENTRY "ROOT @r = f32[3] call(p), to_apply=neg, is_composite=true }",
     "no frontend attribute composite.name"},
    {M NEG ENTRY "ROOT @r = f32[3] call(p), to_apply=neg, is_composite=true, "
                 "frontend_attributes={composite.name=\"a.b\",composite.version=\"x\"} }",
     "composite.version is no number"},
    /* origins */
    {M "ENTRY e { p = f32[3] parameter(0), origin={{\"a\"}}\n ROOT r = f32[3] negate(p) }", NULL},
    {M "ENTRY e { @p = f32[3] parameter(0), origin={({\"a\"},{\"b\"})}\n"
       " ROOT r = f32[3] negate(p) }",
     "origin does not name the leaves"},
};

static const struct verify_case computations[] = {
    /* A computation may be a reducer and be called, or nobody may call it; but it is checked. */
    {M ADD ENTRY "z = f32[] constant(0)\n a = f32[] reduce(p, z), dimensions={0}, to_apply=add\n"
                 " ROOT r = f32[] call(a, z), to_apply=add }",
     NULL},
    {M NEG ENTRY "ROOT r = f32[3] negate(p) }", NULL},
    {M "dead { q = f32[2] parameter(0)\n ROOT @s = f32[3] negate(q) }\n" ENTRY
       "ROOT r = f32[3] negate(p) }",
     "must be f32[2]{0}"},
    /* fusions */
    {M NEG ENTRY "ROOT r = f32[3] fusion(p), kind=kLoop, calls=neg }", NULL},
    {M NEG ENTRY "ROOT r = f32[3] fusion(p, p), kind=kLoop, calls=neg }", NULL},
    {M NEG ENTRY "a = f32[3] fusion(p), kind=kLoop, calls=neg\n"
                 " ROOT @r = f32[3] fusion(a), kind=kLoop, calls=neg }",
     "fusions with one body"},
    {M NEG ENTRY "a = f32[3] fusion(p), kind=kLoop, calls=neg\n"
                 " ROOT r = f32[3] call(a), to_apply=neg }",
     NULL},
    {M
     "f { q = f32[3] parameter(0)\n @w = f32[3] parameter(1)\n ROOT n = f32[3] negate(q) }\n" ENTRY
     "ROOT r = f32[3] fusion(p, p), kind=kLoop, calls=f }",
     "w in the fusion body f has no users"},
    {M
     "f { q = f32[3] parameter(0)\n ROOT @n = f32[3] negate(q)\n b = f32[3] abs(n)\n"
     " c = () custom-call(b), custom_call_target=\"x\", custom_call_has_side_effect=true }\n" ENTRY
     "ROOT r = f32[3] fusion(p), kind=kLoop, calls=f }",
     "n is the root of the fusion body f, but has users"},
    {M NEG ENTRY "ROOT @r = f32[3] fusion(p), kind=kLoop, calls=neg, "
                 "output_to_operand_aliasing={{}: (1, {})} }",
     "names operand 1 of 1"},
    /* threads */
    {M NEG_T ENTRY "ROOT @r = f32[3] fusion(p), kind=kLoop, calls=neg }",
     "runs on thread main, but calls neg of thread t"},
    {M NEG_T ENTRY "ROOT r = f32[3] call(p), to_apply=neg }", NULL},
    {M "b { q = s32[] parameter(0)\n ROOT s = s32[] negate(q) }, execution_thread=\"t\"\n"
       "c { q = s32[] parameter(0)\n ROOT s = pred[] constant(0) }\n"
       "ENTRY e { p = s32[] parameter(0)\n ROOT @r = s32[] while(p), condition=c, body=b }",
     "calls b of thread t"},
    /* shardings */
    {M ENTRY "ROOT r = f32[3] negate(p), sharding={devices=[2]<=[2]} }", NULL},
    {M ENTRY "ROOT @r = f32[3] negate(p), sharding={devices=[2,1]<=[2]} }", "2 tile dimensions"},
    {"HloModule m, num_partitions=4\n" ENTRY
     "ROOT @r = f32[3] negate(p), sharding={devices=[2]<=[2]} }",
     "over 2 devices, but there are 4"},
    {"HloModule m, num_partitions=2\n" ENTRY
     "ROOT r = f32[3] negate(p), sharding={maximal device=1} }",
     NULL},
    {"HloModule m, num_partitions=2\n" ENTRY
     "ROOT @r = f32[3] negate(p), sharding={maximal device=2} }",
     "device 2, but there are 2"},
    {M "b { q = s32[] parameter(0)\n ROOT s = s32[] negate(q), sharding={maximal device=0} }\n"
       "c { q = s32[] parameter(0)\n ROOT s = pred[] constant(0) }\n"
       "ENTRY e { p = s32[] parameter(0)\n ROOT @r = s32[] while(p), condition=c, body=b, "
       "sharding={replicated} }",
     "the shardings of r and of s in b differ"},
    {M "b { q = s32[] parameter(0), sharding={replicated}\n ROOT s = s32[] negate(q) }\n"
       "c { q = s32[] parameter(0)\n ROOT s = pred[] constant(0) }\n"
       "ENTRY e { p = s32[] parameter(0)\n ROOT r = s32[] while(p), condition=c, body=b, "
       "sharding={replicated} }",
     NULL},
};

static const struct verify_case pairs[] = {
    {M NEG_T ENTRY "a = " STARTED " async-start(p), async_execution_thread=\"t\", calls=neg\n"
                   " ROOT r = f32[3] async-done(a) }",
     NULL},
    {M NEG_T ENTRY "@a = " STARTED " async-start(p), async_execution_thread=\"t\", calls=neg\n"
                   " ROOT r = f32[3] negate(p) }",
     "async-start a has no async-done"},
    /* operands and results that come later */
    {M NEG_T ENTRY "a = ((f32[3]), (), s32[]) async-start(p), async_execution_thread=\"t\", "
                   "calls=neg\n ROOT r = f32[3] async-done(a) }",
     NULL},
    {M NEG_T ENTRY "a = ((), (), s32[]) async-start(), async_execution_thread=\"t\", calls=neg\n"
                   " u = " STARTED " async-update(a, p)\n ROOT r = f32[3] async-done(u) }",
     NULL},
    {M NEG_T ENTRY "a = ((), (), s32[]) async-start(), async_execution_thread=\"t\", calls=neg\n"
                   " ROOT @r = f32[3] async-done(a) }",
     "only 0 of 1 operands of neg"},
    {M NEG_T ENTRY "a = ((), (), s32[]) async-start(), async_execution_thread=\"t\", calls=neg\n"
                   " @u = " STARTED " async-update(a)\n ROOT r = f32[3] async-done(u) }",
     "there are 0 operands for the 1 that the shape"},
    {M NEG_T ENTRY "@a = ((f32[3]), f32[2], s32[]) async-start(p), async_execution_thread=\"t\", "
                   "calls=neg\n ROOT r = f32[3] async-done(a) }",
     "the result is no part of what the computation gives"},
    {M NEG_T ENTRY "a = " STARTED " async-start(p), async_execution_thread=\"t\", calls=neg, "
                   "output_to_operand_aliasing={{1}: (0, {})}\n"
                   " ROOT r = f32[3] async-done(a) }",
     NULL},
    {M NEG_T ENTRY "@a = " STARTED " async-start(p), async_execution_thread=\"t\", calls=neg, "
                   "output_to_operand_aliasing={{2}: (0, {})}\n"
                   " ROOT r = f32[3] async-done(a) }",
     "output_to_operand_aliasing joins s32[] and f32[3]"},
    {M NEG_T ENTRY "a = " STARTED " async-start(p), async_execution_thread=\"t\", calls=neg\n"
                   " @u = " STARTED " async-update(a), "
                   "output_to_operand_aliasing={{1}: (0, {1})}\n"
                   " ROOT r = f32[3] async-done(u) }",
     "joins more than the contexts"},
    {M NEG_T ENTRY "ROOT @a = " STARTED " async-start(p), async_execution_thread=\"t\", "
                   "calls=neg }",
     "async-start a has no async-done"},
    /* started before the loop and in it, done in it and after it */
    {M NEG_T "c { s = (" STARTED ") parameter(0)\n ROOT t = pred[] constant(true) }\n"
             "b { s = (" STARTED ") parameter(0)\n g = " STARTED " get-tuple-element(s), index=0\n"
             " d = f32[3] async-done(g)\n n = " STARTED " async-start(d), "
             "async_execution_thread=\"t\", calls=neg\n ROOT t = (" STARTED ") tuple(n) }\n" ENTRY
             "a = " STARTED " async-start(p), async_execution_thread=\"t\", calls=neg\n"
             " t = (" STARTED ") tuple(a)\n w = (" STARTED ") while(t), condition=c, body=b\n"
             " g = " STARTED " get-tuple-element(w), index=0\n ROOT r = f32[3] async-done(g) }",
     NULL},
    {M ENTRY "q = u32[] constant(0)\n t = (f32[3], f32[3], u32[]) tuple(p, p, q)\n"
             " ROOT @r = f32[3] copy-done(t) }",
     "must consume what a copy-start makes"},
    /* buffers */
    {M ENTRY "b = b(f32[3]) custom-call(p), custom_call_target=\"Pin\", "
             "output_to_operand_aliasing={{}: (0, {})}\n"
             " ROOT r = f32[3] custom-call(b), custom_call_target=\"Unpin\", "
             "output_to_operand_aliasing={{}: (0, {})} }",
     NULL},
    {M ENTRY "@b = b(f32[3]) custom-call(p), custom_call_target=\"Pin\"\n"
             " ROOT r = f32[3] custom-call(b), custom_call_target=\"Unpin\", "
             "output_to_operand_aliasing={{}: (0, {})} }",
     "a Pin needs one output_to_operand_aliasing"},
    {M ENTRY "@b = b(f32[3]) custom-call(p), custom_call_target=\"Pin\", "
             "output_to_operand_aliasing={{}: (0, {})}\n"
             " c = f32[3] custom-call(b), custom_call_target=\"Unpin\", "
             "output_to_operand_aliasing={{}: (0, {})}\n"
             " d = f32[3] custom-call(b), custom_call_target=\"Unpin\", "
             "output_to_operand_aliasing={{}: (0, {})}\n ROOT r = f32[3] add(c, d) }",
     "has more than one writer"},
    {M ENTRY "b = b(f32[3]) custom-call(p), custom_call_target=\"Pin\", "
             "output_to_operand_aliasing={{}: (0, {})}\n"
             " @c = f32[3] custom-call(b), custom_call_target=\"x\"\n ROOT r = f32[3] negate(c) }",
     "must name each buffer of an operand once, but names one 0 times"},
    {M "ENTRY e { @p = b(f32[3]) parameter(0)\n ROOT r = f32[3] custom-call(p), "
       "custom_call_target=\"Unpin\", output_to_operand_aliasing={{}: (0, {})} }",
     "parameter p must not have to do with buffers"},
    {M NEG_T ENTRY "@a = " STARTED " async-start(p), async_execution_thread=\"t\", calls=neg\n"
                   " d = f32[3] async-done(a)\n g = f32[3] async-done(a)\n"
                   " ROOT r = f32[3] add(d, g) }",
     "two async-done: d and g"},
    {M "two { q = f32[3] parameter(0)\n t = f32[3] abs(q)\n ROOT n = f32[3] negate(t) }\n" ENTRY
       "@a = " STARTED " async-start(p), calls=two\n ROOT r = f32[3] async-done(a) }",
     "must hold one instruction and its parameters"},
    {M ENTRY "a = (f32[3], f32[3], u32[]) copy-start(p)\n ROOT r = f32[3] copy-done(a) }", NULL},
    {M ENTRY "@a = (f32[3], f32[3]) copy-start(p)\n ROOT r = f32[3] copy-done(a) }",
     "must be (f32[3]{0}, f32[3]{0}, u32[])"},
    {M ENTRY "@a = (f32[3], f32[3], u32[]) copy-start(p)\n ROOT r = f32[3] negate(p) }",
     "must have one user, a copy-done, but has 0"},
    {M "ENTRY e { p = (f32[3], f32[3], u32[]) parameter(0)\n ROOT @r = f32[3] copy-done(p) }",
     "must consume what a copy-start makes"},
    {M ENTRY "t = token[] after-all()\n a = (f32[3], u32[], token[]) send(p, t), channel_id=1, "
             "is_host_transfer=true\n ROOT r = token[] send-done(a), channel_id=1, "
             "is_host_transfer=true }",
     NULL},
    {M ENTRY "t = token[] after-all()\n @a = (f32[3], u32[], token[]) send(p, t), channel_id=1, "
             "is_host_transfer=true\n ROOT r = token[] send-done(a), channel_id=1 }",
     "differ in is_host_transfer"},
    {M ENTRY "t = token[] after-all()\n @a = (f32[3], u32[], token[]) send(p, t), channel_id=1, "
             "is_host_transfer=true\n ROOT r = f32[3] negate(p) }",
     "must have one user, a send-done, but has 0"},
    {M ADD ENTRY "a = f32[3] all-reduce-start(p), replica_groups={}, to_apply=add\n"
                 " ROOT r = f32[3] all-reduce-done(a) }",
     NULL},
    {M ADD ENTRY "@a = f32[3] all-reduce-start(p), replica_groups={}, to_apply=add\n"
                 " b = f32[3] all-reduce-done(a)\n c = f32[3] all-reduce-done(a)\n"
                 " ROOT r = f32[3] add(b, c) }",
     "must have one user"},
};

#define H4 "HloModule m, replica_count=4\n"

#define IN_PLACE                                                                                \
    "ENTRY e { x = f32[2,3] parameter(0)\n y = f32[4,3] parameter(1)\n o = s32[] constant(0)\n" \
    " a = (s32[], s32[]) tuple(o, o)\n "
#define HOST_SEND                                                                           \
    ENTRY "t = token[] after-all()\n"                                                       \
          " s = (f32[3], u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true\n" \
          " d = token[] send-done(s), channel_id=1, is_host_transfer=true\n "

static const struct verify_case collectives[] = {
    {H4 ADD ENTRY "ROOT r = f32[3] all-reduce(p), replica_groups={{0,1},{2,3}}, to_apply=add }",
     NULL},
    {H4 ADD ENTRY "ROOT r = f32[3] all-reduce(p), replica_groups={{0},{1,2,3}}, to_apply=add }",
     NULL},
    {H4 ADD ENTRY "ROOT @r = f32[3] all-reduce(p), replica_groups={{0,1}}, to_apply=add }",
     "hold 2 ids, but there are 4"},
    {M ADD ENTRY "ROOT r = f32[3] all-reduce(p), replica_groups={{0,1}}, to_apply=add }", NULL},
    {M ADD ENTRY "ROOT @r = f32[3] all-reduce(p), replica_groups={{0,1},{1,3}}, to_apply=add }",
     "but 1 is beyond or there twice"},
    {M ADD ENTRY "ROOT @r = f32[3] all-reduce(p), replica_groups={{0,1},{3}}, to_apply=add }",
     "but 3 is beyond or there twice"},
    {M ADD ENTRY "ROOT @r = f32[3] all-reduce(p), replica_groups={{0},{}}, to_apply=add }",
     "has an empty replica group"},
    {M ADD ENTRY "ROOT @r = f32[3] all-reduce(p), channel_id=1, replica_groups={}, "
                 "use_global_device_ids=true, to_apply=add }",
     "use_global_device_ids needs replica_groups"},
    {M ADD ENTRY "a = f32[3] all-reduce(p), replica_groups={}, constrain_layout=true, "
                 "to_apply=add\n ROOT @r = f32[3] all-reduce(a), replica_groups={}, to_apply=add }",
     "a and r differ in constrain_layout"},
    {H4 ENTRY "ROOT r = f32[12] all-gather(p), replica_groups={}, dimensions={0} }", NULL},
    {H4 ENTRY "ROOT @r = f32[6] all-gather(p), replica_groups={}, dimensions={0} }",
     "tells of 2 parts, but groups have 4 devices"},
    {H4 ENTRY "ROOT @r = f32[3] all-gather(p), replica_groups={{0},{1,2,3}}, dimensions={0} }",
     "replica groups must have one size"},
    {H4 ENTRY "ROOT @r = f32[13] all-gather(p), replica_groups={}, dimensions={0} }",
     "must be f32[15]{0}"},
    {H4 ADD ENTRY "ROOT @r = f32[1] reduce-scatter(p), replica_groups={}, dimensions={0}, "
                  "to_apply=add }",
     "tells of 3 parts"},
    {H4 ENTRY "ROOT r = (f32[3], f32[3], f32[3], f32[3]) all-to-all(p, p, p, p), "
              "replica_groups={} }",
     NULL},
    {H4 ENTRY "ROOT @r = (f32[3], f32[3]) all-to-all(p, p), replica_groups={} }",
     "has 2 operands for groups of 4 devices"},
    {H4 ENTRY "ROOT @r = f32[3] all-to-all(p), replica_groups={}, dimensions={0} }",
     "does not divide by 4"},
    {H4 ENTRY "ROOT r = f32[3] collective-permute(p), source_target_pairs={{0,1},{1,0}} }", NULL},
    {H4 ENTRY "ROOT @r = f32[3] collective-permute(p), source_target_pairs={{0,1},{0,2}} }",
     "source 0 is there twice"},
    {H4 ENTRY "ROOT @r = f32[3] collective-permute(p), source_target_pairs={{0,1},{2,1}} }",
     "target 1 is there twice"},
    {H4 ENTRY "ROOT @r = f32[3] collective-permute(p), source_target_pairs={{0,4}} }",
     "target 4 in source_target_pairs is not a device"},
    {M ENTRY "ROOT r = f32[3] collective-permute(p), source_target_pairs={{0,4}} }", NULL},
    /* --- meshes --- */
    {H4 ADD ENTRY "ROOT r = f32[3] all-reduce(p), replica_groups=mesh[\"x\"=2,\"y\"=2] {\"x\"}, "
                  "to_apply=add }",
     NULL},
    {H4 ADD ENTRY "ROOT @r = f32[3] all-reduce(p), replica_groups=mesh[\"x\"=2,\"y\"=4] {\"x\"}, "
                  "to_apply=add }",
     "hold 8 ids, but there are 4"},
    {H4 ENTRY "ROOT r = f32[6] all-gather(p), replica_groups=mesh[\"x\"=2,\"y\"=2] {\"y\"}, "
              "dimensions={0} }",
     NULL},
    {H4 ENTRY "ROOT @r = f32[6] all-gather(p), "
              "replica_groups=mesh[\"x\"=2,\"y\"=2] {\"x\",\"y\"}, dimensions={0} }",
     "tells of 2 parts, but groups have 4 devices"},
    /* --- in place --- */
    {H4 IN_PLACE "ROOT r = f32[4,3] collective-permute(x, y, a, a), "
                 "source_target_pairs={{0,1}}, slice_sizes={{1,3}} }",
     NULL},
    {H4 IN_PLACE "t = ((s32[], s32[]), (s32[], s32[])) tuple(a, a)\n"
                 " ROOT r = f32[4,3] collective-permute(x, y, t, t), "
                 "source_target_pairs={{0,1},{0,2}}, slice_sizes={{1,3},{1,3}} }",
     NULL},
    {H4 IN_PLACE "ROOT @r = f32[4,3] collective-permute(x, y, a, a), "
                 "source_target_pairs={{0,1},{0,2},{0,3}}, slice_sizes={{1,3}} }",
     "source 0 is there twice"},
    {H4 IN_PLACE "b = (s32[]) tuple(o)\n ROOT @r = f32[4,3] collective-permute(x, y, a, b), "
                 "source_target_pairs={{0,1}}, slice_sizes={{1,3}} }",
     "offsets (s32[]) do not fit f32[4,3]"},
    {H4 IN_PLACE "ROOT @r = f32[4,3] collective-permute(x, y, o, a), "
                 "source_target_pairs={{0,1}}, slice_sizes={{1,3}} }",
     "offsets s32[] do not fit f32[2,3]"},
    {H4 IN_PLACE "u = (f32[2,3], f32[2,3]) tuple(x, x)\n"
                 " ROOT @r = f32[4,3] collective-permute(u, y, a, a), "
                 "source_target_pairs={{0,1}}, slice_sizes={{1,3}} }",
     "do not fit"},
    /* --- ragged-all-to-all --- */
    {H4 "ENTRY e { x = f32[4] parameter(0)\n s = s32[4] parameter(1)\n"
        " ROOT r = f32[4] ragged-all-to-all(x, x, s, s, s, s), replica_groups={} }",
     NULL},
    {H4 "ENTRY e { x = f32[4] parameter(0)\n s = s32[4] parameter(1)\n"
        " t = s64[4] convert(s)\n"
        " ROOT @r = f32[4] ragged-all-to-all(x, x, s, s, t, s), replica_groups={} }",
     "operand 4 must be"},
    /* --- channel 0 is none, whoever names it --- */
    {M "ENTRY e { t = token[] after-all()\n"
       " a = (f32[3], u32[], token[]) recv(t), channel_id=0\n"
       " b = (f32[3], token[]) recv-done(a), channel_id=0\n"
       " ROOT r = f32[3] get-tuple-element(b), index=0 }",
     NULL},
    /* --- transfers with the host --- */
    {M HOST_SEND "u = (f32[3], u32[], token[]) send(p, d), channel_id=1, is_host_transfer=true\n"
                 " e = token[] send-done(u), channel_id=1, is_host_transfer=true\n"
                 " ROOT r = f32[3] negate(p) }",
     NULL},
    {M HOST_SEND "@b = (f32[3], u32[], token[]) recv(d), channel_id=1, is_host_transfer=true\n"
                 " c = (f32[3], token[]) recv-done(b), channel_id=1, is_host_transfer=true\n"
                 " ROOT r = f32[3] negate(p) }",
     "s and b are different transfers with the host on channel 1"},
};

#define NEGATED ENTRY "ROOT r = f32[3] negate(p) }"

static const struct verify_case headers[] = {
    {"HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n" NEGATED, NULL},
    {"HloModule m, input_output_alias={ {}: (1, {}, may-alias) }\n" NEGATED,
     "input_output_alias names parameter 1"},
    {"HloModule m, input_output_alias={ {1}: (0, {}, may-alias) }\n" NEGATED,
     "names a part of the result that is not there"},
    {"HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (0, {}, may-alias) }\n" ENTRY
     "ROOT r = (f32[3], f32[3]) tuple(p, p) }",
     "names a part of parameter 0 twice"},
    {"HloModule m, input_output_alias={ {}: (0, {}, must-alias) }\n" ENTRY
     "ROOT r = s32[3] convert(p) }",
     "(must-alias) joins parameter 0 and a result of another shape"},
    {"HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n" ENTRY
     "ROOT r = f32[6] concatenate(p, p), dimensions={0} }",
     "joins parameter 0 of 12 bytes and a result of 24"},
    {"HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n" ENTRY
     "ROOT r = s32[3] constant({1, 2, 3}) }",
     NULL},
    {"HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {0}: (1, {}, may-alias) }\n" ENTRY
     "q = f32[3] parameter(1)\n ROOT r = (f32[3], f32[3]) tuple(p, q) }",
     "joins a part of the result to parameter 0 and to parameter 1"},
    {"HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
     "ENTRY e { p = (f32[3], f32[3]) parameter(0)\n ROOT r = (f32[3], f32[3]) copy(p) }",
     "not two arrays"},
    {"HloModule m, buffer_donor={ (0, {}) }\n"
     "ENTRY e { p = (f32[3], f32[3]) parameter(0)\n ROOT r = (f32[3], f32[3]) copy(p) }",
     "of parameter 0, which is no array"},
    {"HloModule m, buffer_donor={ (0, {1}) }\n"
     "ENTRY e { p = (f32[3], f32[3]) parameter(0)\n ROOT r = (f32[3], f32[3]) copy(p) }",
     NULL},
    {"HloModule m, buffer_donor={ (0, {}) }\n" NEGATED, NULL},
    {"HloModule m, buffer_donor={ (1, {}) }\n" NEGATED, "buffer_donor names parameter 1"},
    {"HloModule m, input_output_alias={ {}: (0, {}, may-alias) }, buffer_donor={ (0, {}) "
     "}\n" NEGATED,
     "is a buffer_donor and in input_output_alias too"},
    {"HloModule m, entry_computation_layout={(f32[4])->f32[3]}\nENTRY e { @p = f32[3] "
     "parameter(0)\n ROOT r = f32[3] negate(p) }",
     "entry_computation_layout says f32[4]{0} for parameter 0"},
    {"HloModule m, entry_computation_layout={(f32[3])->f32[4]}\n" ENTRY
     "ROOT @r = f32[3] negate(p) }",
     "entry_computation_layout says the result is f32[4]{0}"},
    {"HloModule m, entry_computation_layout={(f32[3]{0:S(5)})->f32[3]{0:T(8)}}\n" NEGATED, NULL},
};

#define CASES(table)                                                \
    START_TEST(test_##table)                                        \
    {                                                               \
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) { \
            check_case(&table[i]);                                  \
        }                                                           \
    }                                                               \
    END_TEST
CASES(instructions)
CASES(computations)
CASES(pairs)
CASES(collectives)
CASES(headers)
#undef CASES

/* All findings are listed, not the first alone. */
START_TEST(test_collects_all)
{
    static const char text[] = M "ENTRY e { p = f32[3] parameter(0)\n a = f32[4] negate(p)\n"
                                 " b = f32[3] add(p, p)\n ROOT r = s32[3] abs(p) }";
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "m", 1, &err);
    ck_assert_ptr_nonnull(module);
    struct findings findings;
    ck_assert(!verify_module(module, &findings));
    ck_assert_int_eq(findings.count, 2);
    ck_assert_str_eq(findings.list[0].instruction->name, "a");
    ck_assert_str_eq(findings.list[1].instruction->name, "r");
    findings_finish(&findings);
    ck_assert_int_eq(findings.count, 0);
    module_destroy(module);
}
END_TEST

/* What no text can say: a module spoiled by a rewrite. */
START_TEST(test_spoiled)
{
    static const char text[] = M NEG "ENTRY e { p = f32[3] parameter(0)\n a = f32[3] negate(p)\n"
                                     " ROOT r = f32[3] call(a), to_apply=neg }";
    struct error err = {0};
    struct findings findings;
    struct module *module = text_read_module(text, strlen(text), "m", 1, &err);
    struct instruction *a = computation_find(module->entry, "a");
    struct instruction *r = computation_find(module->entry, "r");
    const char *name = r->name;
    ck_assert(verify_module(module, &findings));
    r->name = "a";
    ck_assert(!verify_module(module, &findings));
    ck_assert_ptr_nonnull(strstr(findings.list[0].text, "the name a is there twice"));
    findings_finish(&findings);
    r->name = name;
    struct instruction *operand = a->operands[0];
    a->operands[0] = module_find_computation(module, "neg")->root;
    ck_assert(!verify_module(module, &findings));
    ck_assert_ptr_nonnull(strstr(findings.list[0].text, "is in computation neg"));
    findings_finish(&findings);
    a->operands[0] = operand;
    a->operand_count = 0;
    ck_assert(!verify_module(module, &findings));
    ck_assert_ptr_nonnull(strstr(findings.list[0].text, "takes 1 operands, but there are 0"));
    findings_finish(&findings);
    a->operand_count = 1;
    r->called_count = 0;
    ck_assert(!verify_module(module, &findings));
    ck_assert_ptr_nonnull(strstr(findings.list[0].text, "needs 1 called computations"));
    findings_finish(&findings);
    r->called_count = 1;
    int attr_count = a->attr_count;
    instruction_set_attr(a, (struct attr){.key = ATTR_DIMENSIONS});
    ck_assert(!verify_module(module, &findings));
    ck_assert_ptr_nonnull(
        strstr(findings.list[0].text, "negate a does not take the attribute dimensions"));
    findings_finish(&findings);
    a->attr_count = attr_count;
    a->opcode = OP_REVERSE;
    ck_assert(!verify_module(module, &findings));
    ck_assert_ptr_nonnull(
        strstr(findings.list[0].text, "reverse a lacks the attribute dimensions"));
    findings_finish(&findings);
    a->opcode = OP_NEGATE;
    module->config.replica_count = 0;
    ck_assert(!verify_module(module, &findings));
    ck_assert_ptr_nonnull(strstr(findings.list[0].text, "must be positive"));
    findings_finish(&findings);
    module->config.replica_count = 1;
    module->entry->is_fusion = true;
    ck_assert(!verify_module(module, &findings));
    ck_assert_ptr_nonnull(strstr(findings.list[0].text, "the entry e is the body of a fusion"));
    findings_finish(&findings);
    module->entry->is_fusion = false;
    module->config.parameter_count = 0;
    ck_assert(!verify_module(module, &findings));
    ck_assert_ptr_nonnull(strstr(findings.list[0].text, "has 0 parameters, but the entry takes 1"));
    findings_finish(&findings);
    module_destroy(module);
}
END_TEST

/* The reader makes the shapes of send and recv itself. */
START_TEST(test_transfer_shape)
{
    static const char text[] =
        M "ENTRY e { t = token[] after-all()\n a = (f32[3], u32[], token[]) recv(t), "
          "channel_id=1, is_host_transfer=true\n d = (f32[3], token[]) recv-done(a), "
          "channel_id=1, is_host_transfer=true\n ROOT r = f32[3] get-tuple-element(d), index=0 }";
    struct error err = {0};
    struct findings findings;
    struct module *module = text_read_module(text, strlen(text), "m", 1, &err);
    struct instruction *a = computation_find(module->entry, "a");
    ck_assert(verify_module(module, &findings));
    const struct shape *parts[] = {a->shape->elements[0], shape_scalar(TYPE_S32), shape_token()};
    a->shape = shape_tuple(3, parts);
    ck_assert(!verify_module(module, &findings));
    ck_assert_ptr_nonnull(strstr(findings.list[0].text, "must be (f32[3]{0}, u32[], token[])"));
    findings_finish(&findings);
    module_destroy(module);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify");
    TCase *tcase = tcase_create("verify");
    tcase_add_test(tcase, test_instructions);
    tcase_add_test(tcase, test_computations);
    tcase_add_test(tcase, test_pairs);
    tcase_add_test(tcase, test_collectives);
    tcase_add_test(tcase, test_headers);
    tcase_add_test(tcase, test_collects_all);
    tcase_add_test(tcase, test_spoiled);
    tcase_add_test(tcase, test_transfer_shape);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
