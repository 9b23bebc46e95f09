"""What can go wrong with files."""

_LONGEST_MESSAGE = 400


class DataFormatError(ValueError):
    """A file does not hold what it should: it is missing, damaged or of another kind.

    The message is one line: the file, where in it, what is wrong and what to do.
    """


def one_line(text: object) -> str:
    """Text as one line of letters that a terminal shows, not too long."""
    words = " ".join(str(text).split())
    plain = "".join(
        letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words
    )
    if len(plain) > _LONGEST_MESSAGE:
        return f"{plain[:_LONGEST_MESSAGE]}..."
    return plain
