#!/usr/bin/env python3
"""Stands in for the program `vllm`: takes its options, loads for a moment, answers for its health, has an engine.

For the life of `serve_conductor` alone. What real vLLM does is asked of real vLLM, in tests/verification.
"""

import http.server
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

model, given = sys.argv[2], sys.argv[3:]
port = int(given[given.index("--port") + 1])
print(f"(APIServer pid={os.getpid()}) INFO 11-21 04:31:26 [model.py:733] Resolved architecture: {model}", flush=True)
if model == "broken":
    print("(EngineCore pid=2) ERROR 11-21 04:31:35 [core.py:1] ValueError: No room for the cache.", flush=True)
    print("RuntimeError: Engine core initialization failed. See root cause above.", flush=True)
    sys.exit(1)
if model == "endless":
    time.sleep(600)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # and with it goes the engine, as vLLM's does
engine = subprocess.Popen(["sleep", "600"])
Path("seen.json").write_text(
    json.dumps({"pid": os.getpid(), "engine": engine.pid, "options": given, "key": os.environ.get("VLLM_API_KEY")})
)


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()


try:
    http.server.HTTPServer(("127.0.0.1", port), Health).serve_forever()
finally:
    engine.kill()
