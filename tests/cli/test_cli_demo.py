"""The command demo."""

import json
from pathlib import Path

from running import (
    FILES,
    same,
)
from sklearn.datasets import load_digits

import threecpo
from threecpo import ThreeCPO


class TestDemo:
    def test_it_writes_a_report(self, run):
        done = run("demo")
        assert done.code == 0
        assert done.out.splitlines()[-1] == "Report: digits.threecpo/report.html"
        folder = Path("digits.threecpo")
        assert {path.name for path in folder.iterdir()} == FILES
        digits = load_digits()
        model = ThreeCPO(10, outliers="final", random_state=0).fit(digits.data)
        assert same(threecpo.load(folder / "model.npz").labels_, model.labels_)
        facts = json.loads((folder / "run.json").read_text())
        assert facts["agreement"]["label"]["ARI"] > 0.6
        names = threecpo.load(folder / "model.npz").feature_names_in_
        assert names[[0, 9, 63]].tolist() == ["pixel 0,0", "pixel 1,1", "pixel 7,7"]
