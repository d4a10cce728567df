"""Tells the sockets of sessions what became of them."""

from collections.abc import Iterable

import structlog
from asgiref.sync import async_to_sync

from apps.accounts.services import group_of_session
from apps.runs.live import channel_layer

logger = structlog.get_logger(__name__)


def tell_session(session_key: str | None, kind: str) -> None:
    """Tell the sockets of a session what became of it; without Redis they find out themselves within half a minute."""
    if session_key is None:
        return
    try:
        async_to_sync(channel_layer().group_send)(group_of_session(session_key), {"type": kind})
    except Exception as error:  # as when a bell is rung: the session is over whether they hear it or not
        logger.warning("the session's sockets were not told", kind=kind, error=str(error))


def tell_ended(session_keys: Iterable[str]) -> None:
    """Close the sockets of sessions that were ended."""
    for key in session_keys:
        tell_session(key, "session.ended")
