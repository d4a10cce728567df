"""The web process: Django's pages over HTTP, Channels' consumers over WebSockets, from our own pages alone."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studio.settings")

from django.core.asgi import get_asgi_application

pages = get_asgi_application()  # loads the apps, which what follows imports

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter

from apps.web.live.origins import OwnPagesAlone
from apps.web.urls import sockets

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": OwnPagesAlone(AuthMiddlewareStack(URLRouter(sockets))),
    }
)
