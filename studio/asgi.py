"""The web process: Django's pages over HTTP, Channels' consumers over WebSockets, from our own origins alone."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studio.settings")

from django.core.asgi import get_asgi_application

pages = get_asgi_application()  # loads the apps, which what follows imports

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

from apps.web.urls import sockets

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(sockets))),
    }
)
