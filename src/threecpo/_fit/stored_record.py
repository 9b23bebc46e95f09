"""A record as files hold it: arrays, and facts beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import stored, stored_names, stored_settings
from .choosing import Chooser
from .confidence import Confidence
from .record import FitRecord
from .row_results import RowResults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


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
        arrays |= stored_names.names_to_arrays(names, getattr(record, names))
    facts = {
        "numerics": stored.NUMERICS_VERSION,
        "settings": stored_settings.settings_to_facts(record.settings),
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
    settings = stored_settings.settings_from_facts(facts["settings"], found["groups"])
    stored.check_totals(found, found["totals"])
    stored.check_log_sizes(found, settings.prior)
    lines = stored.checked(arrays, stored.of_history(history), sizes)
    sums, behind = stored.sums_from_arrays(found, found["totals"], sizes["n"])
    return FitRecord(
        settings=settings,
        sums=sums,
        profile_sums=behind,
        groups=found["groups"],
        ranks=found["ranks"],
        column_scores=found["column_scores"],
        price=stored.finite("price", facts["price"]),
        loss=stored.finite("loss", facts["loss"]),
        history={name: lines[f"history_{name}"] for name in history},
        converged=bool(facts["converged"]),
        restart_losses=found["restart_losses"],
        rows=RowResults.from_arrays(arrays, sizes),
        row_names=stored_names.names_from_arrays("row_names", arrays, sizes["d"]),
        column_names=stored_names.names_from_arrays("column_names", arrays, sizes["m"]),
        cluster_names=stored_names.cluster_names_from_arrays(arrays, sizes["k"]),
        parameters=dict(facts["parameters"]),
        batch_names=stored_names.batch_names_from(facts["batches"], sums.batches),
        drift=stored.shares("drift", facts["drift"]),
        longest_row=stored.longest_row(facts["longest_row"]),
        fine=Chooser.from_arrays(arrays, sums, sizes),
        confidence=Confidence.from_arrays(arrays, facts, sizes),
    )
