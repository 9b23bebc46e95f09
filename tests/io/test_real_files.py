"""Files as people have them: each is read, or its error leads to a fit."""

import re

import numpy as np
import pytest
from real_files import CASES, write
from sklearn.metrics import adjusted_rand_score

from threecpo import ThreeCPO, read_counts
from threecpo.io import DataFormatError


@pytest.mark.filterwarnings("ignore:X contains values that are not integers")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_is_read_or_its_advice_leads_to_a_fit(case, tmp_path):
    path = write(case, tmp_path)
    options = dict(case.options)
    repaired = options.pop("repaired", None)
    if "encoding_" in options:
        options["encoding"] = options.pop("encoding_")
    if case.sentence:
        with pytest.raises(DataFormatError) as caught:
            read_counts(path)
        message = str(caught.value)
        assert str(path) in message
        assert re.search(case.sentence, message), message
        if repaired is not None:
            path.write_text(repaired)
    table = read_counts(path, **options)
    if case.truth is not None:
        labels = ThreeCPO(3, random_state=0).fit(table).labels_
        truth = [case.truth[name] for name in table.row_names]
        assert adjusted_rand_score(truth, labels) > 0.9
        return
    np.testing.assert_array_equal(table.X.toarray(), case.counts)
    for names, expected in (
        (table.row_names, case.rows),
        (table.column_names, case.columns),
    ):
        assert not expected or list(names) == list(expected)
    ThreeCPO(1).fit(table)
