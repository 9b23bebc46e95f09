"""What can go wrong with files, read or downloaded."""


class DataNotFoundError(OSError):
    """A data set is neither on this machine nor to be had from its home."""


class DataFormatError(ValueError):
    """A file does not hold what it should: it is missing, damaged or of another kind.

    The message is one line: the file, where in it, what is wrong and what to do.
    """
