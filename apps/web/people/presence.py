"""Keeps when and from where a session was last used, to the minute, for the list of one's sessions."""

from collections.abc import Callable

import structlog
from allauth.usersessions.models import UserSession
from django.contrib.auth import SESSION_KEY
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

logger = structlog.get_logger(__name__)

NOTED_EVERY_S = 60
MOST_REMEMBERED = 10_000


class Presence:
    """Writes at most once a minute for each session; a session that no row tells of yet gets one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.noted: dict[str, float] = {}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        try:
            self.note(request)
        except (DatabaseError, InterfaceError) as error:  # the page is there, and matters more
            logger.warning("a session's use was not noted", error=str(error).strip())
        return response

    def note(self, request: HttpRequest) -> None:
        key = request.session.session_key
        if key is None or not request.session.accessed or SESSION_KEY not in request.session:
            return
        now = timezone.now().timestamp()
        if now - self.noted.get(key, 0) < NOTED_EVERY_S or not request.user.is_authenticated:
            return
        if len(self.noted) >= MOST_REMEMBERED:
            self.noted.clear()
        self.noted[key] = now
        UserSession.objects.create_from_request(request)
