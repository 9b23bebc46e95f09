"""What ``threecpo info`` says of a model, or of a folder of results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ._output_paths import RUN_FILE, is_results
from ._printing import number_of

if TYPE_CHECKING:
    from pathlib import Path

# What run.json knows beside the model.
_OF_THE_RUN = (
    *("command", "finished", "called", "choice", "stability", "agreement"),
    "warnings",
)


def fit_of(path: Path) -> Path | None:
    """The model that a path leads to, None if it is a table of counts."""
    from ..persistence import is_model

    if path.is_dir():
        return path / "model.npz" if is_results(path) else None
    return path if is_model(path) else None


def described_fit(model: Path) -> dict[str, Any]:
    """Facts about a fit, those of its folder with it."""
    from ..persistence import load
    from ..results import fit_facts

    facts = fit_facts(load(model))
    if not is_results(model.parent):
        return facts
    run = json.loads((model.parent / RUN_FILE).read_text(encoding="utf-8"))
    kinds = {"called": dict, "choice": dict, "stability": dict, "warnings": list}
    if not all(isinstance(run.get(name, kind()), kind) for name, kind in kinds.items()):
        message = f"{model.parent / RUN_FILE} is damaged; run threecpo fit again."
        raise ValueError(message)
    return facts | {name: run[name] for name in _OF_THE_RUN if name in run}


def fit_lines(facts: dict[str, Any]) -> dict[str, str]:
    """What people read of it."""
    from ..report.words import nouns
    from ..results.steering import separation_line

    groups = facts["column_groups"]
    lines = {
        "clusters": _clusters(facts),
        "columns": ", ".join(f"{n} {group}" for group, n in groups.items()),
        "loss": f"{facts['loss']:.8g} after {number_of(facts['iterations'], 'step')}",
        "dispersion φ": _dispersion(facts["dispersion"]),
        "temperature T": _temperature(facts["temperature"]),
        "confidence": _confidence(facts["confidence"]),
    }
    if line := separation_line(facts):
        lines["separation"] = line
    if "choice" in facts:
        row, _ = nouns(facts.get("called"))
        lines["chosen"] = row.in_place_of_rows(str(facts["choice"].get("sentence")))
    if "stability" in facts:
        found = facts["stability"]
        real, divisions = found.get("real"), found.get("divisions")
        lines["stability"] = f"{real} of {divisions} divisions more than chance"
    return lines


def _clusters(facts: dict[str, Any]) -> str:
    named = zip(facts["cluster_names"], facts["cluster_sizes"], strict=True)
    text = ", ".join(f"{k} {name} ({size})" for k, (name, size) in enumerate(named))
    outliers = facts["outliers"]
    return text + (f" and {number_of(outliers, 'outlier')}" if outliers else "")


def _dispersion(value: float | None) -> str:
    if value is None:
        return "not measured"
    return (
        f"{value:.3g}: in the clusters a typical column varies so many times more than "
        "Poisson counts"
    )


def _temperature(value: float | None) -> str:
    if value is None:
        return "not measured"
    return (
        f"{value:.3g}: scores vary so many times more between clusters than those of "
        "Poisson counts; confidence divides by it"
    )


def _confidence(means: list[float | None]) -> str:
    if None in means and len(set(means)) == 1:
        return "not measured"
    listed = ", ".join("-" if mean is None else f"{mean:.2f}" for mean in means)
    return f"{listed} on average, of each cluster"
