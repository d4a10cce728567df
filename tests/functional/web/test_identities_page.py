"""What single sign-on ties to an account, looked at by axe."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount

from apps.accounts.models import User
from tests.functional.web.browsing import Server, check_nobody_is_kept_out

pytestmark = [pytest.mark.browser]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out_of_what_opens_an_account(
    server: Server, ada: User, opened: Callable[[], Any], scheme: Any
) -> None:
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True, email="ada@example.org")
    for number in range(2):
        told = {"id_token": {"email": "ada@example.org"}}
        uid = f"00u1a2b3c4d5e6f7g8h{number}"
        SocialAccount.objects.create(user=ada, provider="oidc", uid=uid, extra_data=told)
    pages = [("/account/", "#identities"), (f"/admin/accounts/user/{ada.pk}/ways-in/", "text=Single sign-on")]

    check_nobody_is_kept_out(server, opened, pages, scheme=scheme, width=390)
