from django.db import migrations

# The runs that have what somebody looks for. PostgreSQL takes the reading of a document's words for nothing, and where
# many fit it would rather read all documents than the index; but they lie outside the rows, which it does not count.
FIND = """
CREATE FUNCTION runs_with(given text, goes_on boolean) RETURNS SETOF bigint LANGUAGE sql STABLE ROWS 500
    SET enable_seqscan = off AS
$$ SELECT run_id FROM runs_runwords WHERE words @@ runs_wanted(given, goes_on) $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0013_steps_by_worker"),
    ]

    operations = [
        migrations.RunSQL(FIND, "DROP FUNCTION runs_with(text, boolean);"),
    ]
