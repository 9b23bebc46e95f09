"""Models survive a file, bit for bit."""

import json
import os
import pickle
import stat

import joblib
import numpy as np
import pandas as pd
import pytest

import threecpo
from containers import names
from fitting import TRUE, X, fit
from threecpo import ThreeCPO
from threecpo._fit.record_files import record_to_arrays

OPTIONS = {
    "default": {},
    "iterative": {"outliers": "iterative", "outlier_threshold": 1.5, "prior": 0.0},
    "paper": {"assignment": "paper", "groups": [1, 0], "verbose": 0, "n_jobs": 2},
    "ablation": {"groups": (1, -1), "column_penalty": "bic", "outliers": "final"},
    "no price": {"column_penalty": None, "n_init": np.int64(2), "prior": np.float64(1)},
    "labels": {"init": TRUE.clip(0), "column_init": [1] * 6 + [0, 0, -1, -1]},
    "labels as a list": {"init": TRUE.clip(0).tolist()},
}


def attributes(model):
    """Everything that a fit has stored, private things too."""
    return {k: v for k, v in vars(model).items() if k.endswith("_") or k[0] == "_"}


def assert_same(a, b, name=""):
    if isinstance(a, dict):
        assert set(a) == set(b), name
        for key in a:
            assert_same(a[key], b[key], f"{name} {key}")
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, name
        assert a.shape == b.shape, name
        assert (
            a.tolist() == b.tolist()
            if a.dtype == object
            else (a.tobytes() == b.tobytes())
        ), name
    elif name == "record_":
        for first, second in zip(record_to_arrays(a), record_to_arrays(b), strict=True):
            assert_same(first, second, name)
    elif not name.startswith("_"):
        assert type(a) is type(b), name
        assert a == b, name


def assert_same_model(model, again, X):
    public = {k: v for k, v in attributes(model).items() if k[0] != "_"}
    restored = attributes(again)
    assert set(public) <= set(restored)
    for name, value in public.items():
        assert_same(value, restored[name], name)
    for method in ("predict", "row_scores", "transform"):
        first, second = getattr(model, method)(X), getattr(again, method)(X)
        assert_same(np.asarray(first), np.asarray(second), method)
    assert model.score(X) == again.score(X)
    pd.testing.assert_frame_equal(model.top_columns(5), again.top_columns(5))


@pytest.mark.parametrize("name", OPTIONS)
def test_a_model_survives_its_file(name, path):
    model = fit(**OPTIONS[name])
    model.save(path)
    again = threecpo.load(path)
    assert type(again) is ThreeCPO
    assert_same_model(model, again, X)
    for key, value in model.get_params().items():
        assert np.array_equal(again.get_params()[key], value), key


def test_a_loaded_model_can_be_saved_and_fitted_again(saved, tmp_path):
    again = threecpo.load(saved)
    again.save(tmp_path / "second.npz")
    assert_same_model(again, threecpo.load(tmp_path / "second.npz"), X)
    assert again.fit(X).loss_ == fit().loss_


def test_column_names_survive(path):
    frame = pd.DataFrame(X, columns=[*names(X)[:-1], "λ ü 中"])
    model = fit(frame)
    model.save(path)
    again = threecpo.load(path)
    assert again.feature_names_in_.dtype == object
    assert_same_model(model, again, frame)


def test_a_loaded_model_serves_as_a_start(saved):
    again = threecpo.load(saved)
    assert fit(init=again).loss_ == again.loss_


def test_a_model_survives_pickle():
    model = fit(outliers="iterative")
    assert_same_model(model, pickle.loads(pickle.dumps(model)), X)


def test_a_model_survives_joblib(tmp_path):
    model = fit()
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert_same_model(model, again, X)


def test_the_path_is_taken_as_it_is(tmp_path):
    model = fit()
    model.save(str(tmp_path / "model"))
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    assert threecpo.load(tmp_path / "model").loss_ == model.loss_


def test_a_file_is_one_npz_without_pickle_and_with_a_version(saved):
    with np.load(saved, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    assert all(array.dtype.kind != "O" for array in arrays.values())
    header = json.loads(str(arrays["header"]))
    assert isinstance(header["version"], int)
    assert header["format"] == "threecpo-model"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_file_has_the_permissions_of_any_new_file(saved, tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("column_penalty", lambda totals, n_clusters, n_rows: totals * 0),
        ("random_state", np.random.default_rng(0)),
        ("init", fit()),
    ],
    ids=["penalty", "Generator", "fitted model"],
)
def test_what_cannot_be_stored_is_refused_and_leaves_nothing(name, value, path):
    model = fit(**{name: value})
    with pytest.raises(ValueError, match=rf"{name}=.*cannot be stored"):
        model.save(path)
    assert list(path.parent.iterdir()) == []


def test_a_failure_while_writing_leaves_an_existing_file_intact(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(file, *args, **kwargs):
        file.write(b"half a file")
        raise KeyboardInterrupt

    for name in ("savez", "savez_compressed"):
        monkeypatch.setattr(np, name, fail)
    with pytest.raises(KeyboardInterrupt):
        fit(outliers="final").save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_saving_replaces_an_existing_file(saved):
    model = fit(outliers="final")
    model.save(saved)
    assert threecpo.load(saved).outliers == "final"


def test_loading_no_file_or_a_folder_says_so(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"none\.npz does not exist; load reads"
    ):
        threecpo.load(tmp_path / "none.npz")
    with pytest.raises(IsADirectoryError, match=r"is a folder, not a model file\.$"):
        threecpo.load(tmp_path)
    fit().save(tmp_path / "model.npz")
    with pytest.raises(IsADirectoryError, match=r"; load .*model\.npz\.$"):
        threecpo.load(tmp_path)
    with pytest.raises(TypeError, match="takes the name of a file, not ThreeCPO"):
        threecpo.load(fit())


def test_a_model_is_saved_without_its_rows(path, tmp_path):
    names = [f"patient {i}" for i in range(len(X))]
    table = threecpo.CountTable(X, row_names=names)
    given = {"sample_weight": np.arange(len(X)) % 3, "batch": np.arange(len(X)) % 2}
    model = ThreeCPO(3, init=TRUE.clip(0), random_state=0).fit(table, **given)
    model.save(path)
    whole = path.stat().st_size
    model.save(path, rows=False)
    assert path.stat().st_size < whole
    with np.load(path) as arrays:
        assert not [name for name in arrays if len(X) in arrays[name].shape]
        assert not any(b"patient" in arrays[name].tobytes() for name in arrays)
    again, batch = threecpo.load(path), given["batch"]
    np.testing.assert_array_equal(
        again.predict(X, batch=batch), model.predict(X, batch=batch)
    )
    assert again.temperature_ == model.temperature_
    assert again.cut(2).n_clusters_ == 2
    for name in ("labels_", "margins_", "row_weights_", "probabilities_"):
        with pytest.raises(AttributeError, match=r"no results of its rows.*refine"):
            getattr(again, name)
    with pytest.raises(ValueError, match="no results of its rows"):
        again.stability(X)
    refined = again.refine(table, **given)
    np.testing.assert_array_equal(refined.labels_, model.refine(table, **given).labels_)
