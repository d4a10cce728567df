"""Every address: the admin pages, then the studio's own. (The APIs come to stand beside them.)"""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.generic import RedirectView

from apps.web.people.account import password_in_admin
from apps.web.people.sign_in import sign_out

urlpatterns = [
    # One page changes one's own password: it asks for the old one, and leaves an event.
    path("admin/password_change/", RedirectView.as_view(pattern_name="account")),
    path("admin/accounts/user/<str:id>/password/", password_in_admin),
    # One way in, and one way out.
    path("admin/login/", login_not_required(secure_admin_login(admin.site.login))),
    path("admin/logout/", sign_out),
    path("admin/", admin.site.urls),
    path("", include("apps.web.urls")),
]

handler400 = "apps.web.errors.bad_request"
handler403 = "apps.web.errors.forbidden"
handler404 = "apps.web.errors.not_found"
handler429 = "apps.web.errors.too_many"  # allauth's, where somebody tries too often
handler500 = "apps.web.errors.server_error"
