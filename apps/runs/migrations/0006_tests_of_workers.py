from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0005_calls_of_workers"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["project", "-id"], name="run_tests", condition=models.Q(("profile", "(test)"))),
        ),
    ]
