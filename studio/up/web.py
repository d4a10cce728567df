"""The web server as one process: `python -m studio.up.web --port 8000`. Its logs are those of the settings."""

import argparse
import gc
from importlib import import_module
from typing import Any

import uvicorn


def load() -> Any:
    """The application, with all that its pages need.

    What is loaded stays for ever, so it is set aside: the garbage collector would walk all of it again and again, each
    time in the middle of somebody's page, and take several times as long as that page.
    """
    application = import_module("studio.asgi").application
    import_module("studio.urls")
    gc.collect()
    gc.freeze()
    return application


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studio.up.web", description="Serve the studio's pages.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    uvicorn.run(
        load(),
        host=arguments.host,
        port=arguments.port,
        ws="websockets-sansio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whose word is taken for an address is STUDIO_PROXIES' to say
        timeout_graceful_shutdown=1,  # an open page must not delay Ctrl-C: it reconnects
    )


if __name__ == "__main__":
    main()
