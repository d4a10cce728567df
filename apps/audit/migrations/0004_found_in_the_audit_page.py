"""What the audit page finds events by: the worker an event tells of, indexes, and the words of texts."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

import apps.audit.models.events

# A word is a run of letters and digits, in whatever script the database's locale knows. PostgreSQL's own parser alone
# would take addresses, hyphens and typographic quotation marks into words. 200,000 characters stay below the 1 MB that
# a tsvector may have, whatever they are.
WORDS = r"""
CREATE FUNCTION audit_plain(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT regexp_replace(lower(left(given, 200000)), '[^[:alnum:]]+', ' ', 'g') $$;

-- What somebody looks for: a phrase, or words of which the last may go on.
CREATE FUNCTION audit_wanted(given text, goes_on boolean) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$
    SELECT CASE
        WHEN numnode(phrase) = 0 OR NOT goes_on THEN phrase
        ELSE (phrase::text || ':*')::tsquery
    END
    FROM phraseto_tsquery('simple', audit_plain(given)) AS phrase
$$;

-- The events that have it. The reading of a document's words is taken for nothing by the planner, which would rather
-- read all documents than the index where many fit.
CREATE FUNCTION audit_with(wanted tsquery) RETURNS SETOF bigint LANGUAGE sql STABLE ROWS 500
    SET enable_seqscan = off AS
$$ SELECT event_id FROM audit_eventwords WHERE words @@ wanted $$;

-- Whoever erases texts takes their words with them, in one statement for all that were erased together.
CREATE FUNCTION audit_forget_words() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    DELETE FROM audit_eventwords WHERE event_id IN (
        SELECT event.id
        FROM audit_event AS event
        CROSS JOIN LATERAL json_each_text(
            CASE WHEN event.line IS JSON OBJECT THEN event.line::json -> 'texts' END
        ) AS named
        WHERE event.trail_id IN (SELECT trail_id FROM erased)
            AND named.value IN (SELECT digest FROM erased WHERE erased_at IS NOT NULL)
    );
    RETURN NULL;
END
$$;
CREATE TRIGGER words_erased AFTER UPDATE ON audit_payload
    REFERENCING NEW TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION audit_forget_words();
ALTER TABLE audit_payload ENABLE ALWAYS TRIGGER words_erased;
"""

FORGET = """
DROP TRIGGER words_erased ON audit_payload;
DROP FUNCTION audit_forget_words();
DROP FUNCTION audit_with(tsquery);
DROP FUNCTION audit_wanted(text, boolean);
DROP FUNCTION audit_plain(text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0003_anchors"),
    ]

    operations = [
        migrations.AddField(
            model_name="event",
            name="worker",
            field=models.GeneratedField(
                db_persist=True,
                expression=apps.audit.models.events.WorkerInLine(),
                output_field=models.CharField(max_length=80, null=True),
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["project", "tx", "id"], name="event_by_project"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["actor_label", "tx", "id"], name="event_by_actor"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["verb", "tx", "id"], name="event_by_verb"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                condition=models.Q(("worker__isnull", False)), fields=["worker", "tx", "id"], name="event_by_worker"
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["at", "id"], name="event_by_time"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["subject"], name="event_by_subject", opclasses=["text_pattern_ops"]),
        ),
        migrations.CreateModel(
            name="EventWords",
            fields=[
                (
                    "event",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="words",
                        serialize=False,
                        to="audit.event",
                    ),
                ),
                ("words", django.contrib.postgres.search.SearchVectorField()),
            ],
        ),
        migrations.AddIndex(
            model_name="eventwords",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["words"], gin_pending_list_limit=256, name="event_words"
            ),
        ),
        migrations.CreateModel(
            name="Follower",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("tx", models.BigIntegerField(default=0)),
                ("event", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.RunSQL(WORDS, FORGET),
    ]
