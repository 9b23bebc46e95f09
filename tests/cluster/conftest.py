"""Fitted models."""

import pytest
from fitting import fit


@pytest.fixture(scope="module")
def model():
    return fit()


@pytest.fixture(scope="module", params=[None, "iterative", "final"])
def any_model(request):
    return fit(outliers=request.param)
