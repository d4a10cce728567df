"""An untrained model as the conductor: any worker of the pool writes the workflow (a baseline of arXiv 2512.04388)."""

from typing import ClassVar

from .conductor import Conductor


class Untrained(Conductor):
    """A large model that was never trained to conduct, asked with the conductor's own prompt.

    The run's setup names the worker that is asked in the conductor's place: `options["worker"]`, or the first of the
    pool; it is shown the workers' names and strengths. The paper reports 59.95 for GPT-5 so, against 75.65 trained.
    """

    asks_conductor: ClassVar[bool] = False  # a worker stands in for it
