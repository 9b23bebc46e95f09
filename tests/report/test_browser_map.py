"""The map of the rows in a real browser: hover, click, keys, groups, colours."""

import pytest

pytestmark = pytest.mark.slow
playwright_api = pytest.importorskip("playwright.sync_api")
expect = playwright_api.expect

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
