"""The wiring: settings, addresses, ASGI, Celery, and `up`, the one-command studio."""

from studio.celery import app as celery_app

__all__ = ["celery_app"]
