"""Tables that compare methods, or variants of 3CPO, on the paper's data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .tables import (
    MERGING,
    METRICS,
    Entry,
    Spread,
    compared,
    merging,
    protocol_of,
    threecpo,
    write_compared,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..methods import Factory
    from .study import Study

TRADITIONAL = (
    "3CPO",
    "PoissonL",
    "PoissonC",
    "SKM",
    "KM",
    "STD+KM",
    "MM+KM",
    "RF+KM",
    "RCA+KM",
)
COCLUSTERING = ("3CPO", "CROINFO", "CCMod", "CCSMod", "ELBM", "SELBM", "TauCC")
WEIGHTED = ("3CPO", "TF-IDF+KM", "BM25+KM", "TF-IDF+SKM", "BM25+SKM")
TEXTS = ("BBCSports", "BBCNews", "WebKB", "Reuters", "20NewsG")
WITHOUT_OUTLIERS = {"ARI*": "ARI", "NMI*": "NMI", "ACC*": "ACC", "outliers": "outliers"}
ABLATION = {
    "3CPO": threecpo(),
    "no C-": threecpo(groups=(1, 0)),
    "no C0": threecpo(groups=(1, -1)),
    "no penalty": threecpo(column_penalty=None),
    "BIC penalty": threecpo(column_penalty="bic"),
}
INITIALISATION = {
    "Poisson-k-Means++": threecpo(),
    "random labels": threecpo(init="random-labels"),
    "random centers": threecpo(init="random-centers"),
    "k-Means++": threecpo(init="k-means++"),
    "k-Means (full)": threecpo(init="k-means"),
    "RF+k-Means++": threecpo(init="rf-k-means++"),
    "RF+k-Means (full)": threecpo(init="rf-k-means"),
}
PRINTED = "3CPO, printed rule"
MEAN = "mean of these"
PAPER_EXECUTIONS = 10
RULES: dict[str, Factory] = {
    "3CPO": threecpo(),
    PRINTED: threecpo(assignment="paper"),
    MERGING: merging,
}


def traditional(study: Study) -> None:
    """ARI, NMI and ACC of the methods that do not choose columns."""
    data_sets = study.data(prepared=True)
    methods = study.methods(TRADITIONAL)
    entries = compared(study, "traditional", data_sets, methods)
    write_compared(
        study,
        "Traditional methods",
        entries,
        protocol_of(study),
    )


def coclustering(study: Study) -> None:
    """ARI, NMI and ACC of the co-clustering methods."""
    data_sets = study.data(prepared=True)
    entries = compared(study, "co-clustering", data_sets, study.methods(COCLUSTERING))
    write_compared(
        study,
        "Co-clustering methods",
        entries,
        protocol_of(study)
        + " TauCC, which finds its own number of clusters, runs once.",
    )


def text(study: Study) -> None:
    """ARI, NMI and ACC of k-means on weighted terms (TF-IDF and BM25)."""
    entries = compared(study, "text", study.data(TEXTS), study.methods(WEIGHTED))
    write_compared(
        study,
        "Weighted terms",
        entries,
        protocol_of(study),
    )


def rules(study: Study) -> None:
    """3CPO by the exact rule, the paper's printed rule and the library's default."""
    variants = {name: RULES[name] for name in study.chosen(RULES)}
    entries = compared(
        study, "traditional", study.data(), variants, METRICS, paper_method="3CPO"
    )
    write_compared(
        study,
        "Rules of 3CPO",
        [*entries, *means(entries)],
        protocol_of(study)
        + f" *3CPO* is the exact rule with the paper's start, *{PRINTED}* the formula "
        f"that the paper prints, *{MERGING}* what `ThreeCPO` does by default (6 runs). "
        "All beside the paper's 3CPO. The deviations of means over data sets are those "
        "that the executions leave.",
    )


def means(entries: Sequence[Entry]) -> list[Entry]:
    """Mean over the published data sets, ours and the paper's, with its error."""
    found = []
    for metric in METRICS:
        for name in dict.fromkeys(entry.method for entry in entries):
            mine = [
                entry
                for entry in entries
                if (entry.method, entry.metric) == (name, metric)
                and entry.data_set != "Synth"
                and entry.paper is not None
            ]
            if mine:
                ours = _mean([entry.ours for entry in mine], mine[0].executions)
                papers = [entry.paper for entry in mine if entry.paper is not None]
                paper = _mean(papers, PAPER_EXECUTIONS)
                found.append(Entry(MEAN, name, metric, ours, paper))
    return found


def _mean(spreads: Sequence[Spread], executions: int) -> Spread:
    """Mean of means, and its standard error."""
    squares = [(spread.std or 0.0) ** 2 / executions for spread in spreads]
    error = float(np.sqrt(np.sum(squares)) / len(spreads))
    return Spread(float(np.mean([spread.mean for spread in spreads])), error)


def outliers(study: Study) -> None:
    """Outliers that 3CPO marks, and ACC, NMI and ARI without them."""
    variants = {"3CPO": threecpo(outliers="iterative")}
    data_sets = study.data(prepared=True)
    entries = compared(study, "outliers", data_sets, variants, WITHOUT_OUTLIERS)
    write_compared(
        study,
        "Outliers",
        entries,
        protocol_of(study)
        + " Rows that fit the background better than any cluster are outliers, decided "
        "in every iteration; scores with a star leave them out.",
        across="metric",
    )


def columns(study: Study) -> None:
    """Number of relevant columns, |C1|."""
    data_sets = study.data(prepared=True)
    methods = study.methods(["3CPO"])
    entries = compared(study, "columns", data_sets, methods, {"C1": "C1"})
    write_compared(
        study, "Relevant columns", entries, protocol_of(study), across="metric"
    )


def ablation(study: Study) -> None:
    """3CPO without C-, without C0, without a price for columns and with BIC."""
    variants = {name: ABLATION[name] for name in study.chosen(ABLATION)}
    metrics = METRICS | {"C1": "C1"}
    entries = compared(study, "ablation", study.data(), variants, metrics)
    write_compared(study, "Ablation", entries, protocol_of(study))


def initialisation(study: Study) -> None:
    """Seven ways to start the rows of 3CPO."""
    variants = {name: INITIALISATION[name] for name in study.chosen(INITIALISATION)}
    metrics = METRICS | {"C1": "C1"}
    entries = compared(study, "initialisation", study.data(), variants, metrics)
    write_compared(study, "Starts of the rows", entries, protocol_of(study))
