"""A studio whose conductor is the model on vLLM, and whose workers are the simulator's: a driver here and now."""

import pytest
from django.utils import timezone

from apps.workers.models import Conductor, Credential, Profile
from tests.integration.runs.conftest import drive, process, rung
from tests.pools import admin, pool, ultra
from tests.verification.vllm.serving import KEY, LONGEST_REPLY, MODEL, Server

__all__ = ["admin", "drive", "pool", "process", "rung", "ultra"]


@pytest.fixture
def conductor(ultra: Profile, server: Server) -> Conductor:
    """The conductor of the profile, as a person would enter it from what `serve_conductor` says."""
    credential = Credential(label="vLLM", created_at=timezone.now())
    credential.keep(KEY)
    credential.save()
    conductor = ultra.conductor
    assert conductor is not None
    conductor.name = "Tiny on vLLM"
    conductor.simulated = False
    conductor.transport, conductor.base_url, conductor.model = "wire", server.base_url, MODEL
    conductor.credential = credential
    conductor.free = True
    conductor.encoding = Conductor.Encoding.JSON
    conductor.params = {"max_tokens": LONGEST_REPLY, "temperature": 1.0}
    conductor.attempts = 6
    conductor.save()
    Profile.objects.filter(pk=ultra.pk).update(max_steps=1)  # what a schema enforces whole: the run goes on for sure
    ultra.refresh_from_db()
    return conductor
