"""Which files are read: regular ones, and what the process has been given open."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

OPEN = ("/dev/fd", "/proc/self/fd")
"""The folders of what is open already, such as a pipe that a shell has made."""

KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
"""What is no regular file. Who reads it may wait for ever."""


def readable(path: Path) -> Path:
    """The path, unless it is one of a pipe, a socket or a device; standard input may be any of them.

    Raises:
        OSError: it is, or there is nothing.
    """
    given = os.path.abspath(path)
    if given != "/dev/stdin" and os.path.dirname(given) not in OPEN:
        kind = KINDS.get(stat.S_IFMT(path.stat().st_mode))
        if kind is not None:
            raise OSError(errno.EINVAL, f"it is {kind}, not a regular file; standard input is read from /dev/stdin",
                          str(path))
    return path
