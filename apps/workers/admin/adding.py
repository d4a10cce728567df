"""Adding a worker in a minute: from the catalogue, by an endpoint's address, or with a key that is in the environment.

Each way ends in one short form with everything filled in that is known. Every step is a plain form; htmx saves reloads.
"""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django_htmx.middleware import HtmxDetails
from redis.exceptions import RedisError

from apps.workers import catalogue, found, listing, offers
from apps.workers.admin.adding_forms import AddressForm, NewWorkerForm, SearchForm
from apps.workers.listing import NoSuchListing
from apps.workers.models import Credential, Worker

HOME = "admin:workers_worker_new"
TEMPLATES = "admin/workers/worker"


def urls(model_admin: Any) -> list[URLPattern]:
    """The addresses of these pages, beneath the list of workers."""
    pages = Adding(model_admin)
    named = (
        ("new/", "new", pages.start),
        ("new/models/", "new_models", pages.models),
        ("new/address/", "new_address", pages.address),
        ("new/listing/<str:code>/", "new_listing", pages.listed),
        ("new/worker/", "new_worker", pages.worker),
        ("new/keys/<str:variable>/", "new_key", pages.key),
    )
    return [
        path(route, model_admin.admin_site.admin_view(pages.for_adders(view)), name=f"workers_worker_{name}")
        for route, name, view in named
    ]


class Adding:
    """The pages, on behalf of the admin of workers, whose permissions and events they share."""

    def __init__(self, model_admin: Any) -> None:
        self.admin = model_admin

    def for_adders(self, view: Any) -> Any:
        def checked(request: HttpRequest, **given: str) -> HttpResponse:
            if not self.admin.has_add_permission(request):
                raise PermissionDenied
            answer: HttpResponse = view(request, **given)
            return answer

        return checked

    # --- the three ways ---------------------------------------------------------------------------------------------

    def start(self, request: HttpRequest) -> HttpResponse:
        """All three ways on one page."""
        return self._page(request, "new", "Add a worker", **self._start(request))

    def models(self, request: HttpRequest) -> HttpResponse:
        """What the catalogue has for a search: the part, or the whole page where it is no htmx that asks."""
        context = self._start(request)
        if HtmxDetails(request):
            return render(request, f"{TEMPLATES}/_models.html", context)
        return self._page(request, "new", "Add a worker", **context)

    def address(self, request: HttpRequest) -> HttpResponse:
        """Ask an endpoint what it serves: at once where it wants no key, else a driver does."""
        form = AddressForm(request.POST or None)
        if request.method != "POST" or not form.is_valid():
            return self._page(request, "new", "Add a worker", **(self._start(request) | {"address": form}))
        credential: Credential | None = form.cleaned_data["credential"]
        return self._ask(request, form.cleaned_data["base_url"], credential)

    def listed(self, request: HttpRequest, code: str) -> HttpResponse:
        """What an endpoint serves; while nobody has answered, a page that looks again by itself."""
        try:
            found = listing.read(code)
        except NoSuchListing as gone:
            messages.info(request, gone.message)
            return redirect(HOME)
        context = {"listing": found, "code": code, "since": request.GET.get("since", "0"), "again": again(request)}
        if HtmxDetails(request):
            return render(request, f"{TEMPLATES}/_listing.html", context)
        return self._page(request, "listing", "Choose a model", **context)

    def key(self, request: HttpRequest, variable: str) -> HttpResponse:
        """Take a key of the environment, and add the chosen ones of its provider's models."""
        today = timezone.now().date()
        key = next((each for each in found.keys_not_taken(today=today) if each.variable == variable), None)
        if key is None or request.method != "POST":
            messages.info(request, f"There is no key in {variable[:60]} that is not taken yet.")
            return redirect(HOME)
        self._may_keep_keys(request)
        chosen = set(request.POST.getlist("model"))
        with transaction.atomic():
            credential = self._keep_found(request, key)
            added = [self._add_offer(request, entry, credential) for entry in key.models if entry.model in chosen]
        if key.provider.base_url and not key.models:
            return self._ask(request, key.provider.base_url, credential)
        names = ", ".join(worker.slug for worker in added) or "no worker yet"
        messages.success(request, f"The key in {variable} was taken, and added: {names}.")
        return redirect("admin:workers_worker_changelist")

    # --- the form that each way ends in -----------------------------------------------------------------------------

    @method_decorator(sensitive_post_parameters("key"))
    def worker(self, request: HttpRequest) -> HttpResponse:
        """Everything that is known, to be looked over and saved."""
        asked = request.GET
        initial = self._known(asked.get("catalogue", ""), asked.get("base_url", ""), asked.get("model", ""))
        if credential := asked.get("credential", ""):
            initial["credential"] = credential
        form = NewWorkerForm(request.POST or None, initial=initial, may_keep_keys=self._keeps_keys(request))
        if request.method == "POST" and form.is_valid():
            worker = self._save(request, form)
            messages.success(request, f"The worker “{worker.slug}” was added.")
            return redirect("admin:workers_worker_change", worker.pk)
        entry = catalogue.entries().get(asked.get("catalogue", ""))
        return self._page(request, "configure", "Add a worker", form=form, entry=entry)

    @transaction.atomic
    @method_decorator(sensitive_variables("secret"))
    def _save(self, request: HttpRequest, form: NewWorkerForm) -> Worker:
        worker: Worker = form.save(commit=False)
        if secret := form.cleaned_data.get("key"):
            self._may_keep_keys(request)
            worker.credential = self._keep(request, Credential(label=form.cleaned_data["label"]), secret)
        return self._add(request, worker)

    # --- what is written, with its events ---------------------------------------------------------------------------

    def _add_offer(self, request: HttpRequest, entry: catalogue.Entry, credential: Credential) -> Worker:
        return self._add(request, Worker(**offers.from_catalogue(entry), credential=credential))

    def _add(self, request: HttpRequest, worker: Worker) -> Worker:
        label = getattr(request.user, "label", str(request.user))
        worker.price_from = offers.source_of_price(worker, entered_by=label)
        worker.save()
        self.admin.tell(request, before=None, after=self.admin.standing(worker.pk))
        self.admin.log_addition(request, worker, "Added.")
        return worker

    @method_decorator(sensitive_variables("secret"))
    def _keep(self, request: HttpRequest, credential: Credential, secret: str) -> Credential:
        its = self.admin.admin_site.get_model_admin(Credential)
        credential.keep(secret)
        credential.save()
        its.tell(request, before=None, after=its.standing(credential.pk))
        its.log_addition(request, credential, "Added.")
        return credential

    def _keep_found(self, request: HttpRequest, key: found.Found) -> Credential:
        credential = Credential(label=f"{key.provider.name}, from {key.variable}", found_in=key.variable)
        return self._keep(request, credential, key.key())

    # --- parts ------------------------------------------------------------------------------------------------------

    def _ask(self, request: HttpRequest, base_url: str, credential: Credential | None) -> HttpResponse:
        from apps.workers.tasks import list_models  # tasks need the listing, which needs no pages

        try:
            code = listing.ask(base_url, credential.pk if credential else None)
            if credential is None:
                listing.carry_out(code)
            else:
                list_models.delay(code)
        except (RedisError, OSError) as error:
            messages.error(request, f"Redis does not answer, and the asking goes through it: {error}"[:300])
            return redirect(HOME)
        return redirect("admin:workers_worker_new_listing", code)

    def _known(self, name: str, base_url: str, model: str) -> dict[str, Any]:
        entry = catalogue.entries().get(name)
        if entry is not None:
            return offers.from_catalogue(entry)
        return offers.from_endpoint(base_url, model) if base_url and model else {}

    def _start(self, request: HttpRequest) -> dict[str, Any]:
        today = timezone.now().date()
        asked = SearchForm(request.GET or None)
        words, provider = request.GET.get("q", "").replace("\0", "")[:100], request.GET.get("provider", "")[:60]
        hits = catalogue.search(words, provider=provider, today=today) if words or provider else []
        return {
            "found": found.keys_not_taken(today=today) if self._keeps_keys(request) else [],
            "search": asked,
            "hits": hits,
            "most": len(hits) == catalogue.MOST_FOUND,
            "asked": bool(words or provider),
            "address": AddressForm(),
        }

    def _keeps_keys(self, request: HttpRequest) -> bool:
        return bool(self.admin.admin_site.get_model_admin(Credential).has_add_permission(request))

    def _may_keep_keys(self, request: HttpRequest) -> None:
        if not self._keeps_keys(request):
            raise PermissionDenied

    def _page(self, request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
        around = self.admin.admin_site.each_context(request) | {"opts": self.admin.opts, "title": title}
        return render(request, f"{TEMPLATES}/{template}.html", around | context)


def again(request: HttpRequest) -> str:
    """Where a page that waits looks again, counting how often it did."""
    looked = request.GET.get("since", "0")
    return f"{request.path}?since={int(looked) + 1 if looked.isdigit() and len(looked) < 5 else 1}"


def home() -> str:
    return reverse(HOME)
