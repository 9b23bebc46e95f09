"""Files of models, to be changed, and what must never be unpickled."""

import json

import numpy as np


def rewrite(path, change):
    """Change the arrays of a model file and write it back."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    change(arrays)
    np.savez(path, **arrays)


def change_header(path, change):
    def apply(arrays):
        header = json.loads(str(arrays["header"]))
        change(header)
        arrays["header"] = np.array(json.dumps(header))

    rewrite(path, apply)


def rewrite_packed(path, **changes):
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez_compressed(path, **(arrays | changes))


class Planted:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))
