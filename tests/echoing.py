"""A server that wants a key, and in its errors repeats every header that it was sent."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Echo:
    """What it was sent, and whether it lists models or refuses."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.models: list[str] | None = None
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.headers.append(dict(self.headers))
                if server.models is None:
                    return self.answer(401, {"error": {"message": f"refused: {dict(self.headers)}"}})
                return self.answer(200, {"data": [{"id": name} for name in server.models]})

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                server.headers.append(dict(self.headers))
                self.answer(400, {"error": {"message": f"bad request with {dict(self.headers)}"}})

            def answer(self, status: int, body: object) -> None:
                written = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(written)))
                self.end_headers()
                self.wfile.write(written)

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/v1"

    @property
    def keys(self) -> list[str]:
        return [headers.get("Authorization", "") for headers in self.headers]


@contextmanager
def echoing() -> Iterator[Echo]:
    echo = Echo()
    thread = threading.Thread(target=echo.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield echo
    finally:
        echo.http.shutdown()
        echo.http.server_close()
        thread.join()
