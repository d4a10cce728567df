"""The studio's public key, to be kept elsewhere: exports and anchors are held against it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.audit.anchors import newest, public_key_id, public_key_pem
from apps.audit.sending import sendings
from apps.web.keeping.sharing import as_download
from apps.web.words.figures import ago


@require_safe
def key(request: HttpRequest) -> HttpResponse:
    """The key with its fingerprint; with `?as=pem` as a file."""
    pem = public_key_pem()
    if request.GET.get("as") == "pem":
        return as_download(pem, name="conductor-studio-key.pem", kind="application/x-pem-file")
    anchor, now = newest(), timezone.now()
    context = {
        "pem": pem,
        "fingerprint": public_key_id(),
        "anchor": anchor,
        "anchored": ago(anchor.at, now=now) if anchor else "",
        "places": [
            (place, sending, ago(sending.sent_at, now=now) if sending and sending.sent_at else "")
            for place, sending in sendings()
        ],
    }
    return render(request, "audit/export_key.html", context)


urls: list[URLPattern] = [path("audit/key/", key, name="audit-key")]
