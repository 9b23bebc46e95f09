"""Writes the data of the tutorial on sites: ``python sites_data.py FOLDER``.

They are the data sets BCI and BCI.env of R's package vegan, as ``write.csv`` writes
them. Read where R has the package, else of Debian's, which is unpacked in a folder that
is thrown away; nothing is installed.
"""

import csv
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

LIBRARIES = ("usr/lib/R/site-library", "usr/local/lib/R/site-library")
FILES = {"BCI": "bci.csv", "BCI.env": "bci-env.csv"}
PATIENCE = 120


def vegan_data(root):
    """Folder of the data sets below a root, or None."""
    folders = (root / library / "vegan" / "data" for library in LIBRARIES)
    return next((path for path in folders if (path / "BCI.rda").exists()), None)


def unpacked(folder):
    """Folder of the data sets in Debian's package."""
    run(["apt-get", "download", "r-cran-vegan"], folder)
    for package in folder.glob("*.deb"):
        run(["dpkg-deb", "--extract", package.name, "."], folder)
    data = vegan_data(folder)
    if data is None:
        message = "Debian's r-cran-vegan has no BCI.rda"
        raise FileNotFoundError(message)
    return data


def run(command, folder):
    subprocess.run(
        command, cwd=folder, check=True, capture_output=True, timeout=PATIENCE
    )


def write(data, folder):
    """Write the data sets as csv files."""
    import rdata

    for name, file in FILES.items():
        with warnings.catch_warnings(action="ignore"):
            frame = rdata.read_rda(data / f"{name}.rda")[name]
        frame.index = frame.index.astype(str)
        frame.to_csv(folder / file, quoting=csv.QUOTE_NONNUMERIC)


def main(folder):
    if all((folder / file).exists() for file in FILES.values()):
        return None
    with tempfile.TemporaryDirectory() as temporary:
        try:
            data = vegan_data(Path("/")) or unpacked(Path(temporary))
            folder.mkdir(parents=True, exist_ok=True)
            write(data, folder)
        except (OSError, subprocess.SubprocessError, ImportError) as error:
            return f"no data for the tutorial on sites, which stays as it is: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
