"""How the admin pages look and what stands in their menu. Settings take this over for django-unfold."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils.functional import lazy


def _page(name: str) -> str:
    try:
        return reverse(f"admin:{name}")
    except NoReverseMatch:
        return ""  # its app is not installed


_lazy_page = lazy(_page, str)


def _may_see(app: str, model: str) -> Callable[[HttpRequest], bool]:
    def may(request: HttpRequest) -> bool:
        allowed = any(request.user.has_perm(f"{app}.{verb}_{model}") for verb in ("view", "change"))
        return allowed and bool(_page(f"{app}_{model}_changelist"))

    return may


def _item(title: str, icon: str, app: str, model: str) -> dict[str, Any]:
    link = _lazy_page(f"{app}_{model}_changelist")
    return {"title": title, "icon": icon, "link": link, "permission": _may_see(app, model)}


def _never(request: HttpRequest) -> bool:
    return False  # these lead out of the admin pages


NAVIGATION = [
    {
        "items": [
            {"title": "Dashboard", "icon": "monitoring", "link": _lazy_page("index")},
        ]
    },
    {
        "title": "Pool",
        "separator": True,
        "items": [
            _item("Workers", "smart_toy", "workers", "worker"),
            _item("Conductors", "account_tree", "workers", "conductor"),
            _item("Credentials", "key", "workers", "credential"),
            _item("Profiles", "tune", "workers", "profile"),
            _item("Tags", "sell", "workers", "tag"),
            _item("Flow rules", "rule", "workers", "flowrule"),
        ],
    },
    {
        "title": "Money",
        "separator": True,
        "items": [_item("Budgets", "savings", "spend", "budget")],
    },
    {
        "title": "People",
        "separator": True,
        "items": [
            _item("People", "person", "accounts", "user"),
            _item("Projects", "folder_shared", "accounts", "project"),
            _item("Memberships", "badge", "accounts", "membership"),
            _item("API keys", "vpn_key", "accounts", "apikey"),
            _item("Groups", "groups", "auth", "group"),
        ],
    },
    {
        "title": "Studio",
        "separator": True,
        "items": [
            {"title": "Submit a task", "icon": "edit_note", "link": "/", "active": _never},
            {"title": "Runs", "icon": "list_alt", "link": "/runs/", "active": _never},
            {"title": "How conductors do", "icon": "ecg_heart", "link": "/conductors/", "active": _never},
        ],
    },
]

# The studio's own ramps (static/css/tokens.css), in the steps that unfold wants.
COLOURS = {
    "base": {
        "50": "oklch(98.4% .003 260)",
        "100": "oklch(96.4% .005 260)",
        "200": "oklch(91.5% .006 260)",
        "300": "oklch(84% .009 260)",
        "400": "oklch(70% .014 262)",
        "500": "oklch(53% .016 262)",
        "600": "oklch(44% .018 262)",
        "700": "oklch(37% .016 265)",
        "800": "oklch(29% .014 265)",
        "900": "oklch(21% .013 265)",
        "950": "oklch(17.5% .012 265)",
    },
    "primary": {
        "50": "oklch(97.5% .012 268)",
        "100": "oklch(95.5% .022 268)",
        "200": "oklch(90% .05 268)",
        "300": "oklch(83% .09 268)",
        "400": "oklch(76% .12 268)",
        "500": "oklch(74% .13 268)",
        "600": "oklch(53% .19 268)",
        "700": "oklch(47% .19 268)",
        "800": "oklch(40% .16 268)",
        "900": "oklch(34% .12 268)",
        "950": "oklch(28% .06 268)",
    },
    "font": {
        "subtle-light": "oklch(50% .016 262)",
        "subtle-dark": "oklch(70% .014 262)",
        "default-light": "oklch(40% .018 262)",
        "default-dark": "oklch(80% .012 260)",
        "important-light": "oklch(24% .02 265)",
        "important-dark": "oklch(94% .006 260)",
    },
}

PANEL: dict[str, Any] = {
    "SITE_TITLE": "Conductor Studio",
    "SITE_HEADER": "Conductor Studio",
    "SITE_SUBHEADER": "Admin",
    "SITE_URL": "/",
    "SITE_ICON": lambda request: static("css/icon.svg"),
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("css/icon.svg")}],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "6px",
    "COLORS": COLOURS,
    "STYLES": [lambda request: static("css/admin.css")],
    "DASHBOARD_CALLBACK": "apps.web.pool.dashboard.dashboard",
    "ACCOUNT": {"navigation": [{"title": "Account and password", "link": "/account/"}]},
    "SIDEBAR": {"show_search": True, "show_all_applications": False, "navigation": NAVIGATION},
}
