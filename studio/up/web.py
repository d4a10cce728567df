"""The web server as one process: `python -m studio.up.web --port 8000`. Its logs are those of the settings."""

import argparse

import uvicorn


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studio.up.web", description="Serve the studio's pages.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    uvicorn.run(
        "studio.asgi:application",
        host=arguments.host,
        port=arguments.port,
        ws="websockets-sansio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,  # an open page must not delay Ctrl-C: it reconnects
    )


if __name__ == "__main__":
    main()
