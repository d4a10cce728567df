"""The addresses of the way in and out, and of one's account. Where allauth looks for a page by name, it has that name.

What is not here cannot be done: there is no sign-up, and no password is sent anywhere.
"""

from django.urls import URLPattern, path

from apps.web.people import account, again, identities, keys, second_factors, sign_in, single_sign_on

urls: list[URLPattern] = [
    path("sign-in/", sign_in.SignIn.as_view(), name="account_login"),
    path("sign-in/second-factor/", sign_in.SecondFactor.as_view(), name="mfa_authenticate"),
    path("sign-in/passkey/", sign_in.PasskeySignIn.as_view(), name="mfa_login_webauthn"),
    path("sign-in/with/<slug:provider_id>/", single_sign_on.go, name="openid_connect_login"),
    path("sign-in/with/<slug:provider_id>/back/", single_sign_on.come_back, name="openid_connect_callback"),
    path("sign-in/<str:token>/", sign_in.sign_in_by_link, name="sign-in-by-link"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("account/", account.account, name="account"),
    path("account/again/", again.Again.as_view(), name="account_reauthenticate"),
    path("account/again/code/", again.AgainByCode.as_view(), name="mfa_reauthenticate"),
    path("account/again/passkey/", again.AgainByPasskey.as_view(), name="mfa_reauthenticate_webauthn"),
    path("account/second-factors/", second_factors.SecondFactors.as_view(), name="mfa_index"),
    path("account/second-factors/app/", second_factors.AddApp.as_view(), name="mfa_activate_totp"),
    path("account/second-factors/app/remove/", second_factors.RemoveApp.as_view(), name="mfa_deactivate_totp"),
    path("account/second-factors/codes/", second_factors.RecoveryCodes.as_view(), name="mfa_view_recovery_codes"),
    path(
        "account/second-factors/codes/new/",
        second_factors.NewRecoveryCodes.as_view(),
        name="mfa_generate_recovery_codes",
    ),
    path("account/second-factors/passkeys/new/", second_factors.AddPasskey.as_view(), name="mfa_add_webauthn"),
    path("account/second-factors/passkeys/<int:pk>/", second_factors.RenamePasskey.as_view(), name="mfa_edit_webauthn"),
    path(
        "account/second-factors/passkeys/<int:pk>/remove/",
        second_factors.RemovePasskey.as_view(),
        name="mfa_remove_webauthn",
    ),
    path("account/sessions/<int:pk>/end/", account.end_session, name="end-session"),
    path("account/sessions/end-others/", account.end_others, name="end-other-sessions"),
    path("account/identities/<int:pk>/remove/", identities.take_away, name="take-identity-away"),
    path("account/keys/new/", keys.new_key, name="new-key"),
    path("account/keys/<int:pk>/revoke/", keys.revoke_key, name="revoke-key"),
]
