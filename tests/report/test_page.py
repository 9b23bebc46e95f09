"""The page: whole, the same each time, and safe from the names in it."""

import base64
import hashlib
import json
import re
import sys
from collections import Counter
from html.parser import HTMLParser

import pytest
import scipy.sparse as sp
from report_models import EDGES, HOSTILE, fitted, hostile, long, wide

from containers import planted
from threecpo import report, results
from threecpo.results import figure_data

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


class TestWrite:
    def test_it_is_summarise_and_render(self, tmp_path):
        model, X = EDGES["chosen"]
        report.write(model, X, tmp_path / "report.html", title="Sites & <species>")
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert text == render(model, X, title="Sites & <species>", coloured=True)
        assert "<h1>Sites &amp; &lt;species&gt;</h1>" in text

    def test_counts_are_not_needed(self, tmp_path):
        model, _ = EDGES["two clusters"]
        report.write(model, None, tmp_path / "report.html")
        assert 'id="map-area"' not in (tmp_path / "report.html").read_text(
            encoding="utf-8"
        )

    def test_without_jinja_the_extra_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "jinja2", None)
        with pytest.raises(
            ImportError, match=r'^A report needs jinja2, .*"threecpo\[report\]"$'
        ):
            report.write(*EDGES["one row"], tmp_path / "report.html")
        assert list(tmp_path.iterdir()) == []

    def test_matplotlib_is_not_needed(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        report.write(*EDGES["chosen"], tmp_path / "report.html")


@pytest.mark.parametrize(("make", "size"), [(wide, 6e6), (long, 450_000)])
def test_large_tables_make_pages_that_can_be_mailed(make, size):
    model, X = make()
    assert len(render(model, X, coloured=True).encode()) < size
