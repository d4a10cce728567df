"""`manage.py serve_conductor`: a model that writes workflows, served by vLLM on this machine until Ctrl-C."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.conductor.serving import Serving, check, read_adapters
from apps.core.errors import StudioError
from studio import vllm
from studio.embedded.trouble import Trouble, explain
from studio.up.command import say
from studio.up.signals import Signals, Stopped

LOADS_WITHIN_S = 3600.0


class Command(BaseCommand):
    help = (
        "Serve a conductor with vLLM until Ctrl-C. What follows “--” is handed to vLLM as it is: "
        "serve_conductor --port 8100 -- --gpu-memory-utilization 0.8. The key is CONDUCTOR_API_KEY's."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        given = settings
        parser.add_argument(
            "--model", default=given.CONDUCTOR_MODEL, help="a name on the hub or a folder (%(default)s)"
        )
        parser.add_argument(
            "--adapter", action="append", metavar="NAME=FOLDER", help="a LoRA adapter to serve too; may be repeated"
        )
        parser.add_argument("--name", default=given.CONDUCTOR_NAME, help="what the model is called (its own name)")
        parser.add_argument("--host", default=given.CONDUCTOR_HOST, help="where to listen (%(default)s)")
        parser.add_argument("--port", type=int, default=given.CONDUCTOR_PORT, help="where to listen (%(default)s)")
        parser.add_argument("--dtype", default=given.CONDUCTOR_DTYPE, help="numbers to compute with (%(default)s)")
        parser.add_argument(
            "--max-length", type=int, default=given.CONDUCTOR_MAX_LENGTH, help="prompt and reply, in tokens"
        )
        parser.add_argument("--seed", type=int, default=given.CONDUCTOR_SEED, help="the server's own (%(default)s)")
        parser.add_argument("--vllm", default=given.CONDUCTOR_VLLM, help="the vllm to run (that of `make vllm`)")
        parser.add_argument("--load-within", type=float, default=LOADS_WITHIN_S, help="seconds it may load (3600)")
        parser.add_argument("more", nargs="*", metavar="-- OPTIONS", help="further options, handed to vLLM")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            executable = vllm.find(options["vllm"])
            serving = serving_of(options, on_cpu=vllm.is_cpu_build(executable))
            check(serving)
            with Signals().caught() as signals:
                home = settings.DATA_DIR / "conductor"
                vllm.Server(serving, executable, home, signals, say, options["load_within"]).run()
        except Stopped:
            pass
        except (StudioError, Trouble) as refusal:
            raise CommandError(str(refusal)) from refusal
        except OSError as error:
            raise CommandError(str(explain(error))) from error
        say("Stopped.")


def serving_of(options: dict[str, Any], *, on_cpu: bool) -> Serving:
    """What is to be served. :raises apps.conductor.serving.AdapterUnusable: an adapter is not named as it should be."""
    adapters = settings.CONDUCTOR_ADAPTERS if options["adapter"] is None else options["adapter"]
    return Serving(
        model=options["model"],
        adapters=read_adapters(adapters),
        host=options["host"],
        port=options["port"],
        api_key=settings.CONDUCTOR_API_KEY,
        name=options["name"],
        dtype=options["dtype"],
        max_length=options["max_length"] or None,
        seed=options["seed"],
        on_cpu=on_cpu,
        more=options["more"],
    )
