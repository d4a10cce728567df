"""Every address: the admin pages, then the studio's own. (The APIs come to stand beside them.)"""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    # One page changes one's own password, and leaves an event; Django's other one would not.
    path("admin/password_change/", RedirectView.as_view(pattern_name="account")),
    path("admin/", admin.site.urls),
    path("", include("apps.web.urls")),
]

handler400 = "apps.web.errors.bad_request"
handler403 = "apps.web.errors.forbidden"
handler404 = "apps.web.errors.not_found"
handler500 = "apps.web.errors.server_error"
