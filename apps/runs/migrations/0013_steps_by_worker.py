from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0012_experiments"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="step",
            index=models.Index(fields=["worker", "run"], name="step_of_worker"),
        ),
        migrations.AddIndex(
            model_name="step",
            index=models.Index(fields=["position", "run"], name="step_at_position"),
        ),
    ]
