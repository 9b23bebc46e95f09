"""Values beyond what a loss can be computed for give a sentence, not infinity."""

import numpy as np
import pytest

from paper.poisson import PoissonC, PoissonL
from threecpo import ThreeCPO

Y = np.random.default_rng(0).poisson(3, (40, 6)).astype(float)
CASES = {
    "large counts": (Y * 1e306, {}),
    "rather large counts": (Y * 1e299, {}),
    "large prior": (Y, {"prior": 1e308}),
    "rather large prior": (Y, {"prior": 1e300}),
    "subnormal counts": (Y * 5e-324, {"prior": 0.0}),
    "tiny counts": (Y * 1e-310, {"prior": 0.0}),
}


ERRORS = ["large counts", "large prior", "subnormal counts"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [ThreeCPO, PoissonL, PoissonC])
def test_the_loss_is_finite_or_an_error(estimator):
    for name, (X, options) in CASES.items():
        model = estimator(3, random_state=0, n_init=2, **options)
        try:
            model.fit(X)
        except ValueError as error:
            assert "cannot be computed" in str(error)  # noqa: PT017
        else:
            assert np.isfinite(model.loss_)
            assert estimator is not ThreeCPO or name not in ERRORS
