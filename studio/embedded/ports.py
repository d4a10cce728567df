"""Ports on the loopback interface: found free, kept between starts, and held while their server is not yet there."""

import socket

LOOPBACK = "127.0.0.1"


def _bound(port: int) -> socket.socket:
    """A socket that has `port` without listening: nobody else is given it, while our server may still bind it.

    Linux lets a second socket bind the same port if both say SO_REUSEADDR and neither listens yet; PostgreSQL,
    Redis, uvicorn and aiohttp all say it.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        holder.bind((LOOPBACK, port))
    except OSError:
        holder.close()
        raise
    return holder


def hold() -> tuple[int, socket.socket]:
    """A free port and the socket that keeps it ours."""
    holder = _bound(0)
    return int(holder.getsockname()[1]), holder


def check(port: int) -> None:
    """:raises OSError: a server of ours could not listen on `port` now."""
    with _bound(port) as probe:
        probe.listen(1)


def is_free(port: int) -> bool:
    """Whether a server of ours could listen on `port` now."""
    try:
        check(port)
    except OSError:
        return False
    return True


def answers(port: int) -> bool:
    """Whether anything accepts connections on `port`."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True


def choose(preferred: int | None) -> int:
    """The port of the last start if it is still free, else any free one."""
    if preferred and is_free(preferred):
        return preferred
    port, holder = hold()
    holder.close()
    return port
