"""The compiled loops over columns: group sums, column scores, row profiles."""

from __future__ import annotations

import numpy as np

from .compiling import array_type, compiled, f8, i1, i4, i8
from .kernels import SHARED_SLOT


@compiled(array_type(f8, 2), array_type(i1), array_type(f8, 2, write=True))
def group_sums(sums, groups, out):
    """Sum every row of ``sums`` over C0 and over C1."""
    for k in range(sums.shape[0]):
        shared = relevant = 0.0
        for j in range(sums.shape[1]):
            shared += sums[k, j] if groups[j] == 0 else 0.0
            relevant += sums[k, j] if groups[j] == 1 else 0.0
        out[k, 0] = shared
        out[k, 1] = relevant


@compiled(
    array_type(f8, 2),
    array_type(f8, 2),
    array_type(f8),
    array_type(f8),
    array_type(f8, write=True),
    array_type(f8, write=True),
)
def add_cluster_terms(sums, logs, log_totals, log_factors, shared, relevant):
    """Add c_kj log(Λ_k/c_k(U)) to ``shared``, c_kj log(c_kj/c_k(U)) to ``relevant``.

    With a prior of 0, a column that a cluster lacks adds nothing, whatever the factor.
    """
    for k in range(sums.shape[0]):
        total, factor = log_totals[k], log_factors[k]
        for j in range(sums.shape[1]):
            c = sums[k, j]
            shared[j] += c * factor if c > 0.0 else 0.0
            relevant[j] += c * (logs[k, j] - total) if c > 0.0 else 0.0


@compiled(array_type(f8, 2), array_type(f8), array_type(i1, write=True))
def choose_groups(scores, tolerance, groups):
    """Write the arg-max over the groups; a tie goes to C- before C0 before C1."""
    for j in range(len(groups)):
        margin = tolerance[j] if np.isfinite(tolerance[j]) else 0.0
        best = scores[j, 0]
        groups[j] = -1
        for g in range(2):
            if scores[j, g + 1] > best + margin:
                best = scores[j, g + 1]
                groups[j] = g


@compiled(
    array_type(f8, 2),
    array_type(f8),
    array_type(i4),
    array_type(f8, 2, write=True),
    array_type(f8, write=True),
    i8,
)
def fill_profile(logs, log_totals, slots, log_rates, log_rate_sums, first):
    """Write log(c_kj / c_k(U)) to the slots of C1, profile ``first`` on, and sums."""
    for k in range(logs.shape[0]):
        total = 0.0
        for j in range(logs.shape[1]):
            if slots[j] > SHARED_SLOT:
                value = logs[k, j] - log_totals[k]
                log_rates[slots[j], first + k] = value
                total += value
        log_rate_sums[first + k] = total
