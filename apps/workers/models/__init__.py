"""Who can be asked: workers, conductors, the credentials they need, and profiles that bind them under a name.

All are global unless they name a project. What a run used is frozen on the run, so nothing here changes the past.
"""

from .called import CalledModel, check_base_url
from .conductors import Conductor, Health
from .credentials import Credential, Scoped
from .flow import FlowRule, Tag
from .pool import Fallback, Worker
from .profiles import Profile

__all__ = [
    "CalledModel",
    "Conductor",
    "Credential",
    "Fallback",
    "FlowRule",
    "Health",
    "Profile",
    "Scoped",
    "Tag",
    "Worker",
    "check_base_url",
]
