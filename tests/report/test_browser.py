"""The page and its map in a real browser."""

import re
from pathlib import Path

import pytest
from report_models import HOSTILE

from containers import planted

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
pytestmark = pytest.mark.slow
playwright_api = pytest.importorskip("playwright.sync_api")
expect = playwright_api.expect


def names_shown(page):
    return page.locator("#body tr:not(.spacer) th").all_inner_texts()


NAMES = [
    "plain",
    "labelled",
    "hostile",
    "one cluster",
    "one row",
    "forty clusters",
    "chosen",
    "wide",
]


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_without_complaint_or_network_and_can_be_read_aloud(visit, name):
    page = visit(name)
    assert page.title() == f"{name} – 3CPO report"
    expect(page.locator("#explorer")).to_be_visible()
    expect(page.locator("#found")).to_contain_text("column")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert page.evaluate(ACCESSIBLE) == []


def test_the_policy_stops_what_slips_in(browser, pages):
    """A script that got into the page would not run, nor would a request leave it."""
    page = browser.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto((pages / "plain.html").as_uri())
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.slipped = true";
            document.body.append(script);
            const image = document.createElement("img");
            image.src = "http://127.0.0.1:9/x.png";
            document.body.append(image);
        }"""
    )
    while len(refused) < 2:
        page.wait_for_event("console", timeout=600_000)
    assert page.evaluate("window.slipped") is None
    assert all("Content Security Policy" in text for text in refused)
    page.close()


def test_hostile_names_are_text(visit):
    page = visit("hostile")
    assert page.locator("img").count() == 0
    shown = names_shown(page)
    assert len(shown) == len(HOSTILE)
    assert "<script>alert(1)</script>" in shown
    page.fill("#search", "</script>")
    assert all("</script>" in name for name in names_shown(page))
    assert len(names_shown(page)) == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_search_finds_names_in_any_case(visit):
    page = visit("plain")
    assert len(names_shown(page)) == 10
    page.fill("#search", "BETA")
    assert sorted(names_shown(page)) == ["beta 10", "beta 2"]
    expect(page.locator("#found")).to_have_text("2 of 10 columns")
    page.fill("#search", "nothing like it")
    assert names_shown(page) == []
    expect(page.locator("#found")).to_have_text("0 of 10 columns")
    page.fill("#search", "")
    assert len(names_shown(page)) == 10
    page.press("#search", "Enter")
    assert page.url.endswith("plain.html")


def test_groups_can_be_chosen(visit):
    page = visit("plain")
    for group, number in (("relevant", 6), ("shared", 2), ("noise", 2)):
        page.select_option("#group", label=group)
        kinds = page.locator("#body td.kind").all_inner_texts()
        assert kinds == [group] * number


def test_sorting_goes_both_ways_and_is_announced(visit):
    page = visit("plain")
    head = page.locator("#heads th").first
    assert head.get_attribute("aria-sort") is None
    page.get_by_role("button", name="Column", exact=True).click()
    assert head.get_attribute("aria-sort") == "ascending"
    expected = ["alpha", "Bach", "beta 2", "beta 10", "é", "Gamma"]
    assert names_shown(page)[:6] == expected
    page.get_by_role("button", name="Column", exact=True).click()
    assert head.get_attribute("aria-sort") == "descending"
    assert names_shown(page)[-4:] == expected[3::-1]
    assert page.locator("[aria-sort]").count() == 1


def test_numbers_sort_as_numbers_with_the_unknown_last(visit):
    page = visit("plain")
    page.get_by_role("button", name="Overall count", exact=True).click()
    texts = page.locator("#body td:nth-child(5)").all_inner_texts()
    values = [float(text) for text in texts]
    assert values == sorted(values, reverse=True)
    page = visit("wide")
    page.get_by_role("button", name="Ratio there", exact=True).click()
    first = page.locator("#body tr td:nth-child(4)").first.inner_text()
    assert first.startswith("× ")


def test_all_numbers_of_a_column_are_there(visit):
    X, _ = planted(3, 40, 15)
    page = visit("plain")
    page.fill("#search", "Bach")
    cells = page.locator("#body tr td").all_inner_texts()
    assert cells[0] == "relevant"
    assert cells[1].startswith("cluster ")
    assert cells[2].startswith("× ")
    assert float(cells[3]) == pytest.approx(X[:, 0].mean(), rel=5e-3)
    assert len(cells) == 4 + 3


def test_the_theme_follows_the_system_and_the_button(visit):
    def paper(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = "rgb(255, 255, 255)", "rgb(21, 24, 28)"
    page = visit("plain", color_scheme="light")
    button = page.locator("#theme")
    assert paper(page) == light
    expect(button).to_have_text("Dark theme")
    button.click()
    assert paper(page) == dark
    expect(button).to_have_text("Light theme")
    button.click()
    assert paper(page) == light
    page = visit("plain", color_scheme="dark")
    assert paper(page) == dark
    page.locator("#theme").click()
    assert paper(page) == light


def test_the_keyboard_reaches_everything_in_order(visit):
    page = visit("plain")
    reached = []
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                """() => {
                    const e = document.activeElement;
                    if (e === document.body) return null;
                    const ring = getComputedStyle(e).outlineStyle;
                    return [e.id || e.textContent.trim(), ring];
                }"""
            )
        )
    # Behind the last one the browser goes on to its own buttons.
    if None in reached:
        reached = reached[: reached.index(None)]
    names = [name for name, _ in reached]
    assert names[0] == "Skip to the clusters"
    assert names[1:6] == ["Markers", "Tree", "Columns", "Confidence", "Outliers"]
    wanted = ["theme", "colour-by", "colour-column", "map-area", "search", "group"]
    wanted += ["viewport"]
    assert [name for name in names if name in wanted] == wanted
    assert names.index("map-area") < names.index("Cluster") < names.index("search")
    heads = names[names.index("viewport") + 1 :]
    assert heads[:3] == ["Column", "Group", "Highest in"]
    assert [name for name, ring in reached if ring == "none"] == []


def test_the_skip_link_skips(visit):
    page = visit("plain")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_table_of_clusters_sorts_and_opens_cards(visit):
    page = visit("labelled")
    sizes = page.locator("#overview tbody td.n")
    page.get_by_role("button", name="Sites", exact=True).click()
    values = [int(text) for text in sizes.all_inner_texts()]
    assert values == sorted(values, reverse=True)
    page.get_by_role("button", name="Sites", exact=True).click()
    assert [int(text) for text in sizes.all_inner_texts()] == sorted(values)
    # Few clusters leave room for the first card; a click closes it.
    expect(page.locator("#cluster-0")).to_be_visible()
    page.locator("#overview tr[data-cluster='0']").click()
    assert page.locator("article:visible").count() == 0
    page.locator("#overview tr[data-cluster='1']").click()
    expect(page.locator("#cluster-1")).to_be_visible()
    assert page.locator("article:visible").count() == 1
    page.locator("#tree ~ figure a[href='#cluster-0']").click()
    expect(page.locator("#cluster-0")).to_be_visible()
    assert page.locator("article:visible").count() == 1
    page.locator("#overview a").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("article:visible").count() == 1


def test_tables_and_figures_can_be_taken_away(visit):
    page = visit("plain")

    def taken(place):
        with page.expect_download() as download:
            page.locator(place).first.click()
        return Path(download.value.path()).read_bytes()

    lines = taken(".list-side .take").decode("utf-8-sig").splitlines()
    assert lines[0].startswith("Cluster,Rows")
    assert len(lines) == 1 + 3 + 1
    svg = taken(".map-side .take")
    assert svg.startswith(b"<svg")
    assert b"class=" not in svg
    assert taken(".map-side .take >> nth=1").startswith(b"\x89PNG")
    heat = taken("#markers ~ .takes .take >> nth=1").decode()
    assert "Bach" in heat
    assert "color(" in heat
    tree = taken("#tree ~ figure .take").decode()
    for name in page.locator(".leaves a bdi").all_inner_texts():
        assert name in tree
    lines = taken("#tools .take").decode("utf-8-sig").splitlines()
    assert len(lines) == 1 + 10


def test_details_unfold_by_a_click_and_by_a_link(visit):
    page = visit("plain")
    joins = page.locator("details", has=page.locator(".branching"))
    expect(page.locator("#node-3")).to_be_hidden()
    joins.locator("summary").click()
    expect(page.locator("#node-3")).to_be_visible()
    joins.locator("summary").click()
    expect(page.locator("#node-3")).to_be_hidden()
    page.evaluate("location.hash = '#node-3'")
    expect(page.locator("#node-3")).to_be_visible()
    assert page.locator("details[open]").count() == 1


def test_the_first_printed_page_is_the_map_and_the_table(visit):
    page = visit("chosen", viewport={"width": 672, "height": 1000})
    page.emulate_media(media="print")
    ends = page.evaluate(
        """["#map-area", "#overview"].map(
            (id) => document.querySelector(id).getBoundingClientRect().bottom)"""
    )
    assert ends == sorted(ends)
    assert ends[1] < 1000
    starts = "getComputedStyle(document.querySelector('#cards')).breakBefore"
    assert page.evaluate(starts) == "page"


def test_heads_never_break_inside_words(visit):
    page = visit("labelled", viewport={"width": 360, "height": 800})
    wraps = """[...document.querySelectorAll("thead th")].map(
        (head) => getComputedStyle(head).overflowWrap)"""
    assert set(page.evaluate(wraps)) == {"normal"}


def test_keys_sort_and_scroll(visit):
    page = visit("wide")
    page.get_by_role("button", name="Group", exact=True).focus()
    page.keyboard.press("Enter")
    assert page.locator("#body td.kind").first.inner_text() == "noise"
    page.locator("#viewport").focus()
    page.keyboard.press("End")
    expect(page.locator('#body tr[aria-rowindex="50001"]')).to_be_visible()
    page.keyboard.press("Home")
    expect(page.locator('#body tr[aria-rowindex="2"]')).to_be_visible()


def test_keys_scroll_without_the_browser(visit):
    page = visit("wide")
    for key, row in (("End", 50_001), ("Home", 2)):
        page.locator("#viewport").dispatch_event("keydown", {"key": key})
        expect(page.locator(f'#body tr[aria-rowindex="{row}"]')).to_be_visible()


def test_only_rows_in_view_are_in_the_page(visit):
    page = visit("wide")
    assert page.locator("#grid").get_attribute("aria-rowcount") == "50001"
    assert page.locator("#body tr").count() < 60
    page.evaluate("document.querySelector('#viewport').scrollTop = 500000")
    middle = round(500_000 / 34) + 2
    expect(page.locator(f'#body tr[aria-rowindex="{middle + 3}"]')).to_be_visible()
    assert page.locator("#body tr").count() < 60
    height = page.evaluate(
        "document.querySelector('#grid').getBoundingClientRect().height"
    )
    assert height == pytest.approx(50_000 * 34, rel=0.01)


@pytest.mark.parametrize("name", ["hostile", "forty clusters"])
def test_nothing_is_wider_than_a_phone(visit, name):
    page = visit(name, viewport={"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_names_of_the_table_keep_to_their_column(visit):
    page = visit("hostile")
    widths = page.evaluate(
        "[...document.querySelectorAll('#heads th')].map((head) => head.offsetWidth)"
    )
    assert widths[0] < 400


@pytest.mark.parametrize("name", ["chosen", "wide"])
def test_it_prints(visit, name, tmp_path):
    page = visit(name, color_scheme="dark")
    page.locator("#theme").click()
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    pdf = (tmp_path / "report.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    n_pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 3 <= n_pages <= 20
    # The screen is as before.
    assert page.locator("#body tr").count() < 60


def test_print_is_light_and_without_buttons(visit):
    page = visit("wide", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    for hidden in ("#theme", "nav", "#tools", ".spacer >> nth=0"):
        expect(page.locator(hidden)).to_be_hidden()
    assert page.locator("#body tr:not(.spacer)").count() == 40
    expect(page.locator("#print-note")).to_contain_text("The first 40 of 50\u202f000")


@pytest.mark.parametrize(
    ("name", "scheme"), [("plain", "light"), ("forty clusters", "dark")]
)
def test_text_and_marks_can_be_told_from_the_page(visit, name, scheme):
    page = visit(name, color_scheme=scheme)
    seen, low = page.evaluate(CONTRAST)
    assert seen > 100
    assert low == []
    contrasts = page.evaluate(MARKS)
    assert len(contrasts) > 5
    assert min(contrasts) >= 3


def test_motion_is_reduced_where_that_is_asked_for(visit):
    page = visit("plain", reduced_motion="reduce")
    behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
    assert page.evaluate(behaviour) == "auto"


def test_without_javascript_it_is_a_page_still(visit):
    page = visit("plain", java_script_enabled=False)
    expect(page.locator("#explorer")).to_be_hidden()
    expect(page.locator("#theme")).to_be_hidden()
    expect(page.get_by_text("needs JavaScript")).to_be_visible()
    expect(page.locator("#cluster-2")).to_be_visible()


# A point far from all others, and where it is in the window.
LONELY = """() => {
    const { map } = JSON.parse(document.getElementById("data").textContent);
    const away = (i) => Math.min(...map.x.map((x, j) => j === i
        ? Infinity : Math.hypot(x - map.x[i], map.y[j] - map.y[i])));
    const i = map.x.map((_, i) => i).sort((a, b) => away(b) - away(a))[0];
    const svg = document.querySelector("#map-area svg");
    svg.scrollIntoView({ block: "center", behavior: "instant" });
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    return { name: map.names[i], cluster: map.cluster[i], codes: map.labels[0].codes[i],
        x: box.left + scale * map.x[i], y: box.top + scale * map.y[i] };
}"""
HABITATS = ["wood", "field", "<b>moor</b>"]


def test_hovering_says_what_a_point_is(visit):
    page = visit("labelled")
    point = page.evaluate(LONELY)
    tip = page.locator("#map-tip")
    expect(tip).to_be_hidden()
    page.mouse.move(point["x"] + 2, point["y"])
    expect(tip).to_be_visible()
    name, cluster, *others, told = tip.locator("bdi").all_inner_texts()
    assert told.startswith("most telling: ")
    *sure, habitat, year = others
    assert len(sure) == (point["cluster"] >= 0)
    assert name == point["name"]
    assert name.startswith("site ")
    outlier = point["cluster"] < 0
    assert cluster.startswith("outlier" if outlier else f"cluster {point['cluster']} ")
    assert habitat == f"habitat: {HABITATS[int(name.split()[1]) % 3]}"
    assert year == f"year: {2020 + int(name.split()[1]) % 2}"
    page.mouse.move(2, 2)
    expect(tip).to_be_hidden()


def test_a_click_keeps_it_and_leads_to_the_cluster(visit):
    page = visit("labelled")
    point = page.evaluate(LONELY)
    page.mouse.click(point["x"], point["y"])
    page.mouse.move(2, 2)
    expect(page.locator("#map-tip")).to_be_visible()
    expect(page.locator("#map-status")).to_contain_text(point["name"])
    page.keyboard.press("Escape")


def test_colours_switch_between_clusters_labels_confidence_and_columns(visit):
    page = visit("labelled")
    legend = page.locator("#map-legend button")
    expect(page.locator("#map-legend")).to_be_hidden()
    assert page.locator("#points path").count() == 4
    page.select_option("#colour-by", label="habitat")
    texts = [text.strip() for text in legend.all_inner_texts()]
    assert sorted(texts) == sorted(HABITATS)
    assert page.locator("#points path").count() == 3
    assert page.locator("#map-legend b").count() == 0
    page.select_option("#colour-by", label="confidence")
    words = {text.strip() for text in legend.all_inner_texts()}
    assert words <= {"clear", "likely", "doubtful", "in no cluster"}
    page.fill("#colour-column", "column 0")
    assert page.locator("#points path.step").count() > 2
    assert page.locator("#search").input_value() == "column 0"
    page.fill("#search", "column 1")
    assert page.locator("#colour-column").input_value() == "column 1"
    page.fill("#colour-column", "no such column")
    assert page.locator("#points path.step").count() == 0
    page.select_option("#colour-by", label="cluster")
    expect(page.locator("#map-legend")).to_be_hidden()
    assert page.locator("#points path").count() == 4


def test_a_column_without_single_counts_shows_what_is_expected(visit):
    page = visit("wide")
    name, expected = page.evaluate(
        """() => {
            const data = JSON.parse(document.getElementById("data").textContent);
            const packed = new Set(data.map.by_column.columns);
            const j = data.columns.names.findIndex((_, j) => !packed.has(j)
                && data.columns.groups[j] === 1);
            const rate = (text) => {
                const [low, high] = [0, 1].map((k) => atob(text).charCodeAt(2 * j + k));
                const code = low + 256 * high;
                return (code >> 6) * 10 ** ((code & 63) - 32);
            };
            const rates = data.columns.rates.map(rate);
            const best = rates.indexOf(Math.max(...rates));
            return [data.columns.names[j],
                data.map.cluster.filter((k) => rates[k] === rates[best]).length];
        }"""
    )
    page.fill("#colour-column", name)
    expect(page.locator("#map-status")).to_contain_text("expected count in each")
    most = page.locator("#points path.s8").get_attribute("d")
    assert most.count("M") == expected
    page.fill("#colour-column", "")
    expect(page.locator("#map-status")).to_be_hidden()


def test_map_and_table_are_linked_both_ways(visit):
    page = visit("labelled")
    row = page.locator("#overview tr[data-cluster='1']")
    row.hover()
    assert page.locator("#points path:not(.faded)").count() == 1
    assert page.locator("#points path.faded").count() == 3
    page.mouse.move(2, 2)
    assert page.locator("#points path.faded").count() == 0
    point = page.evaluate(LONELY)
    page.mouse.move(point["x"], point["y"])
    over = page.locator("#overview tr.over")
    assert over.count() == (point["cluster"] >= 0)
    page.mouse.click(point["x"], point["y"])
    assert page.locator("#overview tr.picked").count() == (point["cluster"] >= 0)


def test_a_group_of_the_legend_stands_alone(visit):
    page = visit("labelled")
    page.select_option("#colour-by", label="habitat")
    entry = page.locator("#map-legend button").nth(1)
    entry.focus()
    page.keyboard.press("Enter")
    assert entry.get_attribute("aria-pressed") == "true"
    assert page.locator("#points path.faded").count() == 2
    assert page.locator("#points path:not(.faded)").count() == 1
    page.keyboard.press("Enter")
    assert page.locator("#points path.faded").count() == 0


def test_arrow_keys_go_from_row_to_row(visit):
    page = visit("labelled")
    page.locator("#map-area").focus()
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
        seen.append(page.locator("#map-status").inner_text())
    assert all(text.startswith("site ") for text in seen)
    assert len(set(seen)) > 2
    page.keyboard.press("Escape")
    expect(page.locator("#map-tip")).to_be_hidden()
    assert page.locator("#map-status").inner_text() == ""


def test_forty_clusters_have_forty_marks_and_labels_that_do_not_touch(visit):
    page = visit("forty clusters")
    marks = page.evaluate(
        """() => JSON.parse(document.getElementById("data").textContent).map.marks
            .map((mark) => mark.join(" "))"""
    )
    assert len(set(marks)) == len(marks) == 40
    boxes = page.evaluate(
        """() => [...document.querySelectorAll("#centres text")].map((text) => {
            const { left, right, top, bottom } = text.getBoundingClientRect();
            return [left, right, top, bottom];
        })"""
    )
    assert len(boxes) >= 40
    for i, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[:i]:
            apart_x = right <= other[0] + 1 or left >= other[1] - 1
            apart_y = bottom <= other[2] + 6 or top >= other[3] - 6
            assert apart_x or apart_y


def test_a_tip_stays_inside_the_page(visit):
    width = 390
    page = visit("labelled", viewport={"width": width, "height": 800})
    point = page.evaluate(LONELY)
    page.mouse.move(point["x"], point["y"])
    expect(page.locator("#map-tip")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_labels_are_a_shaded_table(visit):
    page = visit("labelled")
    table = page.locator("table.cross").first
    heads = table.locator("thead th").all_inner_texts()
    assert sorted(heads[1:]) == sorted(HABITATS)
    assert table.locator("tbody tr").count() == 3
    assert table.locator("td.share").count() > 0
    assert "%" in page.locator("#overview tbody td").nth(1).inner_text()


def test_without_javascript_the_table_is_the_legend(visit):
    page = visit("labelled", java_script_enabled=False)
    expect(page.locator("#overview tfoot")).to_contain_text("outliers")
    expect(page.locator("#cluster-0")).to_be_visible()
    expect(page.locator("#map-tools")).to_be_hidden()
    assert page.locator("#points path").count() == 4
