"""A record as files hold it: arrays, and facts beside them; names and settings, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import prices, rules
from .._core.codes import GROUPS, RELEVANT
from .._core.run import Settings
from .._names import COLUMN_INITS, INITS
from . import stored
from .describing import Confidence
from .plan import Plan
from .record import Chooser, FitRecord
from .row_results import RowResults

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from .._core.prices import Price
    from .stored import Arrays


def record_to_arrays(
    record: FitRecord,
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays of the record, and facts beside them that JSON holds."""
    arrays = stored.sums_to_arrays(record.sums, record.profile_sums, record.groups)
    arrays |= {
        "totals": record.sums.totals,
        "ranks": record.ranks,
        "column_scores": record.column_scores,
        "restart_losses": record.restart_losses,
    }
    arrays |= {} if record.fine is None else record.fine.to_arrays()
    arrays |= {f"history_{name}": line for name, line in record.history.items()}
    if record.rows is not None:
        arrays |= record.rows.arrays()
    if record.confidence is not None and record.confidence.probabilities is not None:
        arrays["probabilities"] = record.confidence.probabilities
    for names in ("row_names", "column_names", "cluster_names"):
        arrays |= names_to_arrays(names, getattr(record, names))
    facts = {
        "numerics": stored.NUMERICS_VERSION,
        "settings": settings_to_facts(record.settings),
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
        "plan": plan_to_facts(record.plan),
    }
    if record.confidence is not None:
        facts["temperature"] = record.confidence.temperature
        facts["dispersion"] = record.confidence.dispersion
    return arrays, facts


def record_from_arrays(
    arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]
) -> FitRecord:
    """Record that ``record_to_arrays`` gave; what does not fit together is refused."""
    history = [str(name) for name in facts["history"]]
    sizes = {
        "n": int(facts["n_rows"]),
        "m": len(arrays["groups"]),
        "k": len(arrays["ranks"]),
        "o": len(arrays["ranks"]) + 1,
        "r": len(arrays["restart_losses"]),
        "i": len(arrays["history_loss"]),
    }
    sizes["d"] = int(facts["n_described"])
    fields = stored.OF_RECORD | stored.fields_of_rows(arrays, sizes)
    found = stored.checked(arrays, fields, sizes)
    settings = settings_from_facts(facts["settings"], found["groups"])
    stored.check_totals(found, found["totals"])
    stored.check_log_sizes(found, settings.prior)
    lines = stored.checked(arrays, stored.of_history(history), sizes)
    sums, previous = stored.sums_from_arrays(found, found["totals"], sizes["n"])
    return FitRecord(
        settings=settings,
        sums=sums,
        profile_sums=previous,
        groups=found["groups"],
        ranks=found["ranks"],
        column_scores=found["column_scores"],
        price=stored.finite("price", facts["price"]),
        loss=stored.finite("loss", facts["loss"]),
        history={name: lines[f"history_{name}"] for name in history},
        converged=bool(facts["converged"]),
        restart_losses=found["restart_losses"],
        rows=RowResults.from_arrays(arrays, sizes),
        row_names=names_from_arrays("row_names", arrays, sizes["d"]),
        column_names=names_from_arrays("column_names", arrays, sizes["m"]),
        cluster_names=cluster_names_from_arrays(arrays, sizes["k"]),
        parameters=dict(facts["parameters"]),
        batch_names=batch_names_from(facts["batches"], sums.n_batches),
        drift=stored.shares("drift", facts["drift"]),
        longest_row=stored.longest_row(facts["longest_row"]),
        fine=Chooser.from_arrays(arrays, sums, sizes),
        confidence=Confidence.from_arrays(arrays, facts, sizes),
        plan=plan_from_facts(facts["plan"], settings),
    )


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
        message = f"{field} is no text"
        raise stored.DamagedFieldError(message)
    if ends.shape != (length,) or ends.dtype != np.int64:
        message = f"{field} has {ends.shape} names, not {length}"
        raise stored.DamagedFieldError(message)
    bounds = np.concatenate([[0], ends])
    if (np.diff(bounds) < 0).any() or bounds[-1] != len(content):
        message = f"{field} has ends that do not fit"
        raise stored.DamagedFieldError(message)
    text = content.tobytes()
    names = np.empty(length, dtype=object)
    names[:] = [
        text[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(bounds[:-1].tolist(), ends.tolist(), strict=True)
    ]
    return names


def cluster_names_from_arrays(
    arrays: Mapping[str, Any], n_clusters: int
) -> tuple[str, ...] | None:
    """Names that were given to clusters, which tell them apart."""
    names = names_from_arrays("cluster_names", arrays, n_clusters)
    if names is None:
        return None
    given = [name for name in names if name]
    if len(set(given)) < len(given):
        message = "cluster_names has a name twice"
        raise stored.DamagedFieldError(message)
    return tuple(names)


def batch_names_from(given: Any, n_batches: int) -> tuple[str, ...]:
    """Names of the batches of a file, as many as the sums have."""
    names = tuple(map(str, given)) if isinstance(given, list) else ()
    if len(names) > n_batches or len(names) < n_batches > 1:
        message = f"batches has {len(names)} names for {n_batches} batches"
        raise stored.DamagedFieldError(message)
    return names


def settings_to_facts(settings: Settings) -> dict[str, Any]:
    """Settings by the names of prices and rules."""
    return {
        "n_clusters": settings.n_clusters,
        "max_iter": settings.max_iter,
        "price": prices.named(settings.price),
        "groups": list(settings.groups),
        "rule": settings.rule.name,
        "outliers": settings.outliers,
        "threshold": settings.threshold,
        "prior": settings.prior,
        "n_known": settings.n_known,
        "fixed_groups": [list(pair) for pair in settings.fixed_groups],
    }


def settings_from_facts(
    facts: Mapping[str, Any], column_groups: NDArray[np.int8]
) -> Settings:
    """Settings of a fit with these groups again; what is none is refused."""
    known: dict[str, Price] = {
        prices.named(price): price for price in prices.NAMED.values()
    }
    known[prices.CUSTOM] = lost_price
    choices: dict[str, Any] = {
        "price": known,
        "rule": rules.NAMED,
        "outliers": {None: None, "iterative": "iterative", "final": "final"},
    }
    chosen = {}
    for name, named in choices.items():
        if facts[name] not in named:
            message = f"{name} is {facts[name]!r}"
            raise stored.DamagedFieldError(message)
        chosen[name] = named[facts[name]]
    groups = tuple(facts["groups"])
    if RELEVANT not in groups or any(group not in GROUPS for group in groups):
        message = f"groups is {groups}"
        raise stored.DamagedFieldError(message)
    numbers = {
        name: stored.finite(name, facts[name], least)
        for name, least in (
            ("n_clusters", 1),
            ("n_known", 0),
            ("max_iter", 1),
            ("threshold", 0),
            ("prior", 0),
        )
    }
    return Settings(
        n_clusters=int(numbers["n_clusters"]),
        n_known=int(numbers["n_known"]),
        max_iter=int(numbers["max_iter"]),
        groups=groups,
        threshold=numbers["threshold"],
        prior=numbers["prior"],
        fixed_groups=_fixed_groups(facts["fixed_groups"], column_groups),
        **chosen,
    )


def plan_to_facts(plan: Plan | None) -> dict[str, Any] | None:
    """What was asked of a fit, as far as what is done later follows it."""
    if plan is None:
        return None
    return {
        "name": plan.name,
        "init": plan.init,
        "column_init": plan.column_init,
        "n_init": plan.n_init,
        "entropy": [str(number) for number in plan.entropy],
        "max_row_size": plan.max_row_size,
        "with_confidence": plan.with_confidence,
    }


def plan_from_facts(facts: Any, settings: Settings) -> Plan | None:
    """What was asked of a fit with these settings again; None where it is not known."""
    if facts is None:
        return None
    n_init, longest = facts["n_init"], facts["max_row_size"]
    if n_init != "auto":
        n_init = int(stored.finite("n_init", n_init, 1))
    named = {
        name: _one_of(name, facts[name], known)
        for name, known in (
            ("name", ("ThreeCPO", "PoissonL", "PoissonC")),
            ("init", INITS),
            ("column_init", COLUMN_INITS),
            ("with_confidence", (True, False)),
        )
    }
    return Plan(
        settings=settings,
        n_init=n_init,
        entropy=tuple(int(number) for number in facts["entropy"]),
        n_jobs=1,
        max_row_size=None
        if longest is None
        else stored.finite("max_row_size", longest, 1),
        **named,
    )


def _one_of(name: str, value: Any, known: Sequence[Any]) -> Any:
    if value not in known:
        message = f"{name} is {value!r}"
        raise stored.DamagedFieldError(message)
    return value


def _fixed_groups(
    pairs: Any, column_groups: NDArray[np.int8]
) -> tuple[tuple[int, int], ...]:
    """Columns whose groups were given, each in its group."""
    found = []
    for column, group in pairs:
        there = type(column) is int and 0 <= column < len(column_groups)
        if not there or column_groups[column] != group:
            message = f"fixed_groups has column {column!r} in {group!r}"
            raise stored.DamagedFieldError(message)
        found.append((column, int(group)))
    return tuple(found)


def lost_price(*_: Any) -> NDArray[np.float64]:
    message = (
        "The price of a relevant column was a function of the user's, which model "
        "files do not hold; fit again."
    )
    raise ValueError(message)
