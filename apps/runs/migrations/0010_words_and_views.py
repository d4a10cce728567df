import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# A word is a run of letters and digits, in whatever script the database's locale knows. PostgreSQL's own parser alone
# would take addresses, hyphens and typographic quotation marks into words. 200,000 characters stay below the 1 MB that
# a tsvector may have, whatever they are.
WORDS = r"""
CREATE FUNCTION runs_plain(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT regexp_replace(lower(left(given, 200000)), '[^[:alnum:]]+', ' ', 'g') $$;

-- What somebody looks for: a phrase, or words of which the last may go on.
CREATE FUNCTION runs_wanted(given text, goes_on boolean) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$
    SELECT CASE
        WHEN numnode(phrase) = 0 OR NOT goes_on THEN phrase
        ELSE (phrase::text || ':*')::tsquery
    END
    FROM phraseto_tsquery('simple', runs_plain(given)) AS phrase
$$;

CREATE FUNCTION runs_words_of(of_run bigint) RETURNS tsvector LANGUAGE sql STABLE AS
$$
    SELECT to_tsvector('simple', runs_plain(concat_ws(' ', run.code, run.profile, person.username, run.task, (
        SELECT string_agg(concat_ws(' ', step.instruction, left(step.result, 50000)), ' ' ORDER BY step.position)
        FROM runs_step AS step
        WHERE step.run_id = run.id
    ))))
    FROM runs_run AS run
    JOIN accounts_user AS person ON person.id = run.owner_id
    WHERE run.id = of_run
$$;

CREATE FUNCTION runs_keep_words() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    INSERT INTO runs_runwords (run_id, words) VALUES (NEW.id, runs_words_of(NEW.id))
    ON CONFLICT (run_id) DO UPDATE SET words = EXCLUDED.words;
    RETURN NULL;
END
$$;

CREATE TRIGGER run_words_of_its_task AFTER INSERT ON runs_run
    FOR EACH ROW EXECUTE FUNCTION runs_keep_words();
CREATE TRIGGER run_words_of_its_steps AFTER UPDATE OF status ON runs_run
    FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status IN ('held', 'succeeded', 'failed', 'cancelled'))
    EXECUTE FUNCTION runs_keep_words();

INSERT INTO runs_runwords (run_id, words) SELECT id, runs_words_of(id) FROM runs_run;
"""

FORGET = """
DROP TRIGGER run_words_of_its_task ON runs_run;
DROP TRIGGER run_words_of_its_steps ON runs_run;
DROP FUNCTION runs_keep_words();
DROP FUNCTION runs_words_of(bigint);
DROP FUNCTION runs_wanted(text, boolean);
DROP FUNCTION runs_plain(text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_first"),
        ("runs", "0009_plans_side_by_side"),
    ]

    operations = [
        migrations.CreateModel(
            name="RunWords",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="words",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("words", django.contrib.postgres.search.SearchVectorField()),
            ],
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                ("text", models.CharField(max_length=1000)),
                ("created_at", models.DateTimeField()),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="views", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={"ordering": ["pk"]},
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(fields=("person", "name"), name="a_name_is_one_view_of_a_person"),
        ),
        migrations.AddIndex(
            model_name="runwords",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["words"], gin_pending_list_limit=256, name="run_words"
            ),
        ),
        migrations.RunSQL(WORDS, FORGET),
    ]
