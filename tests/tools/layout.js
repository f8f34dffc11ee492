// What a reader would object to in a page as it is laid out now, for test_pages.py: every function
// gives a list of findings as text, empty if there are none.
globalThis.layout = (() => {
const words = element => `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") || ""}"> ` +
    element.textContent.trim().slice(0, 60);

// The part of a rectangle that ancestors which clip leave; null if none.
const clips = new Map();
function clip_of(element) {
    if (!element || element === document.body || element === document.documentElement) {
        return {left: -1e9, right: 1e9, top: -1e9, bottom: 1e9};
    }
    if (!clips.has(element)) {
        const above = clip_of(element.parentElement);
        let clip = above;
        if (getComputedStyle(element).overflowX !== "visible" && !(element instanceof SVGElement)) {
            clip = cut(element.getBoundingClientRect(), above) || {left: 0, right: 0, top: 0, bottom: 0};
        }
        clips.set(element, clip);
    }
    return clips.get(element);
}
function cut(a, b) {
    const left = Math.max(a.left, b.left), right = Math.min(a.right, b.right);
    const top = Math.max(a.top, b.top), bottom = Math.min(a.bottom, b.bottom);
    return left < right && top < bottom ? {left, right, top, bottom} : null;
}

// Not in what is closed, hidden or filtered out.
const is_seen = element => element.checkVisibility({visibilityProperty: true});

// Every line of text that can be seen: {node, element, left, right, top, bottom}.
function lines() {
    clips.clear();
    const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let node; (node = walker.nextNode());) {
        const element = node.parentElement;
        if (!node.data.trim() || element.closest("script, style, title, option") || !is_seen(element)) {
            continue;
        }
        range.selectNodeContents(node);
        for (const rectangle of range.getClientRects()) {
            const seen = cut(rectangle, clip_of(element));
            if (seen) {
                found.push({node, element, ...seen});
            }
        }
    }
    return found;
}

// Text on text.
function overlapping() {
    const findings = [];
    let above = [];
    for (const line of lines().sort((a, b) => a.top - b.top)) {
        above = above.filter(other => other.bottom > line.top + 2);
        for (const other of above) {
            // A text that is cut by an ellipsis has a rectangle with it and one without.
            const shared = Math.min(line.right, other.right) - Math.max(line.left, other.left);
            if (line.node !== other.node && shared > 1) {
                findings.push(`${words(other.element)} | ${words(line.element)}`);
            }
        }
        above.push(line);
    }
    return findings;
}

// What the page, or a picture in it, is too narrow for: all that ends beyond its edge and is not cut.
function overflowing() {
    clips.clear();
    const edge = document.documentElement.clientWidth + 1, findings = [];
    if (document.documentElement.scrollWidth > edge) {
        findings.push(`the page is ${document.documentElement.scrollWidth} wide`);
    }
    for (const element of document.body.querySelectorAll("*")) {
        if (!is_seen(element)) {
            continue;
        }
        for (const rectangle of element.getClientRects()) {
            const seen = cut(rectangle, clip_of(element.parentElement));
            const picture = element.tagName === "text" && element.ownerSVGElement.getBoundingClientRect();
            if (seen && (seen.right > edge || seen.left < -1) ||
                picture && (rectangle.left < picture.left - 1 || rectangle.right > picture.right + 1)) {
                findings.push(words(element));
            }
        }
    }
    return findings;
}

const numbers = color => (color.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
function luminance(color) {
    const [r, g, b] = numbers(color).map(value => value / 255)
        .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function background(element) {
    for (let at = element; at; at = at.parentElement) {
        const color = getComputedStyle(at).backgroundColor;
        if (numbers(color).length < 4 || numbers(color)[3] > 0) {
            return color;
        }
    }
    return "rgb(255, 255, 255)";
}

// Text whose contrast is less than WCAG 2 asks for at level AA.
function faint() {
    const findings = new Map();
    for (const {element} of lines()) {
        const style = getComputedStyle(element);
        const color = element instanceof SVGElement ? style.fill : style.color, back = background(element);
        const [dark, light] = [luminance(color), luminance(back)].sort((a, b) => a - b);
        const ratio = (light + 0.05) / (dark + 0.05);
        if (ratio < 4.5) {
            findings.set(`${color} on ${back}`, `${ratio.toFixed(2)}: ${color} on ${back}: ${words(element)}`);
        }
    }
    return [...findings.values()];
}

// What somebody who cannot see the page would stumble over.
function unnamed() {
    const findings = [], ids = new Set(), all = selector => [...document.querySelectorAll(selector)];
    all("th:not([scope])").forEach(element => findings.push(`no scope: ${words(element)}`));
    all("svg[role=img]:not([aria-label])").forEach(element => findings.push(`no name: ${words(element)}`));
    all("svg:not([role=img]):not([aria-hidden])").forEach(element => findings.push(`no role: ${words(element)}`));
    all("input, select").filter(element => !element.labels.length && !element.ariaLabel)
        .forEach(element => findings.push(`no name: ${words(element)}`));
    all("[id]").forEach(element => {
        if (ids.has(element.id)) {
            findings.push(`twice: ${element.id}`);
        }
        ids.add(element.id);
    });
    let level = 0;
    for (const heading of all("h1, h2, h3, h4")) {
        const next = Number(heading.tagName[1]);
        if (next > level + 1) {
            findings.push(`a heading of level ${next} after one of ${level}: ${words(heading)}`);
        }
        level = next;
    }
    for (const name of ["main", "h1", "title", "html[lang]"]) {
        if (!document.querySelector(name)) {
            findings.push(`no ${name}`);
        }
    }
    return findings;
}

// Links within the page that lead nowhere; those with "=" are for the filter.
function dangling() {
    return [...document.querySelectorAll("a[href]")].map(link => link.getAttribute("href"))
        .filter(href => href[0] !== "#" || !href.includes("=") && !document.getElementById(href.slice(1)));
}

return {overlapping, overflowing, faint, unnamed, dangling};
})();
