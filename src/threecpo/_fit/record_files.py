"""A record as files hold it: arrays, and facts beside them that JSON holds."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import codes, rules
from .._core.codes import GROUPS, RELEVANT
from .._core.rows import RowInfo
from .._core.run import Settings
from .._parameters import COLUMN_INITS, INITS, SUBLINEAR
from . import stored
from .describing import Confidence
from .plan import Plan
from .record import Assigner, FitRecord
from .row_results import RowResults
from .stored import choice, number, optional, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from .._core.codes import Floats, Groups
    from .stored import Arrays

    Facts = Mapping[str, Any]

_ARRAYS = ("groups", "ranks", "column_scores", "restart_losses")
_NAMES = ("row_names", "column_names", "cluster_names")
# Least values of the numbers of settings, and what the facts of a plan may be.
_LEAST = {"n_clusters": 1, "n_known": 0, "max_iter": 1, "threshold": 0.0, "prior": 0.0}
_OUTLIERS = (None, "iterative", "final")
_OF_PLAN: dict[str, Any] = {
    "name": ("ThreeCPO", "PoissonL", "PoissonC"),
    "init": INITS,
    "column_init": COLUMN_INITS,
    "with_confidence": (True, False),
    "calibrated": (True, False),
}


def record_to_arrays(record: FitRecord) -> tuple[Arrays, dict[str, Any]]:
    """Arrays of the record, and facts beside them that JSON holds."""
    fine, confidence = record.fine, record.confidence
    sums = record.sums, record.profile_sums
    arrays = stored.sums_to_arrays(*sums, None if fine is None else fine.sums)
    if fine is not None:
        arrays |= {"fine_groups": fine.groups, "fine_ranks": fine.ranks}
        arrays["fine_into"] = fine.clusters
    arrays["totals"] = record.sums.totals
    arrays |= {name: getattr(record, name) for name in _ARRAYS}
    arrays |= {f"history_{name}": line for name, line in record.history.items()}
    if record.rows is not None:
        arrays |= record.rows.arrays()
    if confidence is not None and confidence.probabilities is not None:
        arrays["probabilities"] = confidence.probabilities
    for names in _NAMES:
        arrays |= names_to_arrays(names, getattr(record, names))
    facts = {
        "numerics": stored.NUMERICS_VERSION,
        "settings": _settings_to_facts(record.settings),
        "n_rows": record.sums.n_rows,
        "n_described": record.n_rows,
        "loss": record.loss,
        "price": record.price,
        "converged": record.converged,
        "history": list(record.history),
        "parameters": dict(record.parameters),
        "batches": list(record.batch_names),
        "drift": list(record.drift),
        "longest_row": record.longest_row,
        "plan": _plan_to_facts(record.plan),
        "transform": record.transform,
    }
    if confidence is not None:
        facts["temperature"] = confidence.temperature
        facts["dispersion"] = confidence.dispersion
    return arrays, facts


def record_from_arrays(arrays: Mapping[str, NDArray[Any]], facts: Facts) -> FitRecord:
    """Record that ``record_to_arrays`` gave; what does not fit together is refused."""
    sizes = {
        "n": int(facts["n_rows"]),
        "d": int(facts["n_described"]),
        "m": len(arrays["groups"]),
        "k": len(arrays["ranks"]),
        "r": len(arrays["restart_losses"]),
        "i": len(arrays["history_loss"]),
    }
    parts = stored.parts_in(arrays, "sums", "data", "record")
    found = stored.checked(arrays, parts, sizes)
    settings = _settings_from_facts(facts["settings"], found["groups"])
    stored.check_totals(found, found["totals"])
    stored.check_log_sizes(found, settings.prior)
    own, profile, *joined = (
        stored.sums_from_arrays(found, before, found["totals"], sizes["n"])
        for before in ("", "profile_", "fine_")[: 3 if "joined" in parts else 2]
    )
    plain: dict[str, Any] = {name: found[name] for name in _ARRAYS}
    plain |= {name: number(facts, name) for name in ("price", "loss")}
    history = [str(name) for name in facts["history"]]
    return FitRecord(
        settings=settings,
        sums=own,
        profile_sums=profile,
        **plain,
        history=stored.checked_history(arrays, history, sizes),
        converged=choice(facts, "converged", (True, False)),
        rows=_rows_from(found) if "rows" in parts else None,
        row_names=names_from_arrays("row_names", arrays, sizes["d"]),
        column_names=names_from_arrays("column_names", arrays, sizes["m"]),
        cluster_names=_cluster_names(arrays, sizes["k"]),
        parameters=dict(facts["parameters"]),
        batch_names=_batch_names(facts["batches"], max(1, sizes["b"])),
        drift=tuple(number({"drift": each}, "drift", 0, 1) for each in facts["drift"]),
        longest_row=optional(facts, "longest_row", np.finfo(np.float64).tiny),
        fine=Assigner(
            joined[0], *(found[f"fine_{name}"] for name in ("groups", "ranks", "into"))
        )
        if joined
        else None,
        confidence=_confidence_from(found, facts),
        plan=_plan_from_facts(facts["plan"], settings),
        transform=choice({"transform": "", **facts}, "transform", ("", *SUBLINEAR)),
    )


def _rows_from(found: Arrays) -> RowResults:
    def own(names: Iterable[str]) -> dict[str, Any]:
        return {name: found[name] for name in names if name in found}

    info = RowInfo(**own(each.name for each in fields(RowInfo)))
    results = own((*stored.PARTS["rows"], *stored.PARTS["row weights"]))
    return RowResults(**results, info=info)


def _confidence_from(found: Arrays, facts: Facts) -> Confidence | None:
    if facts.get("temperature") is None and "probabilities" not in found:
        return None
    temperature = number(facts, "temperature", 1)
    dispersion = optional(facts, "dispersion", 0)
    return Confidence(temperature, found.get("probabilities"), dispersion)


def names_to_arrays(field: str, names: Iterable[str] | None) -> Arrays:
    """Names as bytes and where each ends: a long one does not widen the others."""
    if names is None:
        return {}
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    return {
        field: np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{field}_ends": np.cumsum([len(name) for name in encoded], dtype=np.int64),
    }


def names_from_arrays(
    field: str, arrays: Mapping[str, Any], length: int
) -> NDArray[np.object_] | None:
    """Names again, None where there are none."""
    if field not in arrays:
        return None
    content, ends = arrays[field], arrays[f"{field}_ends"]
    if content.dtype != np.uint8 or content.ndim != 1:
        refuse(f"{field} is not text")
    if ends.shape != (length,) or ends.dtype != np.int64:
        refuse(f"{field} has {ends.shape} names, not {length}")
    bounds = np.concatenate([[0], ends])
    if (np.diff(bounds) < 0).any() or bounds[-1] != len(content):
        refuse(f"{field} has ends that do not fit")
    text = content.tobytes()
    names = np.empty(length, dtype=object)
    names[:] = [
        text[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(bounds[:-1].tolist(), ends.tolist(), strict=True)
    ]
    return names


def _cluster_names(
    arrays: Mapping[str, Any], n_clusters: int
) -> tuple[str, ...] | None:
    names = names_from_arrays("cluster_names", arrays, n_clusters)
    if names is None:
        return None
    given = [name for name in names if name]
    if len(set(given)) < len(given):
        refuse("cluster_names has a name twice")
    return tuple(names)


def _batch_names(given: Any, n_batches: int) -> tuple[str, ...]:
    """Names of the batches of a file, as many as the sums have."""
    names = tuple(map(str, given)) if isinstance(given, list) else ()
    if len(names) > n_batches or len(names) < n_batches > 1:
        refuse(f"batches has {len(names)} names for {n_batches} batches")
    return names


def _settings_to_facts(settings: Settings) -> dict[str, Any]:
    facts = {name: getattr(settings, name) for name in (*_LEAST, "outliers")}
    facts |= {"price": codes.price_name(settings.price), "rule": settings.rule.name}
    facts["groups"] = list(settings.groups)
    return facts | {"fixed_groups": [list(pair) for pair in settings.fixed_groups]}


def _settings_from_facts(facts: Facts, column_groups: Groups) -> Settings:
    """Settings of a fit with these groups again; anything else is refused."""
    known = {codes.price_name(price): price for price in codes.PRICES.values()}
    known[codes.CUSTOM] = lost_price
    groups = tuple(facts["groups"])
    if RELEVANT not in groups or any(group not in GROUPS for group in groups):
        refuse(f"groups is {groups}")
    for column, group in facts["fixed_groups"]:
        there = type(column) is int and 0 <= column < len(column_groups)
        if not there or column_groups[column] != group:
            refuse(f"fixed_groups has column {column!r} in {group!r}")
    numbers: dict[str, Any] = {
        name: type(least)(number(facts, name, least)) for name, least in _LEAST.items()
    }
    return Settings(
        **numbers,
        price=known[choice(facts, "price", known)],
        rule=rules.NAMED[choice(facts, "rule", rules.NAMED)],
        outliers=choice(facts, "outliers", _OUTLIERS),
        groups=groups,
        fixed_groups=tuple((j, int(group)) for j, group in facts["fixed_groups"]),
    )


def _plan_to_facts(plan: Plan | None) -> dict[str, Any] | None:
    """What was asked of a fit, as far as what is done later follows it."""
    if plan is None:
        return None
    entropy = [str(number) for number in plan.entropy]
    names = (*_OF_PLAN, "n_init", "max_row_size")
    return {name: getattr(plan, name) for name in names} | {"entropy": entropy}


def _plan_from_facts(facts: Any, settings: Settings) -> Plan | None:
    """What was asked of a fit with these settings again; None where it is not known."""
    if facts is None:
        return None
    n_init = facts["n_init"]
    return Plan(
        settings=settings,
        n_init=n_init if n_init == "auto" else int(number(facts, "n_init", 1)),
        entropy=tuple(int(number) for number in facts["entropy"]),
        n_jobs=1,
        max_row_size=optional(facts, "max_row_size", 1),
        **{name: choice(facts, name, known) for name, known in _OF_PLAN.items()},
    )


def lost_price(*_: Any) -> Floats:
    message = (
        "column_penalty was a function, which model files do not store. Fit again to "
        "use it."
    )
    raise ValueError(message)
