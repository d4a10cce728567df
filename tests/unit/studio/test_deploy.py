"""A studio in production passes Django's own check of deployments, and does not start without its secrets."""

import os
import subprocess
import sys

from tests.services import ROOT

PRODUCTION = {
    "STUDIO_PRODUCTION": "1",
    "STUDIO_URL": "https://studio.example.org",
    "STUDIO_HOSTS": "studio.example.org",
    "SECRET_KEY": "".join(chr(33 + number * 7 % 90) for number in range(60)),
    "VAULT_KEY": "not opened by any check",
    "SIGNING_KEY": "5a" * 32,
    "DATABASE_URL": "postgres://studio:secret@db.example.org/studio",
    "REDIS_URL": "redis://:secret@redis.example.org/0",
}


def check(**environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    return subprocess.run(command, cwd=ROOT, env=kept | environment, capture_output=True, text=True, check=False)


def test_the_check_of_deployments_finds_nothing():
    checked = check(**PRODUCTION)

    assert (checked.returncode, checked.stdout) == (0, "System check identified no issues (0 silenced).\n")


def test_without_secrets_production_does_not_start(tmp_path):
    checked = check(**{**PRODUCTION, "SECRET_KEY": ""}, STUDIO_DATA=str(tmp_path))

    assert checked.returncode != 0
    assert "must be set in production" in checked.stderr
