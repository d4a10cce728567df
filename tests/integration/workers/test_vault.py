"""Sealed keys say with which vault key, and are sealed anew without anybody being locked out."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.audit.log import read, verify
from apps.workers import vault
from apps.workers.models import Credential
from apps.workers.services import TRAIL
from apps.workers.vault import VaultLocked

pytestmark = pytest.mark.django_db

KEY = "sk-0123456789abcdef"


@pytest.fixture
def kept(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The vault's keys in a data directory, as a studio has them."""
    monkeypatch.delenv("VAULT_KEY", raising=False)
    path = tmp_path / "secrets" / "vault_key"
    path.parent.mkdir()
    path.write_text(Fernet.generate_key().decode() + "\n")
    settings.DATA_DIR = tmp_path
    settings.READ_VAULT_KEYS = lambda: path.read_text().split()
    return path


@pytest.fixture
def credential(kept: Path) -> Credential:
    made = Credential(label="Lab")
    made.keep(KEY)
    made.save()
    return made


def test_what_is_sealed_says_in_which_form_and_with_which_key(kept: Path) -> None:
    sealed = vault.seal(KEY)

    assert sealed.startswith(f"1.{vault.newest()}.gAAAA")
    assert vault.key_of(sealed) == vault.id_of(kept.read_text().strip())
    assert vault.unseal(sealed) == KEY
    assert KEY not in sealed


def test_what_was_sealed_before_forms_had_numbers_is_opened_too(kept: Path) -> None:
    old = Fernet(kept.read_text().strip()).encrypt(KEY.encode()).decode()

    assert vault.key_of(old) == ""
    assert vault.unseal(old) == KEY


def test_a_key_the_vault_does_not_have_is_named(kept: Path) -> None:
    sealed = vault.seal(KEY)
    name = vault.newest()
    kept.write_text(Fernet.generate_key().decode())

    with pytest.raises(VaultLocked, match=name):
        vault.unseal(sealed)


def test_a_rotation_reseals_everything_and_keeps_the_old_key_behind(kept: Path, credential: Credential) -> None:
    old, sealed = kept.read_text().split(), credential.sealed

    call_command("rotate_vault_key", verbosity=0)

    credential.refresh_from_db()
    assert kept.read_text().split()[1:] == old
    assert kept.stat().st_mode & 0o777 == 0o600
    assert credential.sealed != sealed
    assert vault.key_of(credential.sealed) == vault.newest() != vault.key_of(sealed)
    assert vault.unseal(credential.sealed) == vault.unseal(sealed) == KEY
    [event] = read(TRAIL)
    assert (event.verb, event.actor.id) == ("vault.resealed", "rotate_vault_key")
    assert event.data == {
        "credentials": 1,
        "second_factors": 0,
        "from": [vault.key_of(sealed)],
        "to": vault.newest(),
    }
    assert verify(TRAIL).first_break is None


def test_old_keys_are_forgotten_once_nothing_needs_them(kept: Path, credential: Credential) -> None:
    call_command("rotate_vault_key", verbosity=0)
    Credential.objects.update(sealed=credential.sealed)  # a process that was slow sealed with the old one

    call_command("rotate_vault_key", forget_old=True, verbosity=0)

    credential.refresh_from_db()
    assert len(kept.read_text().split()) == 1
    assert vault.unseal(credential.sealed) == KEY


def test_one_that_cannot_be_opened_stops_it_and_none_is_touched(kept: Path, credential: Credential) -> None:
    lost = Credential(label="Lost")
    lost.keep(KEY)
    lost.sealed = "1.deadbeef." + Fernet(Fernet.generate_key()).encrypt(b"x").decode()
    lost.save()

    with pytest.raises(CommandError, match=r"Lost .*deadbeef"):
        call_command("rotate_vault_key", verbosity=0)

    before = credential.sealed
    credential.refresh_from_db()
    assert credential.sealed == before
    assert vault.unseal(before) == KEY


def test_keys_from_the_environment_are_not_the_command_s_to_change(
    kept: Path, credential: Credential, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VAULT_KEY", kept.read_text())

    with pytest.raises(CommandError, match="come from VAULT_KEY"):
        call_command("rotate_vault_key", verbosity=0)
    kept.write_text(f"{Fernet.generate_key().decode()} {kept.read_text()}")
    call_command("rotate_vault_key", reseal=True)

    credential.refresh_from_db()
    assert vault.key_of(credential.sealed) == vault.newest()
    assert "1 credential sealed with the newest key." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("days", "age"), [(0, "today"), (0.9, "today"), (1, "1 day"), (20, "2 weeks"), (95, "3 months"), (800, "2 years")]
)
def test_the_age_is_the_key_s(kept: Path, days: float, age: str, normal: Callable[[str], str]) -> None:
    credential = Credential(label="Lab")
    credential.keep(KEY)

    assert normal(credential.age(now=credential.entered_at + timedelta(days=days))) == age


def test_another_key_begins_another_version_and_another_age(credential: Credential) -> None:
    credential.entered_at = timezone.now() - timedelta(days=95)

    credential.keep("sk-another-0123456789")

    assert (credential.version, credential.age(now=timezone.now())) == (2, "today")


@pytest.fixture
def normal() -> Any:
    return lambda text: text.replace("\xa0", " ")
