from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_key_rate"),
        ("runs", "0017_reviews"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="reviewed",
            field=models.CharField(blank=True, db_default="", default="", max_length=10),
        ),
        migrations.RunSQL(
            "UPDATE runs_run SET reviewed = review.state FROM runs_review AS review WHERE review.run_id = runs_run.id",
            migrations.RunSQL.noop,
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("reviewed", ""), _negated=True),
                fields=["project", "reviewed", "-id"],
                name="run_reviewed",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("finished_at__isnull", False), ("nested_in", None), ("reviewed__in", ["", "open"])),
                fields=["project", "-id"],
                name="run_unreviewed",
            ),
        ),
    ]
