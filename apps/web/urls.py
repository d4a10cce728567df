"""The addresses of the studio's pages and sockets."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseRedirect
from django.templatetags.static import static
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe

from apps.web import health
from apps.web.audit.export import urls as trail_export_urls
from apps.web.audit.export_key import urls as key_urls
from apps.web.audit.page import urls as audit_urls
from apps.web.comparing.compare import urls as compare_urls
from apps.web.edges.page import urls as edge_urls
from apps.web.editing.edit import urls as edit_urls
from apps.web.keeping.exporting import urls as export_urls
from apps.web.keeping.importing import urls as import_urls
from apps.web.keeping.sharing import urls as share_urls
from apps.web.keeping.templates_page import urls as template_urls
from apps.web.live import auditing
from apps.web.live import sockets as live
from apps.web.people.urls import urls as people_urls
from apps.web.pool.conductors import urls as conductor_urls
from apps.web.pool.workers import urls as worker_urls
from apps.web.projects.pages import urls as project_urls
from apps.web.retention.of_project import urls as retention_urls
from apps.web.retention.of_run import urls as run_retention_urls
from apps.web.reviewing.listing import urls as reviews_urls
from apps.web.reviewing.page import urls as review_urls
from apps.web.reviewing.rating import urls as rating_urls
from apps.web.rules.page import urls as rule_urls
from apps.web.run.excepting import urls as excepting_urls
from apps.web.run.holding import urls as holding_urls
from apps.web.run.ledger import urls as ledger_urls
from apps.web.run.page import urls as run_urls
from apps.web.run.viewing import urls as viewing_urls
from apps.web.runs import page as runs_list
from apps.web.runs.palette import urls as palette_urls
from apps.web.runs.peek import urls as peek_urls
from apps.web.runs.saved_views import urls as saved_view_urls
from apps.web.starting import compose
from apps.web.starting.again import urls as again_urls
from apps.web.starting.plans import urls as plan_urls


@require_safe
@login_not_required
def favicon(request: HttpRequest) -> HttpResponseRedirect:
    """Where browsers look for an icon when a page, such as raw JSON, names none."""
    return HttpResponseRedirect(static("css/icon.svg"))


urlpatterns: list[URLPattern] = [
    path("", compose.compose, name="compose"),
    path("runs/", runs_list.runs, name="runs"),
    *saved_view_urls,  # before the pages of runs, whose codes have more letters than "views"
    *peek_urls,
    *palette_urls,
    *holding_urls,
    *excepting_urls,
    *plan_urls,
    *run_urls,
    *viewing_urls,
    *ledger_urls,
    *review_urls,
    *reviews_urls,
    *rating_urls,
    *edit_urls,
    *again_urls,
    *edge_urls,
    *compare_urls,
    *conductor_urls,
    *import_urls,
    *template_urls,
    *export_urls,
    *share_urls,
    *audit_urls,
    *trail_export_urls,
    *key_urls,
    *retention_urls,
    *run_retention_urls,
    *worker_urls,
    *rule_urls,
    *people_urls,
    *project_urls,
    path("favicon.ico", favicon, name="favicon"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]

sockets: list[URLPattern] = [
    path("ws/audit/", auditing.AuditConsumer.as_asgi()),
    path("ws/runs/", live.RunsConsumer.as_asgi()),
    path("ws/runs/<str:code>/", live.RunConsumer.as_asgi()),
]
