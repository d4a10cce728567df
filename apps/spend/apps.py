from django.apps import AppConfig


class SpendConfig(AppConfig):
    name = "apps.spend"
    verbose_name = "Money"
