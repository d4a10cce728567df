from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def tell_those_with_tags(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """What was made from a tagged task counted as written by a model that had read it: so it still does."""
    apps.get_model("workflows", "SavedWorkflow").objects.exclude(tags=[]).update(told=[])


class Migration(migrations.Migration):
    dependencies = [
        ("workflows", "0003_tags_of_templates"),
    ]

    operations = [
        migrations.AddField(
            model_name="savedworkflow",
            name="told",
            field=models.JSONField(null=True),
        ),
        migrations.RunPython(tell_those_with_tags, migrations.RunPython.noop),
    ]
