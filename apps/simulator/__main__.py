"""`python -m apps.simulator --host 127.0.0.1 --port 8901 --log requests.jsonl`"""

import argparse
import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

from apps.simulator.server import SIMULATOR, make_app

GRACE_S = 0.2  # how long an answer under way may go on after the order to stop


def read_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m apps.simulator", description="A server of simulated models.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8901, help="0 takes a free one and prints it")
    parser.add_argument("--log", type=Path, default=None, help="append one JSON line for every request to this file")
    return parser.parse_args(argv)


async def serve(*, host: str, port: int, log: Path | None) -> None:
    """Serve until SIGTERM or SIGINT."""
    app = make_app(log_path=log)
    # without handler_cancellation a reader who has gone is only noticed at the next write
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=GRACE_S)
    await runner.setup()
    site = web.TCPSite(runner, host, port, backlog=1024)
    await site.start()
    print(f"Simulated models at http://{host}:{runner.addresses[0][1]}/v1", flush=True)

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
    app[SIMULATOR].stopping = True
    await runner.cleanup()


def main(argv: Sequence[str] | None = None) -> None:
    arguments = read_arguments(argv)
    asyncio.run(serve(host=arguments.host, port=arguments.port, log=arguments.log))


if __name__ == "__main__":
    main()
