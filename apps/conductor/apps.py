from django.apps import AppConfig


class ConductorConfig(AppConfig):
    name = "apps.conductor"
