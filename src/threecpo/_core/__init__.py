"""The numerics: arrays in, arrays out; compiled loops over rows and columns."""
