"""`make bench`: the studio's numbers, each a ratio or a difference within one run.

`python -m tests.benchmarks overhead page` measures the named ones alone.
"""

import asyncio
import os
import platform
import sys
from importlib import import_module

from tests.benchmarks.studio import running_studio

ALL = (
    "overhead",
    "first_sight",
    "at_once",
    "page",
    "pan",
    "ledger",
    "places",
    "limits",
    "lists",
    "audit",
    "seal",
    "verify",
)


def main(names: list[str]) -> None:
    if unknown := set(names) - set(ALL):
        raise SystemExit(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, load {load:.1f}")
    with running_studio() as studio:
        from tests.benchmarks.setting import Setting

        setting = Setting(studio.services["simulator_url"])
        for name in names or ALL:
            measure = import_module(f"tests.benchmarks.{name}").measure
            print("\n" + "\n".join(asyncio.run(measure(studio, setting))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
