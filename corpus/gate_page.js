// The gate's page: its filter, which an address can hold (#status=unexpected&text=softmax), keys, and
// links into what is closed or filtered out. Without scripts all but the filter is there.
"use strict";
(() => {
const form = document.getElementById("filter"), field = form.elements, said = form.querySelector("output");
const all = (selector, where = document) => [...where.querySelectorAll(selector)];
const backends = [...field.backend.options].slice(1).map(option => option.value);
const suites = [...field.suite.options].slice(1).map(option => option.value);
const passes = {backend: null, status: "fine", outcome: "PASS"};

// What the filter looks at: the runs that did not pass, and the cases with what is in their cells.
const runs = all("details.run").map(element => ({
    element, text: element.querySelector(".case").textContent.toLowerCase(),
    suite: element.querySelector(".case > .dim").textContent.slice(0, -1),
    states: [{...element.dataset, backend: backends[element.dataset.backend]}]}));
const cases = all("details.suite").flatMap(suite => {
    const name = suites[suite.dataset.suite];
    return all("tbody > tr", suite).map(element => ({
        element, text: `${name}/${element.cells[0].textContent}`.toLowerCase(), suite: name,
        states: [...element.cells].slice(1).flatMap((cell, backend) => [
            ...all(".mark", cell).map(mark => ({
                backend: backends[backend], status: mark.classList[1], outcome: mark.textContent})),
            ...(cell.querySelector(".pass") ? [{...passes, backend: backends[backend]}] : [])])}));
});

function matches(item, wanted) {
    return item.text.includes(wanted.text) && (!wanted.suite || item.suite === wanted.suite) &&
        (!wanted.status && !wanted.outcome && !wanted.backend || item.states.some(state =>
            (!wanted.backend || state.backend === wanted.backend) &&
            (!wanted.outcome || state.outcome === wanted.outcome) &&
            (!wanted.status || state.status === wanted.status ||
             wanted.status === "bad" && state.status !== "fine")));
}

// Touches nothing that is as it should be, which is most of it at each letter that is typed.
function show(element, is_shown) {
    if (element.hidden === is_shown) {
        element.hidden = !is_shown;
    }
    return is_shown;
}

function apply() {
    const wanted = {};
    for (const name of ["text", "status", "outcome", "backend", "suite"]) {
        wanted[name] = field[name].value;
    }
    wanted.text = wanted.text.trim().toLowerCase();
    const filtered = Object.values(wanted).some(value => value);
    const shown = runs.filter(run => show(run.element, matches(run, wanted))).length;
    const rows = cases.filter(row => show(row.element, matches(row, wanted))).length;
    for (const section of all("section.runs")) {
        const total = all("details.run", section).length, left = all("details.run:not([hidden])", section).length;
        show(section, left > 0);
        section.querySelector(".count").textContent = left === total ? total : `${left} of ${total}`;
    }
    for (const suite of all("details.suite")) {
        if (show(suite, Boolean(suite.querySelector("tbody > tr:not([hidden])"))) && filtered) {
            suite.open = true;
        }
    }
    said.textContent = filtered ? `${shown} of ${runs.length} runs that did not pass, ` +
        `${rows} of ${cases.length} cases` : "";
    return wanted;
}

// The address holds the filter; a link to a run or case is kept until the filter changes.
function changed() {
    const words = new URLSearchParams(Object.entries(apply()).filter(([, value]) => value));
    history.replaceState(null, "", `#${words}`);
}

function follow() {
    const fragment = location.hash.slice(1);
    if (fragment.includes("=")) {
        const words = new URLSearchParams(fragment);
        for (const name of ["text", "status", "outcome", "backend", "suite"]) {
            field[name].value = words.get(name) || "";
        }
        apply();
        form.scrollIntoView();
        return;
    }
    const target = fragment && document.getElementById(fragment);
    if (!target) {
        return;
    }
    if (target.closest("[hidden]")) {
        form.reset();
        apply();
    }
    for (let at = target; at; at = at.parentElement) {
        if (at.tagName === "DETAILS") {
            at.open = true;
        }
    }
    (target.closest("details.run") || target).scrollIntoView();
}

// j and k go to the next and the previous run that is shown, and open it.
function step(by) {
    const shown = runs.map(run => run.element).filter(element => !element.hidden);
    const now = shown.indexOf(document.activeElement.closest("details.run"));
    const next = shown[now < 0 ? (by > 0 ? 0 : shown.length - 1) : now + by];
    if (next) {
        if (now >= 0) {
            shown[now].open = false;
        }
        next.open = true;
        next.querySelector("summary").focus({preventScroll: true});
        next.scrollIntoView();
        history.replaceState(null, "", `#${next.querySelector(".body").id}`);
    }
}

const keys = {
    "/": () => field.text.focus(),
    j: () => step(1),
    k: () => step(-1),
    Escape: () => { form.reset(); document.activeElement.blur(); changed(); }};
document.addEventListener("keydown", event => {
    const typing = document.activeElement.matches("input, select") && event.key !== "Escape";
    if (keys[event.key] && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        keys[event.key]();
    }
});

for (const command of all(".command")) {
    const button = document.createElement("button"), words = command.textContent;
    button.type = "button";
    button.textContent = "copy";
    button.onclick = () => navigator.clipboard.writeText(words).then(
        () => { button.textContent = "copied"; }, () => getSelection().selectAllChildren(command));
    command.append(button);
}

// On paper what fails the gate is in full.
let closed = [];
addEventListener("beforeprint", () => {
    closed = all("#unexpected details.run:not([open]):not([hidden])");
    closed.forEach(element => { element.open = true; });
});
addEventListener("afterprint", () => closed.forEach(element => { element.open = false; }));

form.addEventListener("input", changed);
form.addEventListener("reset", () => setTimeout(changed));
form.addEventListener("submit", event => event.preventDefault());
all("#filter, .wanted").forEach(element => { element.hidden = false; });
new ResizeObserver(() => document.documentElement.style.setProperty(
    "--bar", getComputedStyle(form).position === "sticky" ? `${form.offsetHeight}px` : "0px")).observe(form);
addEventListener("hashchange", follow);
follow();
})();
