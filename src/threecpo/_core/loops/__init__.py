"""The compiled loops: arrays and records in, sums and scores out."""
