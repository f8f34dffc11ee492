#!/usr/bin/env python3
# Pages as a reader has them: looked at and used in a headless browser (browser.py), on a desk and on
# a telephone, on light and dark screens. What must be seen comes from the reports of which the pages
# are made.
#   test_pages.py [--screenshots DIR] {gate|passes LOOKS PAGE REPORT.json}…
# gate: a page of `referee gate` or `referee report`; passes: of `referee passes`. LOOKS are such as
# 1280-light,400-dark; on the first one the page is used, too. --screenshots keeps what was seen. Exit
# status: 0 all passed, 1 not, 77 there is no browser.
import argparse
import collections
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser import Browser, find_browser  # pylint: disable=wrong-import-position

LAYOUT = pathlib.Path(__file__).with_name("layout.js").read_text(encoding="utf-8")
# (--back, --bad-back) of page.css, light and dark.
COLORS = {False: ((255, 255, 255), (251, 222, 222)), True: ((22, 24, 28), (87, 29, 29))}
SIZE_MOST = 5 << 20
passed = failed = 0


def check(what, good, *details):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("FAILED", what, *details)


def check_equal(what, got, wanted):
    if isinstance(got, list) and isinstance(wanted, list) and got != wanted:  # what differs of them
        both = [item for item in got if item in wanted]
        if len(both) < max(len(got), len(wanted)):
            got = [item for item in got if item not in both]
            wanted = [item for item in wanted if item not in both]
    check(what, got == wanted, f"got {got!r:.600}, wanted {wanted!r:.600}")


def check_none(what, findings):
    check(what, not findings, len(findings), *(f"\n    {finding}" for finding in findings[:8]))


def identity(*names):
    """As page_identity writes it."""
    def encode(name):
        return re.sub(rb"[^A-Za-z0-9._-]", lambda match: b"~%02X" % match[0][0], name.encode()).decode()
    return "/".join(map(encode, names))


# --- what holds for all pages ---

def check_looks(name, page):
    """The page as it is laid out now, and that nothing was said or asked for."""
    page.evaluate(LAYOUT + "0")
    check_none(f"{name}: faint", page.evaluate("layout.faint()"))
    check_none(f"{name}: text on text", page.evaluate("layout.overlapping()"))
    check_none(f"{name}: beyond the edge", page.evaluate("layout.overflowing()"))
    check_none(f"{name}: unnamed", page.evaluate("layout.unnamed()"))
    check_none(f"{name}: dangling links", page.evaluate("layout.dangling()"))
    check_none(f"{name}: problems", page.problems)
    check_equal(f"{name}: requests", len(page.requests), 1)


def check_picture(name, browser, page, dark, red, keep):
    """The screenshot has the page's background, text, and the red of what is wrong."""
    picture = page.screenshot(keep and keep / f"{name}.png")
    colors = browser.colors(picture)
    whole = sum(colors.values())
    check_equal(f"{name}: size", whole, page.width * page.height)
    back, bad = COLORS[dark]
    share = colors.get(back, 0) / whole
    check(f"{name}: background", 0.3 < share < 0.98, share)
    check(f"{name}: not blank", len(colors) > 100, len(colors))
    if red:
        check(f"{name}: red", colors.get(bad, 0) > 20, colors.get(bad))


def each_look(browser, looks, path):
    """Opens the page once for each of the looks; gives (name, page, dark)."""
    size = pathlib.Path(path).stat().st_size
    check("size", size < SIZE_MOST, size)
    for words in looks.split(","):
        width, scheme = words.split("-")
        look = f"{pathlib.Path(path).stem}-{words}"
        start = time.monotonic()
        page = browser.open(path, width=int(width), dark=scheme == "dark")
        print(f"{look}: {size} bytes, loaded in {time.monotonic() - start:.1f} s")
        yield look, page, scheme == "dark"
        page.close()


# --- the gate's page ---

def status_of(run):
    return ("excused" if run["status"] == "as expected" and run["outcome"] != "PASS"
            else {"as expected": "fine"}.get(run["status"], run["status"]))


def outcome_of(run):
    return "GOLDEN_DIFFERS" if run["golden_differs"] else run["outcome"]


def run_identity(run):
    return f"{identity(run['suite'], run['case'])}@{identity(run['backend'])},{run['seed']}"


def shown(page):
    """The runs and cases that the filter leaves."""
    return page.evaluate("""[
        [...document.querySelectorAll("section.runs:not([hidden]) details.run:not([hidden]) > .body")]
            .map(body => body.id).sort(),
        [...document.querySelectorAll("details.suite:not([hidden]) tbody > tr:not([hidden])")]
            .map(row => row.id).sort()]""")


def choose(page, **values):
    page.evaluate("""(values => {
        const form = document.getElementById("filter");
        for (const field of form.querySelectorAll("input, select")) {
            field.value = values[field.name] || "";
        }
        form.dispatchEvent(new Event("input"));
    })(%s)""" % json.dumps(values))


def check_counts(page, runs):
    """The table at the top, and what is on the page at all."""
    rows = page.evaluate("""[...document.querySelectorAll(".counts tr")].map(
        row => [...row.cells].map(cell => cell.textContent.replace("·", "0")))""")
    backends = list(dict.fromkeys(run["backend"] for run in runs))
    labels = {"unexpected": "unexpected", "known": "known", "in quarantine": "quarantined",
              "expected failures": "excused", "as they should be": "fine"}
    counts = collections.Counter()
    for run in runs:
        for word in {status_of(run), outcome_of(run)}:
            counts[word, run["backend"]] += 1
    for row in rows[1:]:
        word = labels.get(row[0], row[0])
        each = [counts[word, backend] for backend in backends]
        wanted = [sum(each), *(each if len(backends) > 1 else [])]
        check_equal(f"counts of {row[0]}", list(map(int, row[1:])), wanted)
    outcomes = {outcome_of(run) for run in runs} - {"PASS"}
    check_equal("rows of counts", {row[0] for row in rows[1:]}, set(labels) | outcomes)
    ids, cases = shown(page)
    bad = [run for run in runs if status_of(run) != "fine"]
    check_equal("runs that did not pass", ids, sorted(map(run_identity, bad)))
    check_equal("cases", cases, sorted({identity(run["suite"], run["case"]) for run in runs}))
    unexpected = sum(status_of(run) == "unexpected" for run in runs)
    check_equal("headline", page.evaluate("document.querySelector('h1').textContent"),
                f"Referee gate: {f'{unexpected} unexpected' if unexpected else 'all as expected'}")
    check_equal("scripts", page.evaluate("document.scripts.length"), 1)
    check("no name ran as a script", "Referee gate" in page.evaluate("document.title"))


def check_texts(page, runs):
    """What every run has to say."""
    said = page.evaluate("""Object.fromEntries([...document.querySelectorAll("details.run > .body")].map(body =>
        [body.id, [".command", ".message", ".picture"].map(
            selector => body.querySelector(selector)?.firstChild.data.trim() || "")]))""")
    check_equal("command, message and picture",
                [[id, *words] for id, words in sorted(said.items())],
                sorted([run_identity(run), *(run[key].strip() for key in ("command", "message", "picture"))]
                       for run in runs if status_of(run) != "fine"))


def check_filter(page, runs):
    bad = [run for run in runs if status_of(run) != "fine"]
    every = {"status": status_of, "outcome": outcome_of, "backend": lambda run: run["backend"],
             "suite": lambda run: run["suite"]}

    def check_choice(**wanted):
        choose(page, **wanted)
        fits = [run for run in runs if all(every[key](run) == value for key, value in wanted.items())]
        left, cases = shown(page)
        name = f"filter {wanted}"
        check_equal(f"{name}: runs", left,
                    sorted(run_identity(run) for run in fits if status_of(run) != "fine"))
        check_equal(f"{name}: cases", cases,
                    sorted({identity(run["suite"], run["case"]) for run in fits}))

    for key, function in every.items():
        for value in sorted(set(map(function, runs)))[:9 if key == "outcome" else 5]:
            check_choice(**{key: value})
    check_choice(status="unexpected", outcome="MISMATCH", backend=runs[0]["backend"])
    choose(page, status="bad")
    check_equal("all but passes", shown(page)[0], sorted(map(run_identity, bad)))

    # Every failing run is found by the name of its case, and nothing else is.
    wanted = [(f"{run['suite']}/{run['case']}", run_identity(run)) for run in bad]
    lost = page.evaluate("""(wanted => {
        const form = document.getElementById("filter"), lost = [];
        form.reset();
        for (const [name, id] of wanted) {
            form.elements.text.value = name.toUpperCase();
            form.dispatchEvent(new Event("input"));
            const left = [...document.querySelectorAll("details.run:not([hidden])")];
            if (!left.some(run => run.querySelector(".body").id === id) ||
                left.some(run => run.querySelector(".case").textContent !== name &&
                                 !run.querySelector(".case").textContent.includes(name))) {
                lost.push(name);
            }
        }
        return lost;
    })(%s)""" % json.dumps(wanted))
    check_none("found by name", lost)


def check_use(page, runs):
    """Keys and clicks: the filter, and down to the picture and the command."""
    bad = {run_identity(run): run for run in runs if status_of(run) != "fine"}
    page.press("Escape")
    page.evaluate("new Promise(done => setTimeout(done))")
    check_equal("Escape shows all", len(shown(page)[0]), len(bad))
    page.press("/")
    page.press("z")
    check_equal("/ and a word", page.evaluate("document.getElementById('filter').elements.text.value"), "z")
    check_equal("are in the address", page.evaluate("location.hash"), "#text=z")
    page.press("Escape")
    page.evaluate("new Promise(done => setTimeout(done))")
    order = page.evaluate("[...document.querySelectorAll('details.run > .body')].map(body => body.id)")
    for step in range(3):
        page.press("j")
        opened = page.evaluate("[...document.querySelectorAll('details.run[open] > .body')].map(b => b.id)")
        check_equal(f"j {step}: one is open", opened, order[step:step + 1])
        check_equal(f"j {step}: its address", page.evaluate("decodeURI(location.hash)"), f"#{opened[0]}")
    page.press("k")
    check_equal("k: the one before", page.evaluate("decodeURI(location.hash)"), f"#{order[1]}")
    page.press("Escape")
    page.evaluate("new Promise(done => setTimeout(done))")

    # A click on a mark in the matrix goes to its run, which says everything.
    marks = page.evaluate("[...document.querySelectorAll('tr a.mark')].map(a => a.hash.slice(1))")
    target = next(mark for mark in marks if bad[mark]["picture"])
    page.click(f"tr a.mark[href='#{target}']")
    page.evaluate("new Promise(done => setTimeout(done, 50))")
    seen = page.evaluate("""(id => {
        const body = document.getElementById(id), text = selector => {
            const element = body.querySelector(selector);
            return element && element.getBoundingClientRect().height > 10 ? element.firstChild.data : null;
        };
        const box = body.closest("details").getBoundingClientRect();
        return [text(".picture"), text(".command"), box.top >= 0 && box.top < innerHeight / 2];
    })(%s)""" % json.dumps(target))
    check_equal("picture", (seen[0] or "").strip(), bad[target]["picture"].strip())
    check_equal("command", seen[1], bad[target]["command"])
    check("in view", seen[2])

    # What stays while one scrolls.
    top = page.evaluate("""(() => {
        document.querySelector("details.suite tbody tr:last-child").scrollIntoView();
        const form = document.getElementById("filter"), box = form.getBoundingClientRect();
        return [box.top, form.contains(document.elementFromPoint(box.left + 10, box.top + 20))];
    })()""")
    check_equal("the filter stays in sight", top, [0, True])

    # A count at the top is a filter.
    page.evaluate("document.querySelector('.counts a').scrollIntoView()")
    page.click(".counts tbody tr:first-child td:last-child a")
    page.evaluate("new Promise(done => setTimeout(done, 50))")
    first = runs[0]["backend"]
    last = list(dict.fromkeys(run["backend"] for run in runs))[-1]
    check_equal("a count is a filter", shown(page)[0], sorted(
        id for id, run in bad.items() if status_of(run) == "unexpected" and
        (first == last or run["backend"] == last)))


def check_links(browser, path, runs):
    """An address of a run or case opens what it is in, with and without scripts."""
    bad = [run for run in runs if status_of(run) != "fine"]
    odd = [run for run in bad if not re.fullmatch(r"[\w/ ]+", run["suite"] + run["case"])] or bad[-1:]
    run, case = run_identity(odd[0]), identity(runs[0]["suite"], runs[0]["case"])
    for scripts, target in ((True, run), (False, run), (False, case)):
        page = browser.open(path, f"#{target}", scripts=scripts)
        if not scripts:  # the page's did not run; the test's own may
            page.call("Emulation.setScriptExecutionDisabled", value=False)
        box = page.evaluate("""(id => {
            const box = document.getElementById(id).getBoundingClientRect();
            return [box.height > 0, box.top >= 0 && box.top < innerHeight];
        })(%s)""" % json.dumps(target))
        check_equal(f"link to {target}, scripts {scripts}", box, [True, True])
        hidden = page.evaluate("document.getElementById('filter').hidden")
        check_equal(f"the filter needs scripts, {scripts}", hidden, not scripts)
        page.close()


def check_paper(page, whole):
    page.media("print")
    check_none("on paper: beyond the edge", page.evaluate("layout.overflowing()"))
    check_equal("on paper: no filter", page.evaluate(
        "document.getElementById('filter').getBoundingClientRect().height"), 0)
    page.media("")
    if whole:  # a thousand cases take half a minute
        sheets = len(re.findall(rb"/Type\s*/Page\b", page.print()))
        check("on paper: sheets", sheets > 0, sheets)


def gate(browser, looks, path, report, keep):
    runs = json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["runs"]
    some_bad = any(status_of(run) != "fine" for run in runs)
    for first, (look, page, dark) in enumerate(each_look(browser, looks, path)):
        check_looks(look, page)
        red = any(status_of(run) == "unexpected" for run in runs)
        check_picture(look, browser, page, dark, red, keep)
        if first == 0:
            check_counts(page, runs)
            if some_bad:
                check_texts(page, runs)
                check_filter(page, runs)
                check_use(page, runs)
            page.press("Escape")
        page.press("j")
        check_looks(f"{look}, a run open", page)
        if keep:
            page.screenshot(keep / f"{look}-run.png")
        if first == 0:
            check_paper(page, len(runs) < 100)
    if some_bad:
        check_links(browser, path, runs)


# --- the passes' page ---

def check_curves(page, entry):
    """Both panels, in the one of the two sizes that is shown."""
    panels = page.evaluate("""[...document.querySelectorAll("figure svg")]
        .filter(svg => svg.checkVisibility()).map(svg => ({
            words: [...svg.querySelectorAll("text")].map(text => text.textContent),
            word: svg.querySelector(".word")?.textContent,
            places: [...svg.querySelectorAll("circle")].map(dot => Number(dot.getAttribute("cx"))),
            bad: [...svg.querySelectorAll("circle.bad")].map(dot => Number(dot.getAttribute("cx"))),
            open: svg.querySelectorAll("rect.open").length,
            lines: [...svg.querySelectorAll("polyline")].map(line => line.points.length)}))""")
    check_equal("panels", len(panels), 2)
    passes, finding = entry["passes"], entry["finding"]
    jumps = [step for step in passes if step["jump"]]
    for panel in panels:
        check_equal("a dot for each jump", len(panel["places"]), len(jumps))
        check("dots from left to right", panel["places"] == sorted(set(panel["places"])))
        wrong = [x for x, step in zip(panel["places"], jumps) if step["outcome"] == "MISMATCH"]
        check_equal("red dots", panel["bad"], wrong)
        check_equal("gaps", panel["open"],
                    sum(not step["jump"] and step["outcome"] != "PASS" for step in passes))
        check_equal("points of the drift", sum(panel["lines"]),
                    1 + sum(step["drift"] is not None for step in passes[1:]))
        check("axes", {"equal bits", "pass"} < set(panel["words"]), panel["words"])
        if finding:
            check_equal("the first bad pass", panel.get("word"), f"{finding['number']} {finding['name']}")


def check_table(page, entry):
    rows = page.evaluate("""[...document.querySelectorAll(".passes tbody tr")].map(row => [
        Number(row.cells[0].textContent), row.cells[1].textContent, row.className])""")
    check_equal("rows", [row[:2] for row in rows],
                [[step["position"], step["name"]] for step in entry["passes"]])
    check_equal("bad rows", [row[0] for row in rows if row[2] == "bad"],
                [step["position"] for step in entry["passes"] if step["outcome"] == "MISMATCH"])
    page.click(".moved input")
    left = page.evaluate("""[...document.querySelectorAll(".passes tbody tr")]
        .filter(row => row.checkVisibility()).map(row => Number(row.cells[0].textContent))""")
    check_equal("those that moved a bit", left, [
        step["position"] for step in entry["passes"]
        if step["outcome"] != "PASS" or step["is_leak"] or step["jump"] and not step["jump"]["bits"]])
    page.click(".moved input")


def check_finding(page, entry):
    seen = page.evaluate("""(() => {
        const box = document.querySelector(".finding"), lines = selector => [...box.querySelectorAll(selector)]
            .filter(line => line.checkVisibility()).map(line => line.textContent);
        return [lines("h3"), lines("pre"), lines(".plus"), lines(".minus"), lines("code")];
    })()""")
    finding = entry["finding"]
    check("its name", finding["pass"] in seen[0][0] and finding["pipeline"] in seen[0][0], seen[0])
    check_equal("its command", seen[1][-1], entry["command"])
    check_equal("its picture", seen[1][0].strip(), finding["picture"].strip())
    plus, minus = ([line for line in finding["diff"].splitlines() if line.startswith(sign)]
                   for sign in "+-")
    check("its diff", bool(plus) and seen[2:4] == [plus, minus], seen[2:4])
    # The dot leads to the row.
    page.click(f"figure.wide a[href='#m{entry['id']}-{finding['number']}'] rect")
    page.evaluate("new Promise(done => setTimeout(done, 50))")
    check_equal("the dot's row", page.evaluate("document.querySelector(':target').cells[1].textContent"),
                finding["name"])


def passes(browser, looks, path, report, keep):
    entry = json.loads(pathlib.Path(report).read_text(encoding="utf-8"))[0]
    for first, (look, page, dark) in enumerate(each_look(browser, looks, path)):
        check_looks(look, page)
        check_curves(page, entry)
        check_picture(look, browser, page, dark, False, keep)
        check_table(page, entry)
        if keep:
            page.screenshot(keep / f"{look}-whole.png", whole=True)
        if first == 0:
            if entry["finding"]:
                check_finding(page, entry)
            page.media("print")
            check_none(f"{look}, on paper: beyond the edge", page.evaluate("layout.overflowing()"))
            check_equal("scripts", page.evaluate("document.scripts.length"), 0)


PAGES = {"gate": gate, "passes": passes}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("words", nargs="+", metavar="KIND LOOKS PAGE REPORT")
    arguments = parser.parse_args()
    program = find_browser()
    if program is None:
        print("there is no browser to look at pages with: chromium-headless-shell")
        return 77
    with Browser(program) as browser:
        for kind, looks, path, report in zip(*[iter(arguments.words)] * 4, strict=True):
            PAGES[kind](browser, looks, path, report, arguments.screenshots)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
