"""What can go wrong with published files."""


class DataNotFoundError(OSError):
    """A data set is neither on this machine nor to be had from its home."""


class DataFormatError(ValueError):
    """A file is not the one that was published, or is damaged."""
