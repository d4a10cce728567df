"""The pool in the admin pages. Keys can be entered here and never read back; every change is an event."""

from .credentials import CredentialAdmin
from .flow import FlowRuleAdmin, TagAdmin
from .pool import ConductorAdmin, WorkerAdmin
from .profiles import ProfileAdmin

__all__ = ["ConductorAdmin", "CredentialAdmin", "FlowRuleAdmin", "ProfileAdmin", "TagAdmin", "WorkerAdmin"]
