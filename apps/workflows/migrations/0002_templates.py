import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_first"),
        ("workflows", "0001_first"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="savedworkflow",
            name="description",
            field=models.CharField(blank=True, default="", max_length=500),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="savedworkflow",
            name="profile",
            field=models.CharField(blank=True, default="", max_length=63),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="savedworkflow",
            name="source",
            field=models.CharField(blank=True, default="", max_length=12),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="savedworkflow",
            name="task",
            field=models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="savedworkflow",
            name="updated_at",
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AddField(
            model_name="savedworkflow",
            name="version",
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddIndex(
            model_name="savedworkflow",
            index=models.Index(fields=["project", "name", "id"], name="saved_workflow_list"),
        ),
    ]
