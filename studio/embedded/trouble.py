"""What keeps the studio from starting, said to the person at the terminal."""

import errno
import os


class Trouble(Exception):
    """One or two sentences: what is wrong, and what to do next. Printed without a traceback."""


def explain(error: OSError) -> Trouble:
    """The sentence for a file that could not be written or read."""
    place = error.filename or "the data directory"
    if error.errno == errno.ENOSPC:
        return Trouble(f"The disk of {place} is full. Free some space, or choose another place with --data.")
    if error.errno == errno.EDQUOT:
        return Trouble(f"The quota on the disk of {place} is used up. Free some space, or choose another with --data.")
    if error.errno == errno.EROFS:
        return Trouble(f"{place} is on a read-only disk. Choose a place that can be written to with --data.")
    if error.errno in (errno.EACCES, errno.EPERM):
        return Trouble(
            f"User {os.getuid()} may not use {place}. Change its owner, or choose another place with --data."
        )
    return Trouble(f"{place}: {error.strerror or error}.")
