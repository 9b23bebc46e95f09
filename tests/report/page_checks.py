"""Checks of a page that run inside a browser, as JavaScript."""

ACCESSIBLE = """() => {
    const wrong = [];
    const all = (selector) => [...document.querySelectorAll(selector)];
    if (!document.documentElement.lang) wrong.push("no language");
    for (const tag of ["header", "nav", "main", "footer"])
        if (all(tag).length !== 1) wrong.push(`not one ${tag}`);
    if (all("h1").length !== 1) wrong.push("not one h1");
    let before = 0;
    for (const head of all("h1, h2, h3, h4, h5, h6")) {
        const level = Number(head.tagName[1]);
        if (level > before + 1) wrong.push(`h${before} then h${level}`);
        if (!head.textContent.trim()) wrong.push("empty heading");
        before = level;
    }
    // Marks and bars only repeat what stands beside them.
    for (const sign of all("svg.mark, svg.bar"))
        if (sign.getAttribute("aria-hidden") !== "true") wrong.push("a sign is read");
    for (const drawing of all("svg:not(.mark, .bar)")) {
        const named = drawing.closest("[role=img]")?.getAttribute("aria-label")?.trim();
        if (drawing.getAttribute("aria-hidden") !== "true" || !named)
            wrong.push("figure without a name");
    }
    for (const input of all("input, select"))
        if (!input.labels.length) wrong.push(`${input.id} without label`);
    for (const control of all("button, a[href]"))
        if (!control.textContent.trim()) wrong.push("control without a name");
    for (const table of all("table")) {
        if (!table.querySelector("thead th[scope=col]"))
            wrong.push("table without heads");
        for (const row of table.querySelectorAll("tbody tr:not(.spacer)"))
            if (!row.querySelector("th[scope=row]")) wrong.push("row without a head");
    }
    for (const element of all("section, article, [role=region]")) {
        const id = element.getAttribute("aria-labelledby");
        if (!document.getElementById(id)?.textContent.trim())
            wrong.push("region without a name");
    }
    const ids = all("[id]").map((element) => element.id);
    if (new Set(ids).size !== ids.length) wrong.push("an id twice");
    return wrong;
}"""

# WCAG's contrast of every text with the first opaque colour behind it.
CONTRAST = """() => {
    const canvas = document.createElement("canvas").getContext("2d", {
        willReadFrequently: true });
    const rgba = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => {
        const part = (v) => (v /= 255) <= .04045
            ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
        return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
    };
    const low = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let seen = 0;
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const box = element.getBoundingClientRect();
        if (!walker.currentNode.data.trim() || !box.width || element.closest("script"))
            continue;
        const style = getComputedStyle(element);
        const ink = rgba(element.closest("svg") ? style.fill : style.color);
        let behind = element;
        while (behind && rgba(getComputedStyle(behind).backgroundColor)[3] < 255)
            behind = behind.parentElement;
        const paper = rgba(behind ? getComputedStyle(behind).backgroundColor : "white");
        const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
        seen++;
        if ((a + .05) / (b + .05) < 4.5)
            low.push([walker.currentNode.data.trim(), ink, paper]);
    }
    return [seen, low];
}"""

# Marks of figures against the page: 3 to 1 is asked of them.
MARKS = """() => {
    const canvas = document.createElement("canvas").getContext("2d", {
        willReadFrequently: true });
    const luminance = (colour) => {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const part = (v) => (v /= 255) <= .04045
            ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(part);
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const paper = luminance(getComputedStyle(document.body).backgroundColor);
    const marks = document.querySelectorAll(
        ".drawing rect, .bar rect, .round, .shape, .square, .hollow");
    return [...marks].map((mark) => {
        const ink = luminance(getComputedStyle(mark).getPropertyValue("--c"));
        const [a, b] = [ink, paper].sort((x, y) => y - x);
        return (a + .05) / (b + .05);
    });
}"""
