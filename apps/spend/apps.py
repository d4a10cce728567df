from django.apps import AppConfig


class SpendConfig(AppConfig):
    name = "apps.spend"
