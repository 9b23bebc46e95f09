"""``python -m fuzz``."""

import signal

from .command import main

if __name__ == "__main__":
    # Whoever ends a long run still gets its table.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    raise SystemExit(main())
