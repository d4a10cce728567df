from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0004_pauses"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                fields=["worker", "-finished_at"],
                name="attempt_of_worker",
                condition=models.Q(("status__in", ["succeeded", "failed", "late"])),
            ),
        ),
    ]
