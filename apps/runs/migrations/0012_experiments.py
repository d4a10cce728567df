import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0011_drafts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Experiment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "Under way"),
                            ("done", "Done"),
                            ("stopped", "Stopped"),
                            ("limit", "Ended at its limit"),
                        ],
                        default="running",
                        max_length=10,
                    ),
                ),
                ("limit_usd", models.DecimalField(decimal_places=4, max_digits=16)),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "owner",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="experiments", to="runs.run"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "running")),
                        fields=("run",),
                        name="one_experiment_at_a_time_on_a_run",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Variant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                ("source", models.CharField(blank=True, max_length=40)),
                ("reader", models.CharField(blank=True, max_length=40)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("left", "Not tried"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("most_usd", models.DecimalField(decimal_places=4, max_digits=16, null=True)),
                ("note", models.TextField(blank=True)),
                ("likeness", models.FloatField(null=True)),
                ("is_same_answer", models.BooleanField(null=True)),
                ("called", models.JSONField(default=list)),
                ("changed", models.JSONField(default=list)),
                ("saved_tokens", models.IntegerField(null=True)),
                ("saved_usd", models.DecimalField(decimal_places=8, max_digits=14, null=True)),
                (
                    "experiment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="variants", to="runs.experiment"
                    ),
                ),
                (
                    "fork",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="variant",
                        to="runs.run",
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("experiment", "source", "reader"), name="an_edge_is_tried_once_an_experiment"
                    )
                ],
            },
        ),
    ]
