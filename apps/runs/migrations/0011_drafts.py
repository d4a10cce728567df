import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("runs", "0010_words_and_views"),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedDraft",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("editor", models.CharField(blank=True, max_length=32)),
                ("version", models.PositiveIntegerField(default=1)),
                ("body", models.TextField()),
                ("base", models.CharField(max_length=16)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "changed_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="drafts", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="drafts", to="runs.run"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="saveddraft", index=models.Index(fields=["run", "-updated_at"], name="draft_of_run")
        ),
    ]
