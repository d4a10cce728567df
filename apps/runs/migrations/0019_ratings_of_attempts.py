import django.db.models.deletion
from django.db import migrations, models

# Of what a step has said the last that was there when it was rated. Whatever was rated was given by some attempt.
FIND = """
    UPDATE runs_rating SET attempt_id = (
        SELECT attempt.id FROM runs_attempt AS attempt
        WHERE attempt.step_id = runs_rating.step_id AND attempt.status IN ('succeeded', 'reused', 'written')
        ORDER BY (attempt.finished_at <= runs_rating.updated_at) IS TRUE DESC, attempt.number DESC
        LIMIT 1
    )
    WHERE step_id IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0018_reviewed_runs"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="rating", name="a_person_rates_a_result_once"),
        migrations.AddField(
            model_name="rating",
            name="attempt",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="ratings", to="runs.attempt"
            ),
        ),
        migrations.RunSQL(FIND, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="rating",
            constraint=models.UniqueConstraint(
                fields=("run", "attempt", "by"), name="a_person_rates_a_result_once", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="rating",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("attempt", None), ("step", None)),
                    models.Q(("attempt__isnull", False), ("step__isnull", False)),
                    _connector="OR",
                ),
                name="a_rating_of_a_step_says_of_which_result",
            ),
        ),
    ]
