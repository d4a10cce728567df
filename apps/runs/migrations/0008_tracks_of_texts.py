from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0007_shares"),
    ]

    operations = [
        migrations.AddField(model_name="attempt", name="track", field=models.JSONField(null=True)),
        migrations.AddField(model_name="proposal", name="track", field=models.JSONField(null=True)),
    ]
