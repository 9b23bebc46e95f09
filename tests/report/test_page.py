"""The page: whole, the same each time, safe from names; and what notebooks show."""

import base64
import hashlib
import json
import math
import re
import sys
import webbrowser
from collections import Counter
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from report_models import EDGES, HOSTILE, fitted, hostile, long, wide

from containers import planted, scattered, unpacked
from threecpo import CountTable, report, results, select_n_clusters
from threecpo.report._summary import pack
from threecpo.report._svg import around, ticks
from threecpo.report.words import number, on_axis, one_line, plural, ratio, shade, shown
from threecpo.results import figure_data
from threecpo.results.label_comparison import percent
from threecpo.select import KPath

VOID = {"meta", "input", "br", "img", "col", "link", "hr"}


class Page(HTMLParser):
    """Tags, ids, text and raw elements of a page; unbalanced tags are an error."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.attributes = Counter(), [], []
        self.raw = {"script": [], "style": []}
        self.text = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in self.raw:
            self.raw[tag].append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in self.raw:
            self.raw[self.open[-1]][-1] += data
        else:
            self.text.append(data)

    def named(self, wanted):
        return [values for tag, values in self.attributes if tag == wanted]


def render(model, X, **options):
    if hasattr(model, "k_path_"):
        options["path"] = results.path_table(model.k_path_)
        options["choice"] = results.choice_facts(model.k_path_)
    rows = results.row_table(model, X, row_names=options.pop("row_names", None))
    if options.pop("coloured", False):
        counts = sp.csr_array(X)
        options["map_counts"] = figure_data.map_counts(model.record_, rows, counts)
    return report.render(report.summarise(model, rows, **options))


@pytest.fixture(scope="module")
def hostile_page():
    model, X = hostile()
    names = [HOSTILE[i % len(HOSTILE)] for i in range(len(X))]
    run = {name: name for name in HOSTILE}
    return render(
        model, X, row_names=names, column_names=HOSTILE, title=HOSTILE[0], run=run
    )


@pytest.mark.parametrize("name", EDGES)
def test_every_model_has_a_whole_page(name):
    rendered = render(*EDGES[name])
    for drawing in re.findall(r"<svg.*?</svg>", rendered, flags=re.DOTALL):
        assert "nan" not in drawing
        assert "inf" not in drawing
    page = Page(rendered)
    ids = Counter(values["id"] for _, values in page.attributes if "id" in values)
    assert max(ids.values()) == 1
    links = [values["href"] for values in page.named("a")]
    assert set(links) <= {f"#{name}" for name in ids}
    described = [
        values[key].split()
        for _, values in page.attributes
        for key in ("aria-labelledby", "aria-describedby")
        if key in values
    ]
    assert {name for names in described for name in names} <= set(ids)
    text = " ".join(page.text)
    assert "nan" not in text.lower().split()
    assert "None" not in text.partition("How it was made")[0].split()


def test_names_are_text_everywhere(hostile_page):
    page = Page(hostile_page)
    expected = Page(render(*hostile()))
    assert page.tags["script"] == expected.tags["script"] == 2
    assert page.tags["img"] == 0
    assert set(page.tags) <= set(expected.tags)
    assert not any(
        key.startswith("on") for _, values in page.attributes for key in values
    )
    text = "".join(page.text)
    assert "<script>alert(1)</script>" in text
    assert "{{ 7 * 7 }}" in text
    hostile_page.encode()


def test_data_inside_the_page_are_what_was_summarised(hostile_page):
    data, _ = Page(hostile_page).raw["script"]
    names = json.loads(data)["columns"]["names"]
    assert names[0] == "<script>alert(1)</script>"
    assert names[3] == "line\u2028paragraph\u2029"
    assert not set(data) & set("<>&\u2028\u2029")


def test_the_policy_allows_our_own_text_and_nothing_else(hostile_page):
    page = Page(hostile_page)
    (policy,) = (
        values["content"]
        for values in page.named("meta")
        if values.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind, text in (
        ("style", page.raw["style"][0]),
        ("script", page.raw["script"][1]),
    ):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    assert "unsafe" not in policy
    assert not [values for _, values in page.attributes if "style" in values]


def test_nothing_comes_from_a_network():
    page = render(*EDGES["chosen"])
    page = page.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert not re.search(r"https?:|//[a-z]|@import|url\(|src=", page)


def test_the_same_fit_gives_the_same_page():
    X, _ = planted(3, 40)
    pages = {render(fitted(X, 3, n_jobs=n_jobs), X) for n_jobs in (1, 2, None)}
    assert len(pages) == 1


def test_what_is_not_there_is_not_linked():
    text = render(*EDGES["one cluster"])
    for name in ("markers", "map-area", "path", "run"):
        assert f'id="{name}"' not in text
        assert f'href="#{name}"' not in text
    assert 'id="path"' in render(*EDGES["chosen"])


def test_the_paper_is_cited():
    text = " ".join("".join(Page(render(*EDGES["one row"])).text).split())
    assert "C. Leiber, K. Puolamäki and H. Mannila" in text
    assert (
        "Poisson Subspace Clustering: Focusing on the Essentials in Count Data" in text
    )


def test_it_is_summarise_and_render(tmp_path):
    model, X = EDGES["chosen"]
    report.write(model, X, tmp_path / "report.html", title="Sites & <species>")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text == render(model, X, title="Sites & <species>", coloured=True)
    assert "<h1>Sites &amp; &lt;species&gt;</h1>" in text


def test_counts_are_not_needed(tmp_path):
    model, _ = EDGES["two clusters"]
    report.write(model, None, tmp_path / "report.html")
    assert 'id="map-area"' not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_without_jinja_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(
        ImportError, match=r'^A report needs jinja2, .*"threecpo\[report\]"$'
    ):
        report.write(*EDGES["one row"], tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_matplotlib_is_not_needed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    report.write(*EDGES["chosen"], tmp_path / "report.html")


@pytest.mark.parametrize(("make", "size"), [(wide, 6e6), (long, 450_000)])
def test_large_tables_make_pages_that_can_be_mailed(make, size):
    model, X = make()
    assert len(render(model, X, coloured=True).encode()) < size


sizes = st.floats(1e-29, 1e30)


@given(st.lists(sizes))
def test_packed_numbers_keep_three_digits(values):
    again = unpacked(pack(np.array(values)))
    expected = [float(f"{value:.2e}") for value in values]
    np.testing.assert_allclose(again, values, rtol=5.01e-3)
    # Ties may go either way; what has three digits stays as it is.
    np.testing.assert_array_equal(unpacked(pack(np.array(expected))), expected)


def test_packed_numbers_know_nothing_and_none():
    values = np.array([0.0, 1e-40, np.nan, np.inf, 9.997, 999.7, 1e300])
    again = unpacked(pack(values))
    np.testing.assert_array_equal(again[:6], [0, 0, np.nan, np.nan, 10.0, 1000.0])
    assert np.isfinite(again[6])
    assert unpacked(pack(np.array([]))).size == 0


def test_numbers_have_three_digits():
    for value, text in (
        (0, "0"),
        (12.3456, "12.3"),
        (13.0, "13.0"),
        (999.4, "999"),
        (999.96, "1\u202f000"),
        (-1234567.8, "\u22121\u202f234\u202f568"),
        (0.00123, "0.00123"),
        (0.00001234, "1.23e\u22125"),
        (1.5e12, "1.50e12"),
        (math.inf, "∞"),
        (-math.inf, "\u2212∞"),
        (math.nan, "–"),
        (None, "–"),
    ):
        assert number(value) == text


def test_shares_never_round_to_nothing_or_all():
    for part, text in (
        (0, "0 %"),
        (0.0002, "<0.1 %"),
        (0.012, "1.2 %"),
        (0.4567, "46 %"),
        (0.9999, ">99 %"),
        (1, "100 %"),
    ):
        assert percent(part) == text


def test_words_follow_their_number():
    assert plural(1, "row") == "1 row"
    assert plural(0, "row") == "0 rows"
    assert plural(12345, "row") == "12\u202f345 rows"
    assert plural(2, "row is", "rows are") == "2 rows are"


def test_ratios_and_shades():
    assert [ratio(power) for power in (-4, -1, 0, 1.2, 5)] == [
        "<0.1",
        "0.5",
        "1.0",
        "2.3",
        "32",
    ]
    assert [shade(power) for power in (-9, -0.6, 0.1, 1, 3.9)] == [
        "less s5",
        "less s1",
        "same",
        "more s3",
        "more s8",
    ]


def test_plain_values_are_one_line():
    for value, text in (
        ("a\nb", "a␊b"),
        (1 / 3, "0.333333"),
        (None, "None"),
        (True, "True"),
        ([1, "x", 0.5], "1, x, 0.5"),
        (list(range(13)), "13 values"),
    ):
        assert one_line(value) == text


@given(st.text(st.characters(codec=None)))
def test_any_name_can_be_shown(name):
    text = shown(name)
    text.encode()
    assert not any(ord(letter) < 32 or ord(letter) == 127 for letter in text)


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_ticks_are_round_few_inside_and_told_apart(low, size):
    high = low + size
    if not high - low > 1e-9 * abs(low):
        return
    values = ticks(low, high)
    slack = 1e-6 * (high - low) + 1e-9 * abs(low)
    assert 1 <= len(values) <= 14
    assert all(low - slack <= value <= high + slack for value in values)
    labels = on_axis(values)
    if max(map(abs, values)) < 1e9:
        assert len(set(labels)) == len(labels)


@given(st.lists(st.none() | st.floats(-1e9, 1e9)), st.booleans())
def test_a_scale_holds_its_values(values, zero):
    values = [abs(v) if zero and v is not None else v for v in values]
    low, high = around(values, zero=zero)
    assert low < high
    assert all(low <= value <= high for value in values if value is not None)
    assert not zero or low == 0


@given(st.floats(1e-6, 1e12) | st.floats(-1e12, -1e-6), st.integers(0, 20))
def test_values_that_differ_by_rounding_alone_have_a_scale(value, ulps):
    near = value + ulps * np.spacing(value)
    low, high = around([value, near])
    assert low <= min(value, near) <= max(value, near) <= high
    labels = on_axis(ticks(low, high, most=5))
    if max(abs(low), abs(high)) < 1e9:
        assert len(set(labels)) == len(labels) > 1


PARTS_OF_TABLES = ("thead", "tbody", "tr", "th", "td")


@pytest.fixture(scope="module")
def path():
    X, _ = planted(3, 30)
    return select_n_clusters(X, range(1, 5), n_init=2, random_state=0)


@pytest.fixture(scope="module")
def small():
    model, X = EDGES["two clusters"]
    return report.Report(model, X, title='Sites & "species" </iframe>')


def test_a_notebook_shows_the_whole_page_in_a_frame(small):
    frame = small._repr_html_()
    seen = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: seen.append((tag, dict(attrs)))
    parser.feed(frame)
    ((tag, values),) = seen
    assert tag == "iframe"
    assert values["srcdoc"] == small.html
    assert values["sandbox"] == "allow-scripts allow-downloads"
    assert values["title"]


def test_it_is_made_once(small):
    assert small.html is small.html


def test_save_replaces_a_file(small, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    small.save(path)
    assert path.read_text(encoding="utf-8") == small.html
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_open_shows_a_file_of_it(small, monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = small.open()
    assert opened == [path.as_uri()]
    assert path.is_relative_to(tmp_path)
    assert path.read_text(encoding="utf-8") == small.html
    assert small.open() != path


def test_its_text_is_the_lead(small):
    assert repr(small) == f"Report({small.summary['lead']})"


def test_curve_words_and_table(path):
    shown = path._repr_html_()
    page = Page(shown)
    text = " ".join(page.text)
    assert path.sentence() in text
    (drawing,) = re.findall(r"<svg.*?</svg>", shown, flags=re.DOTALL)
    assert drawing.count('class="curve') == 2
    rows = re.findall(r"<tr>(.*?)</tr>", shown)[1:]
    cells = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in rows]
    assert [line[0] for line in cells] == ["1", "2", "3", "4"]
    assert [line[3] for line in cells] == [str(n) for n in path.to_table()["relevant"]]
    assert [row.startswith("<th>") for row in rows].index(True) == 2
    assert path.best_k == 3
    assert "reproducibility" not in shown
    X, _ = planted(3, 30)
    copy = path.choose(path.criterion)
    found = copy.reproducibility(X)
    assert f"<th>{found[3]:#.3g}</th>" in copy._repr_html_()
    assert "<th>reproducibility</th>" in copy._repr_html_()


def test_style_stays_inside(path):
    (style,) = Page(path._repr_html_()).raw["style"]
    rules = [line for line in style.splitlines() if "{" in line]
    assert all(rule.startswith(".threecpo-path ") for rule in rules)


def test_one_without_fits_says_so(path):
    empty = KPath(path.fitter, "mdl")
    assert empty._repr_html_() == "<p>KPath of ThreeCPO, empty.</p>"


def test_first_rows_and_columns_with_names_and_labels():
    X = np.arange(240).reshape(20, 12)
    table = CountTable(
        X,
        row_names=[f"r{i}" for i in range(20)],
        labels=[i % 3 - 1 for i in range(20)],
        label_names=["wood", "moor"],
        name="plots",
    )
    shown = table._repr_html_()
    assert repr(table) in unescape(shown)
    rows = re.findall(r"<tr>(.*?)</tr>", shown)
    cells = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in rows]
    assert cells[0] == ["", *map(str, range(10)), "…", "label"]
    assert cells[1] == ["r0", *map(str, range(10)), "…", ""]
    assert cells[2][0::12] == ["r1", "wood"]
    assert len(cells) == 1 + 8 + 1
    assert cells[-1] == ["…"] * 13


def test_a_small_one_is_shown_whole():
    shown = CountTable([[3, 0.5], [0, 5]], column_names=["a", "b"])._repr_html_()
    assert "…" not in shown
    assert "<td>3</td><td>0.5</td>" in shown


def test_names_are_text():
    n = len(HOSTILE)
    X = np.ones((n, n))
    table = CountTable(X, row_names=HOSTILE, column_names=HOSTILE, name="<b>x</b>")
    shown = table._repr_html_()
    shown.encode()
    page = Page(shown)
    assert set(page.tags) == {*("div", "p", "b", "table"), *PARTS_OF_TABLES}
    assert page.tags["b"] == 1
    assert "<script>alert(1)</script>" in "".join(page.text)


def test_a_large_one_is_not_made_dense():
    X = scattered((50_000, 20_000), 10_000)
    shown = CountTable(X)._repr_html_()
    assert len(shown) < 20_000
