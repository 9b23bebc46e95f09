"""Two drivers and one checkpoint."""

import subprocess
import sys

import pytest
from block_fits import assert_same_bits, fit, shapeless, write

import threecpo

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no flock")

OPTIONS = {
    "init": "random-labels",
    "n_init": 6,
    "column_penalty": None,
    "outliers": "iterative",
}
# A driver that says when it has the folder, and goes on when it is told to.
PROGRAM = f"""
import sys, warnings
warnings.simplefilter("ignore")
from threecpo import ThreeCPO, distributed
from threecpo._fit.blocks import BlockFit

whole = BlockFit._pass
passes = iter(range(1000))

def waiting(self, requests):
    if next(passes) == 2:
        print("has it", flush=True)
        sys.stdin.readline()
    return whole(self, requests)

BlockFit._pass = waiting
model = ThreeCPO(6, random_state=0, n_jobs=1, **{OPTIONS})
distributed.fit(model, sys.argv[1], sample_rows=60, checkpoint=sys.argv[2])
model.save(sys.argv[3])
"""
TIMEOUT = 600


@pytest.fixture(name="X")
def counts():
    return shapeless()


@pytest.fixture
def start(X, tmp_path):
    """Start a driver; it is ended with the test."""
    write(X, tmp_path / "X", 5)
    started = []

    def start_one():
        command = [sys.executable, "-c", PROGRAM]
        command += [str(tmp_path / name) for name in ("X", "state", "model.npz")]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        started.append(process)
        return process

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


def has_it(process):
    return process.stdout.readline() == "has it\n"


@pytest.mark.slow
def test_the_second_is_refused_and_the_first_goes_on(X, start, tmp_path):
    first = start()
    assert has_it(first)
    second = start()
    out, errors = second.communicate(timeout=TIMEOUT)
    assert second.returncode != 0
    assert out == ""
    last = errors.strip().splitlines()[-1]
    assert last.startswith("ValueError: The checkpoint in ")
    assert "is in use by another fit; wait for it to end" in last
    first.communicate("go on\n", timeout=TIMEOUT)
    assert first.returncode == 0
    assert_same_bits(threecpo.load(tmp_path / "model.npz"), fit(X, 6, **OPTIONS))
