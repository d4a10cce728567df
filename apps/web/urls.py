"""The addresses of the studio's pages and sockets."""

from django.urls import URLPattern, path

urlpatterns: list[URLPattern] = []

sockets: list[URLPattern] = []
