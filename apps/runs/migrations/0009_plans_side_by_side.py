import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0008_tracks_of_texts"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="beside",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="plans", to="runs.run"
            ),
        ),
    ]
