"""The page in a real browser."""

import re
from pathlib import Path

import pytest
from page_checks import ACCESSIBLE, CONTRAST, MARKS
from report_models import HOSTILE

from containers import planted

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
