# Reports of a gate of 1,000 cases on three backends, as `referee gate --json` writes them: today's
# and five earlier ones, for tests of what is made of reports. What runs say that are not as expected
# was really said: it is taken from the runs of a small gate.
#   write(SMALL, FOLDER) writes FOLDER/before1.json to before5.json and FOLDER/now.json
import copy
import json
import pathlib
import random

SEED = 7
CASES = 1000  # today
EVER = 1013   # some are no longer run
BACKENDS = ["cpu:", "cuda:?target=h100",
            "pjrt:/usr/lib/accelerator/plugins/libpjrt_experimental.so?devices=8&allocator=bfc"]
SUITES = {"first": 30, "stablehlo": 180, "conformance/xla": 433, "models": 90, "devices": 60,
          "fuzz regressions 2026": 219, "<script>document.title='run'</script>": 1}
DATES = [f"2026-{date}:00Z" for date in
         ("11-02T03:10", "11-09T03:11", "11-16T03:09", "11-23T03:14", "11-29T22:40", "11-30T03:12")]
WORDS = ("attention block gather scatter rolled cumulative softmax layer_norm strided dilated "
         "convolution backward mixed bf16 f8e4m3 reduce_window select_and_scatter dynamic slice "
         "update while loop carried tuple sort stable topk segment ragged dot batched transposed "
         "fused multiply add quantized rng philox complex fft triangular cholesky solve").split()
# What a run ends with that ends badly, and how often.
OUTCOMES = {"MISMATCH": 60, "CRASH": 12, "TIMEOUT": 6, "COMPILE_ERROR": 10, "UNSUPPORTED": 6,
            "RUNTIME_ERROR": 4, "OOM": 2}
SAYS = {  # of outcomes that the small gate does not have: in the words of XLA
    "COMPILE_ERROR": "INTERNAL: during context [Pre-optimization]: Failed after %s: a dimension of "
                     "size 0 is no multiple of the tile {8,128}(4,1)",
    "UNSUPPORTED": "UNIMPLEMENTED: sort of %s by more than one key is not supported on this device",
    "RUNTIME_ERROR": "INTERNAL: CUDA error: %s: an illegal memory access was encountered",
    "OOM": "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 68719476736 bytes for %s"}


def names(random_):
    """Of all cases, each once; some are as long as a generator of tests makes them."""
    made = {}
    while len(made) < EVER:
        length = 12 if len(made) % 40 == 7 else random_.choice((2, 3, 3, 4, 5))
        made["_".join(random_.choices(WORDS, k=length)) + f"_{len(made)}"] = None
    made = list(made)
    made[EVER - 1] = "<script>document.title='run'</script>&amp;\"'>"
    made[3] = "μ-law of ±0 → ∞, with spaces"
    made[5] = "without_any_place_to_break" * 5
    return made


def fine(run, ulps):
    """Makes it a run that passed, off by no more than so much."""
    buckets = [4096 - 16 * (ulps > 0), 0, 0, 0, 0, 0, 0, 0]
    buckets[0 if ulps == 0 else 1 if ulps <= 1 else 2 if ulps <= 4 else 3 if ulps <= 16 else 4] += \
        16 * (ulps > 0)
    run.update(outcome="PASS", expected="PASS", status="as expected", reason="", message="",
               picture="", largest_ulps=ulps, buckets=buckets)


def bad(run, outcome, small, random_):
    said = random_.choice([r for r in small if r["outcome"] == outcome] or [None])
    fine(run, 0)
    run.update(outcome=outcome, status="unexpected", reason="expected PASS")
    if said:
        for key in ("message", "picture", "largest_ulps", "buckets"):
            run[key] = copy.deepcopy(said[key])
    else:
        run["message"] = SAYS[outcome] % run["case"][:40]


def excuse(run, random_):
    """Some of what ends badly is known, expected, in quarantine, or was until a day that is over."""
    why = random_.choice(["the tile of the last dimension is rounded up", "reported to the vendor",
                          "sums in bf16, which the profile does not allow yet"])
    kind = random_.random()
    if kind < 0.25:
        run.update(status="as expected", expected=run["outcome"], reason=why)
    elif kind < 0.40:
        run.update(status="known")
    elif kind < 0.50:
        run.update(status="quarantined", reason=f"expected PASS; in quarantine: {why}")
    elif kind < 0.55:
        run.update(expected=run["outcome"], reason=f"the expectation ended on 2026-10-31: {why}")
    elif kind < 0.58:
        run.update(reason=f"expected PASS; its quarantine ended on 2026-11-15 ({why})")


def lives(small, random_):
    """A run's history, as a list of the runs in each report; None where it was not in it."""
    cases = iter(names(random_))
    weights = list(OUTCOMES.values())
    for suite, count in SUITES.items():
        for position in range(count):
            case = next(cases)
            born = 0 if random_.random() < 0.97 else random_.randrange(1, len(DATES))
            worst = random_.choice([0, 0, 0, 0.5, 1, 2, 3, 8, 40])
            for b, backend in enumerate(BACKENDS):
                file = f"corpus/suites/{suite.split('/')[0]}/{case}.hlo"
                run = {"suite": suite, "case": case, "backend": backend, "seed": 1, "file": file,
                       "manifest": f"corpus/suites/{suite.split('/')[0]}/manifest.yaml",
                       "line": 8 + position, "content": 1, "golden_differs": False,
                       "seconds": round(random_.lognormvariate(-2, 1.5), 4),
                       "command": f"referee run '{file}' --backend '{backend}' --seed 1"}
                life = []
                breaks = random_.randrange(9) if random_.random() < 0.08 else None
                flaky = random_.random() < 0.004
                outcome = random_.choices(list(OUTCOMES), weights)[0]
                state = random_.getstate()
                for report in range(len(DATES)):
                    run = copy.deepcopy(run)
                    fine(run, worst * (b + 1) * (30 if random_.random() < 0.002 else 1))
                    # Broken from a report on; or until one, counted from the other end.
                    broken = breaks is not None and (
                        report >= breaks if breaks < 6 else report < breaks - 3)
                    if broken or flaky and random_.random() < 0.5:
                        now = random_.getstate()
                        random_.setstate(state)  # as it ended the time before
                        bad(run, outcome, small, random_)
                        excuse(run, random_)
                        random_.setstate(now)
                    life.append(run if report >= born else None)
                if position % 97 == 5 and born == 0:
                    life[-1] = None  # is no longer a case
                yield life


def write(small, folder):
    random_ = random.Random(SEED)
    small = json.loads(pathlib.Path(small).read_text(encoding="utf-8"))["runs"]
    every = list(lives(small, random_))
    assert len({(life[-1]["suite"], life[-1]["case"]) for life in every if life[-1]}) == CASES
    for position, date in enumerate(DATES):
        runs = [life[position] for life in every if life[position]]
        name = "now" if position == len(DATES) - 1 else f"before{position + 1}"
        report = {"format": "referee-gate", "version": 1, "date": date, "shard": "1/1", "runs": runs}
        (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(report), encoding="utf-8")
