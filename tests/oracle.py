"""The paper's formulas, slow and dense, for tests to compare with.

X holds the counts with the prior already added. Labels are 0…K-1, -1 for an outlier and
-2 for a row that is nowhere yet; groups are 1 (C1), 0 (C0) and -1 (C-). Equations are
cited by their names in the paper, or by "design" where the paper has none.
"""

import numpy as np

NOISE, SHARED, RELEVANT = -1, 0, 1
OUTLIER, NOWHERE = -1, -2


def times_log(x, mu):
    """x log mu, with 0 log 0 = 0 (design, section 1)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0, x * np.log(mu), 0.0)


def ratio(top, bottom):
    """top / bottom, with 0 / 0 = 0."""
    return top / bottom if bottom > 0 else 0.0


def scale_columns(X, groups):
    """Columns that say how row sizes divide over clusters: C0, or C1 if C0 is empty."""
    shared = X[:, groups == SHARED]
    return shared if shared.sum() > 0 else X[:, groups == RELEVANT]


def cluster_scale(X, labels, groups, k):
    """Sum of λ^R over R_k (appendix; 1/n a row without C0 and C1: design, Edges)."""
    base = scale_columns(X, groups)
    if base.sum() == 0:
        return np.mean(labels == k)
    return base[labels == k].sum() / base.sum()


def row_scales(X, labels, groups):
    """λ^R_i (eq. lambdaR, and the appendix on outliers)."""
    used = X[:, groups >= 0]
    if used.sum() == 0:
        return np.full(len(X), 1 / len(X))
    sizes = used.sum(axis=1)
    out = np.zeros(len(X))
    for i, k in enumerate(labels):
        if k == OUTLIER:
            out[i] = sizes[i] / used.sum()
        else:
            share = cluster_scale(X, labels, groups, k)
            out[i] = ratio(sizes[i] * share, sizes[labels == k].sum())
    return out


def noise_rates(X):
    """λ^C_{j|-} (eq. meanminus)."""
    return X.sum(axis=0) / len(X)


def shared_rates(X):
    """λ^C_{j|0} (eq. mean0)."""
    return X.sum(axis=0)


def cluster_rates(X, labels, groups, n_clusters):
    """λ^C_{j|k} (eq. mean1); infinite where a cluster counts, but not in C0."""
    out = np.zeros((n_clusters, X.shape[1]))
    for k in range(n_clusters):
        share = cluster_scale(X, labels, groups, k)
        for j, c in enumerate(X[labels == k].sum(axis=0)):
            out[k, j] = c / share if share > 0 else (np.inf if c > 0 else 0.0)
    return out


def expected_noise(X, labels, groups):
    """λ^C_{j|-} in every row (eq. muminus)."""
    return np.broadcast_to(noise_rates(X), X.shape)


def expected_shared(X, labels, groups):
    """λ^R_i λ^C_{j|0} (eq. mu0)."""
    return np.outer(row_scales(X, labels, groups), shared_rates(X))


def expected_relevant(X, labels, groups):
    """λ^R_i λ^C_{j|k} (eq. mui), λ^R_i λ^C_{j|0} for an outlier (eq. outlier:mu).

    Where λ^R_i = 0 for want of counts in C0, their product is its limit.
    """
    scales = row_scales(X, labels, groups)
    rates = cluster_rates(X, labels, groups, max(labels.max() + 1, 0))
    used = X[:, groups >= 0].sum(axis=1)
    out = np.zeros_like(X)
    for i, k in enumerate(labels):
        if k == OUTLIER:
            out[i] = scales[i] * shared_rates(X)
        elif cluster_scale(X, labels, groups, k) > 0:
            out[i] = scales[i] * rates[k]
        elif used[i] > 0:
            mates = labels == k
            out[i] = used[i] * X[mates].sum(axis=0) / used[mates].sum()
    return out


EXPECTED = {NOISE: expected_noise, SHARED: expected_shared, RELEVANT: expected_relevant}


def price(penalty, X, n_clusters):
    """b(x|K) of every column (eq. Bx, and BIC below it)."""
    n_rows, n_columns = X.shape
    if penalty == "mdl":
        totals = X.sum(axis=0)
        return np.array(
            [max(0.0, (n_clusters - 1) * np.log(t)) if t > 0 else 0.0 for t in totals]
        )
    if penalty == "bic":
        return np.full(n_columns, n_clusters / 2 * np.log(n_rows))
    return np.zeros(n_columns)


def column_scores(X, labels, groups, penalty):
    """L_j(-), L_j(0), L_j(1) (eq. Lminus, L0, L1)."""
    columns = []
    for group in (NOISE, SHARED, RELEVANT):
        mu = EXPECTED[group](X, labels, groups)
        columns.append((times_log(X, mu) - mu).sum(axis=0))
    columns[2] = columns[2] - price(penalty, X, n_clusters(labels))
    return np.column_stack(columns)


def n_clusters(labels):
    return len(np.unique(labels[labels >= 0]))


def loss(X, labels, groups, penalty):
    """Minus log-likelihood plus prices (eq. likelihood, without log X!)."""
    labels = without_empty(labels)
    value = 0.0
    for group in np.unique(groups):
        mu = EXPECTED[group](X, labels, groups)[:, groups == group]
        value -= (times_log(X[:, groups == group], mu) - mu).sum()
    return value + price(penalty, X, n_clusters(labels))[groups == RELEVANT].sum()


def printed_score(X, members, groups):
    """S_i^k of the profile of these rows (eq. Sik; all rows: the background)."""
    used, relevant = X[:, groups >= 0], X[:, groups == RELEVANT]
    shares = relevant[members].sum(axis=0)
    mu = np.outer(used.sum(axis=1), shares)
    mu = mu / used[members].sum() if used[members].sum() > 0 else np.zeros_like(mu)
    return (times_log(relevant, mu) - mu).sum(axis=1)


def exact_score(X, members, groups):
    """S_ik of the profile of these rows (design, Row scores)."""
    relevant, shared = X[:, groups == RELEVANT], X[:, groups == SHARED]
    used = relevant[members].sum() + shared[members].sum()
    profile = np.array([ratio(c, used) for c in relevant[members].sum(axis=0)])
    portion = ratio(shared[members].sum(), used)
    return times_log(relevant, profile).sum(axis=1) + times_log(
        shared.sum(axis=1), portion
    )


def refitted_likelihood(X, rates, groups):
    """Log-likelihood over C0 and C1 of each row with its own best λ^R_i."""
    used, rates = X[:, groups >= 0], rates[groups >= 0]
    mu = np.outer(used.sum(axis=1) / rates.sum(), rates)
    return (times_log(used, mu) - mu).sum(axis=1)


def row_scores(X, labels, groups, *, exact):
    score = exact_score if exact else printed_score
    return np.column_stack(
        [score(X, labels == k, groups) for k in range(labels.max() + 1)]
    )


def background(X, groups, *, exact):
    """Score of each row in the profile of all rows (eq. outlier:score, design)."""
    score = exact_score if exact else printed_score
    return score(X, np.ones(len(X), dtype=bool), groups)


def column_information(X):
    """h(j) (eq. columnInfo)."""
    sizes, totals = X.sum(axis=1), X.sum(axis=0)
    out = np.zeros(X.shape[1])
    for j in np.flatnonzero(totals):
        x = X[:, j]
        own = x > 0
        inside = x[own] * X.sum() / (sizes[own] * totals[j])
        out[j] = (x[own] * np.log(inside)).sum() / totals[j]
    return out


def distance(a, b):
    """d(a, b) (eq. distance)."""
    value = 0.0
    for row in (a, b):
        for x, c in zip(row, a + b, strict=True):
            if x > 0:
                value += x * np.log(x * (a + b).sum() / (row.sum() * c))
    return value


def distances(X, Z):
    return np.array([[distance(x, z) for z in Z] for x in X])


def tolerance(X, groups):
    """What counts as a tie between the scores of a column (design, Bits)."""
    sizes, totals = X[:, groups >= 0].sum(axis=1), X.sum(axis=0)
    u = times_log(X, sizes[:, None]).sum(axis=0) if sizes.sum() > 0 else 0.0
    out = 1e-12 * (np.abs(u) + np.abs(times_log(totals, totals)) + totals)
    return np.where(np.isfinite(out), out, 0.0)


def choose_groups(scores, tolerance):
    """Best group of each column; ties go to C- before C0 before C1 (design, Bits)."""
    groups = []
    for row, tie in zip(scores, tolerance, strict=True):
        tied = [g for g in (NOISE, SHARED, RELEVANT) if row[g + 1] >= row.max() - tie]
        groups.append(tied[0])
    return np.array(groups, dtype=np.int8)


def assign(X, labels, groups, *, exact, outliers=False, threshold=0.0):
    """Best cluster of every row; outliers where the background is better."""
    if not (groups == RELEVANT).any():  # design, Edges
        return np.zeros(len(X), dtype=int)
    scores = row_scores(X, labels, groups, exact=exact)
    new = scores.argmax(axis=1)
    if outliers:
        excess = background(X, groups, exact=exact) - scores.max(axis=1)
        rounding = 1e-12 * size_of_terms(X.sum(axis=1))
        new[(excess > rounding) & (excess > threshold)] = OUTLIER
    return new


def without_empty(labels):
    """Number the clusters that are left from 0, in their order."""
    out = labels.copy()
    for new, old in enumerate(np.unique(labels[labels >= 0])):
        out[labels == old] = new
    return out


def figure_1():
    """Counts, labels and groups of the paper's first figure."""
    counts = [
        [2, 3, 4, 1, 6, 25],
        [6, 9, 12, 3, 7, 25],
        [6, 9, 12, 3, 1, 20],
        [32, 8, 32, 8, 5, 20],
        [28, 7, 28, 7, 7, 25],
        [8, 2, 8, 2, 5, 23],
        [27, 18, 36, 9, 3, 20],
        [21, 14, 28, 7, 10, 24],
        [18, 12, 24, 6, 5, 22],
        [12, 8, 16, 4, 8, 25],
    ]
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    groups = np.array([1, 1, 0, 0, -1, -1], dtype=np.int8)
    return np.array(counts, dtype=float), labels, groups


def assert_agrees(actual, expected, size=1.0, rtol=1e-11):
    """Equal up to rounding in terms of this size; infinities must be the same."""
    actual, expected, size = np.broadcast_arrays(actual, expected, size)
    with np.errstate(invalid="ignore"):
        close = np.abs(actual - expected) <= rtol * (np.abs(expected) + size)
    close |= actual == expected
    assert close.all(), (
        f"{actual[~close]} is not {expected[~close]}, at {np.argwhere(~close)[:5]}"
    )


def size_of_terms(x):
    """Size of the terms x log x that a score of counts x is made of."""
    return x * (1 + np.abs(np.log(2 + x))) + 1e-3


def expected(X, labels, groups):
    """μ of every count, each column by its group."""
    out = np.zeros_like(X)
    for group in np.unique(groups):
        out[:, groups == group] = EXPECTED[group](X, labels, groups)[:, groups == group]
    return out


def dispersions(X, labels, groups, prior=None, mu=None, n_lost=None):
    """Pearson's statistic over its degrees of freedom, over 1 + mean of (X - μ)/μ.

    (Fletcher, 2012.) Of a row, a column in use that is a share p of its size has 1 - p
    degrees; a row without counts in use, which is all prior, has none. A count that
    must be 0 (no prior, μ = 0) says nothing: 0 / 0 = 0.
    """
    terms = dispersion_terms(X, labels, groups, prior, mu, n_lost)
    found = []
    for x, m, free in terms:
        seen = m > 0
        pearson = ((x - m)[seen] ** 2 / m[seen]).sum()
        excess = (x[seen] / m[seen]).sum() / max(1, len(x))
        known = free > 1e-6 * max(1, len(x))
        found.append(ratio(pearson / free, excess) if known else 0.0)
    return np.array(found)


def dispersion_terms(X, labels, groups, prior=None, mu=None, n_lost=None):
    """X and μ of the rows that count in each column, and its degrees of freedom."""
    mu = expected(X, labels, groups) if mu is None else mu
    n_lost = n_clusters(labels) if n_lost is None else n_lost
    used = groups != -1
    least = X[:, used].min(initial=np.inf) if prior is None else prior
    sizes = X[:, used].sum(axis=1)
    counted = sizes > least * used.sum() * (1 + 1e-12) if used.any() else sizes > 0
    for j, in_use in enumerate(used):
        rows = counted if in_use else np.ones(len(X), dtype=bool)
        x, m = X[rows, j], mu[rows, j]
        share = (m / sizes[rows]).mean() if in_use and len(x) else 0.0
        yield x, m, max(1, len(x) - n_lost) * (1 - share)
