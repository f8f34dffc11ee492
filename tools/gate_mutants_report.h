/* What `referee gate --mutants` has measured: counts by class and by backend, and the list of what
 * was missed and of false alarms; as a table and as JSON. */
#ifndef TOOLS_GATE_MUTANTS_REPORT_H
#define TOOLS_GATE_MUTANTS_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Faults of one class, or on one backend. */
struct mutants_counts {
    int64_t planted;      /* and the backend gave a result */
    int64_t same;         /* of these change no element */
    int64_t within;       /* change what a right implementation might change */
    int64_t beyond;       /* change more than that: whoever tests should say so */
    int64_t found;        /* of those beyond: we did */
    int64_t undecided;    /* of those beyond: we said that the golden does not know */
    int64_t found_by_xla; /* of those beyond: XLA's rule did */
    int64_t found_within; /* of those within: we called them a mismatch */
};

/* Runs without a fault. */
struct mutants_clean {
    int64_t runs, inconclusive, vacuous;
    int64_t alarms, alarms_by_xla;
    int64_t known;   /* cases left out: they are expected to fail there */
    int64_t refused; /* runs without a result on the backend or on the golden */
    int64_t slow;    /* runs that got no faults for lack of time */
};

struct mutants_backend {
    const char *uri;
    struct mutants_counts faults;
    struct mutants_clean clean;
};

enum mutants_finding_kind { MUTANTS_MISSED, MUTANTS_ALARM, MUTANTS_ALARM_BY_XLA };
/* Texts are owned. */
struct mutants_finding {
    enum mutants_finding_kind kind;
    int class;     /* −1: no fault */
    char *module;  /* suite/case or file */
    char *what;    /* the fault, or the message of an alarm */
    char *outcome; /* of our comparison */
    char *excess;  /* by how much it can be seen; "" for alarms */
    char *command; /* repeats it */
};

struct mutants_report {
    int64_t seed;
    double goal;
    struct mutants_counts *classes; /* [mutant_class_count()] */
    size_t backend_count, backend_capacity;
    struct mutants_backend *backends;
    size_t finding_count, finding_capacity;
    struct mutants_finding *findings;
    double seconds;
};

void mutants_report_init(struct mutants_report *report);
void mutants_report_finish(struct mutants_report *report);
/* Adds the counts of another report and takes its findings; it is empty then. */
void mutants_report_join(struct mutants_report *report, struct mutants_report *part);
/* The backend's entry, made when it is new; uri is borrowed. Its place may move with the next. */
size_t mutants_report_backend(struct mutants_report *report, const char *uri);
struct mutants_finding *mutants_report_add(struct mutants_report *report,
                                           enum mutants_finding_kind kind, int class);
struct mutants_counts mutants_report_faults(const struct mutants_report *report);
struct mutants_clean mutants_report_clean(const struct mutants_report *report);
/* Were enough of the faults that can be seen found, and was there no false alarm? */
bool mutants_report_is_good(const struct mutants_report *report);

void mutants_report_print(const struct mutants_report *report);
json_t *mutants_report_json(const struct mutants_report *report);
/* Counts and findings alone, and back. False when the object is something else, or has a backend
 * that the report has not. */
json_t *mutants_report_part_json(const struct mutants_report *report);
bool mutants_report_add_part(struct mutants_report *report, const json_t *object);

#endif
