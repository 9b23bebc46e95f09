"""What notebooks show of reports, paths and tables, and a report in a browser."""

import re
import webbrowser
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from report_models import EDGES, HOSTILE
from test_page import Page

from containers import planted, scattered
from threecpo import CountTable, report, select_n_clusters
from threecpo.select import KPath

PARTS_OF_TABLES = ("thead", "tbody", "tr", "th", "td")


@pytest.fixture(scope="module")
def path():
    X, _ = planted(3, 30)
    return select_n_clusters(X, range(1, 5), n_init=2, random_state=0)


@pytest.fixture(scope="module")
def small():
    model, X = EDGES["two clusters"]
    return report.Report(model, X, title='Sites & "species" </iframe>')


class TestReport:
    def test_a_notebook_shows_the_whole_page_in_a_frame(self, small):
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

    def test_it_is_made_once(self, small):
        assert small.html is small.html

    def test_save_replaces_a_file(self, small, tmp_path):
        path = tmp_path / "report.html"
        path.write_text("old")
        small.save(path)
        assert path.read_text(encoding="utf-8") == small.html
        assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]

    def test_open_shows_a_file_of_it(self, small, monkeypatch, tmp_path):
        opened = []
        monkeypatch.setattr(webbrowser, "open", opened.append)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        path = small.open()
        assert opened == [path.as_uri()]
        assert path.is_relative_to(tmp_path)
        assert path.read_text(encoding="utf-8") == small.html
        assert small.open() != path

    def test_its_text_is_the_lead(self, small):
        assert repr(small) == f"Report({small.summary['lead']})"


class TestPath:
    def test_curve_words_and_table(self, path):
        shown = path._repr_html_()
        page = Page(shown)
        text = " ".join(page.text)
        assert path.sentence() in text
        (drawing,) = re.findall(r"<svg.*?</svg>", shown, flags=re.DOTALL)
        assert drawing.count('class="curve') == 2
        rows = re.findall(r"<tr>(.*?)</tr>", shown)[1:]
        cells = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in rows]
        assert [line[0] for line in cells] == ["1", "2", "3", "4"]
        assert [line[3] for line in cells] == [
            str(n) for n in path.to_table()["relevant"]
        ]
        assert [row.startswith("<th>") for row in rows].index(True) == 2
        assert path.best_k == 3
        assert "reproducibility" not in shown
        X, _ = planted(3, 30)
        copy = path.choose(path.criterion)
        found = copy.reproducibility(X)
        assert f"<th>{found[3]:#.3g}</th>" in copy._repr_html_()
        assert "<th>reproducibility</th>" in copy._repr_html_()

    def test_style_stays_inside(self, path):
        (style,) = Page(path._repr_html_()).raw["style"]
        rules = [line for line in style.splitlines() if "{" in line]
        assert all(rule.startswith(".threecpo-path ") for rule in rules)

    def test_one_without_fits_says_so(self, path):
        empty = KPath(path.fitter, "mdl")
        assert empty._repr_html_() == "<p>KPath of ThreeCPO, empty.</p>"


class TestTable:
    def test_first_rows_and_columns_with_names_and_labels(self):
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

    def test_a_small_one_is_shown_whole(self):
        shown = CountTable([[3, 0.5], [0, 5]], column_names=["a", "b"])._repr_html_()
        assert "…" not in shown
        assert "<td>3</td><td>0.5</td>" in shown

    def test_names_are_text(self):
        n = len(HOSTILE)
        X = np.ones((n, n))
        table = CountTable(X, row_names=HOSTILE, column_names=HOSTILE, name="<b>x</b>")
        shown = table._repr_html_()
        shown.encode()
        page = Page(shown)
        assert set(page.tags) == {*("div", "p", "b", "table"), *PARTS_OF_TABLES}
        assert page.tags["b"] == 1
        assert "<script>alert(1)</script>" in "".join(page.text)

    def test_a_large_one_is_not_made_dense(self):
        X = scattered((50_000, 20_000), 10_000)
        shown = CountTable(X)._repr_html_()
        assert len(shown) < 20_000
