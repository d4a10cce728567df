"""An authenticator app, recovery codes and passkeys: asked for beside every first way in, and each change told."""

import json

from allauth.mfa.models import Authenticator
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.second_factors import names_of_factors
from apps.accounts.services import make_sign_in_link
from apps.audit.log import STUDIO
from apps.workers import rotation, vault
from tests.integration.people.conftest import PASSWORD
from tests.integration.people.given import code_of, confirm, is_signed_in, last, set_up_app, sign_in, told

FIREFOX = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}


def show(client: Client, code: str) -> str:
    return client.post("/sign-in/second-factor/", {"code": code}).content.decode()


def test_an_app_is_set_up_after_the_password_was_shown_again(ada: User, client: Client) -> None:
    sign_in(client)

    asked = client.get("/account/second-factors/app/")
    _, codes = set_up_app(client, ada)

    assert asked["Location"].startswith("/account/again/?next=")
    assert len(codes) == len(set(codes)) == 10
    assert names_of_factors(ada) == ["an authenticator app"]
    assert last("second-factor.added").data["kind"] == "totp"
    assert last("recovery-codes.made").data["person"] == ada.pk


def test_a_password_alone_is_not_enough_from_then_on(ada: User, client: Client) -> None:
    sign_in(client)
    secret, _ = set_up_app(client, ada)
    second = Client()

    response = second.post("/sign-in/?next=/runs/", {"login": "ada", "password": PASSWORD, "next": "/runs/"})

    assert response["Location"] == "/sign-in/second-factor/"
    assert not is_signed_in(second)
    assert "This code is not right" in show(second, "000000")
    assert last("sign-in.failed").data == {"person": ada.pk, "reason": "second-factor"}
    answered = second.post("/sign-in/second-factor/", {"code": code_of(secret)})
    assert answered["Location"] == "/runs/"
    assert is_signed_in(second)
    assert last("sign-in.done").data["methods"] == ["password", "totp"]


def test_a_code_works_once(ada: User, client: Client) -> None:
    sign_in(client)
    secret, _ = set_up_app(client, ada)
    first, second = Client(), Client()
    for each in (first, second):
        sign_in(each)

    code = code_of(secret)
    show(first, code)
    show(second, code)

    assert is_signed_in(first)
    assert not is_signed_in(second)


def test_a_recovery_code_opens_once(ada: User, client: Client) -> None:
    sign_in(client)
    _, codes = set_up_app(client, ada)
    first, second = Client(), Client()
    for each in (first, second):
        sign_in(each)

    show(first, codes[3])
    show(second, codes[3])

    assert is_signed_in(first)
    assert not is_signed_in(second)
    assert last("sign-in.done").data["methods"] == ["password", "recovery_codes"]


def test_recovery_codes_are_shown_once(ada: User, client: Client) -> None:
    sign_in(client)
    _, codes = set_up_app(client, ada)

    again = client.get("/account/second-factors/codes/").content.decode()
    client.post("/account/second-factors/codes/new/")
    new = client.get("/account/second-factors/codes/").content.decode()

    assert codes[0] not in again
    assert "10 of 10 are left" in again
    assert codes[0] not in new
    assert 'id="codes"' in new
    assert len(told("recovery-codes.made")) == 2


def test_guessing_codes_is_shut_off(ada: User, client: Client) -> None:
    sign_in(client)
    secret, _ = set_up_app(client, ada)
    second = Client()
    sign_in(second)

    for guess in range(5):
        show(second, f"{guess:06}")
    page = show(second, code_of(secret))

    assert "too many tries" in page
    assert not is_signed_in(second)


def test_a_sign_in_link_does_not_go_round_it(ada: User, client: Client) -> None:
    sign_in(client)
    secret, _ = set_up_app(client, ada)
    token = make_sign_in_link(user=ada, by=STUDIO, now=timezone.now())
    second = Client()

    response = second.post(f"/sign-in/{token}/")
    show(second, code_of(secret))

    assert response["Location"] == "/sign-in/second-factor/"
    assert is_signed_in(second)
    assert last("sign-in.done").data["methods"] == ["link", "totp"]


def test_whoever_has_lost_it_is_let_in_by_whoever_runs_commands(ada: User, client: Client, capsys) -> None:
    sign_in(client)
    set_up_app(client, ada)

    call_command("sign_in_link", "--user", "ada", "--forget-second-factors")
    token = capsys.readouterr().out.strip().split("/")[-2]
    second = Client()
    second.post(f"/sign-in/{token}/")

    assert is_signed_in(second)
    assert [event.data["kind"] for event in told("second-factor.removed")] == ["totp", "recovery_codes"]
    assert last("second-factor.removed").actor.id == "sign_in_link"


def test_taking_the_last_one_away_takes_the_codes_along(ada: User, client: Client) -> None:
    sign_in(client)
    set_up_app(client, ada)

    client.post("/account/second-factors/app/remove/")

    assert not Authenticator.objects.exists()
    assert [event.data["kind"] for event in told("second-factor.removed")] == ["totp", "recovery_codes"]
    assert all(event.actor.id == str(ada.pk) for event in told("second-factor.removed"))


def test_nothing_changes_without_showing_again_who_is_there(ada: User, client: Client) -> None:
    sign_in(client)
    set_up_app(client, ada)
    second = Client()
    second.force_login(ada)

    for path in ("app/remove/", "codes/new/", "passkeys/new/"):
        assert second.post(f"/account/second-factors/{path}")["Location"].startswith("/account/again/")

    assert Authenticator.objects.count() == 2


def test_a_wrong_password_when_asked_again_is_a_failure_like_others(ada: User, client: Client) -> None:
    sign_in(client)

    page = client.post("/account/again/", {"password": "wrong"}).content.decode()

    assert "This is not your password." in page
    assert last("sign-in.failed").data == {"person": ada.pk, "reason": "password"}


def test_secrets_lie_in_the_vault_and_are_sealed_anew_with_it(ada: User, client: Client, settings) -> None:
    sign_in(client)
    secret, _ = set_up_app(client, ada)
    kept = json.dumps(list(Authenticator.objects.values_list("data", flat=True)))
    older = settings.READ_VAULT_KEYS()
    newer = "x" * 43 + "="
    settings.READ_VAULT_KEYS = lambda: [newer, *older]

    rotation.reseal_all(by=STUDIO, now=timezone.now())
    settings.READ_VAULT_KEYS = lambda: [newer]
    second = Client()
    sign_in(second)
    show(second, code_of(secret))

    assert secret not in kept
    assert is_signed_in(second)
    assert vault.key_of(Authenticator.objects.get(type="totp").data["secret"]) == vault.id_of(newer)


def test_browsers_keep_no_passkey_for_a_number(ada: User, client: Client) -> None:
    sign_in(client)
    confirm(client)

    by_number = client.get("/account/second-factors/passkeys/new/", headers={"Host": "127.0.0.1:8000"})
    by_name = client.get("/account/second-factors/passkeys/new/", headers={"Host": "localhost:8000", **FIREFOX})

    assert "http://localhost:8000/account/second-factors/passkeys/new/" in by_number.content.decode()
    assert "Add the passkey" not in by_number.content.decode()
    assert "Add the passkey" in by_name.content.decode()
    assert 'value="Firefox on Linux"' in by_name.content.decode()


def test_a_passkey_nobody_made_opens_nothing(ada: User, client: Client) -> None:
    asked = client.get("/sign-in/passkey/", headers={"Accept": "application/json"}).json()
    nonsense = {"id": "AAAA", "rawId": "AAAA", "type": "public-key", "response": {"userHandle": "MQ"}}

    for credential in (json.dumps(nonsense), "{}", "null", "[", ""):
        response = client.post("/sign-in/passkey/", {"credential": credential})
        assert response.status_code == 302
        assert response["Location"] == "/sign-in/"

    assert asked["request_options"]["publicKey"]["userVerification"] == "required"
    assert {event.data["reason"] for event in told("sign-in.failed")} == {"passkey"}
    assert not is_signed_in(client)
