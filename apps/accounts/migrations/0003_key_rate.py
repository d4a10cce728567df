from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_api_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="rate_per_minute",
            field=models.PositiveIntegerField(default=60, help_text="requests a minute, at most"),
        ),
    ]
