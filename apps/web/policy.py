"""What a page may load and run: nothing but our own files, and under /admin/ a little more, which unfold needs."""

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

ADMIN = "/admin/"


class ContentPolicy(CSPMiddleware):
    """The strict policy for every page, and `ADMIN_CONTENT_SECURITY_POLICY` under /admin/ alone."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith(ADMIN) and not report_only and parts.config is None:
            parts.config = settings.ADMIN_CONTENT_SECURITY_POLICY
        return parts
