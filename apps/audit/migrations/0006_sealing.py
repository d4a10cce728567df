"""Sealing inside the database: `apps/audit/log.py` says what goes in, `apps/audit/chain.py` what a line and a hash are.

A hash covers the one before it, so whoever computes it holds the trail's head. Here that takes no trip to whoever
writes, and PostgreSQL plans the statements once a connection; see docs/adr/0025-sealed-in-one-statement.md.
"""

from django.db import migrations

SEAL = """
CREATE FUNCTION audit_seal(
    trail text, of_project text, about text, happened_at timestamptz, by_kind text, by_id text, by_label text,
    genesis text, payloads json, entries json
) RETURNS TABLE (event bigint, in_trail bigint, place bigint, sealed text, in_tx bigint) LANGUAGE plpgsql AS $$
DECLARE
    entry record;
    line_now text;
    whose text;
BEGIN
    -- Two first writers cannot differ: one makes the head, the other waits for it.
    LOOP
        SELECT id, project, head_seq, head_hash INTO in_trail, whose, place, sealed
        FROM audit_trail WHERE name = trail FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO audit_trail (name, project, head_seq, head_hash) VALUES (trail, of_project, 0, genesis)
        ON CONFLICT (name) DO NOTHING;
    END LOOP;
    -- Who may see a project's trail sees the whole of it.
    IF whose <> '' AND whose <> of_project THEN
        RAISE EXCEPTION 'the trail % is of project %, and takes no event of %', trail, whose, of_project
            USING ERRCODE = 'check_violation';
    END IF;

    INSERT INTO audit_payload (digest, salt, text, trail_id, created_at)
    SELECT given.digest, given.salt, given.text, in_trail, happened_at
    FROM json_to_recordset(payloads) AS given (digest text, salt text, text text);

    FOR entry IN SELECT * FROM json_to_recordset(entries) AS given (verb text, before text, behind text) LOOP
        place := place + 1;
        line_now := entry.before || place || entry.behind;
        sealed := encode(sha256(convert_to(sealed || line_now, 'UTF8')), 'hex');
        INSERT INTO audit_event (
            trail_id, seq, verb, line, hash, at, actor_kind, actor_id, actor_label, subject, project
        )
        VALUES (in_trail, place, entry.verb, line_now, sealed, happened_at, by_kind, by_id, by_label, about, of_project)
        RETURNING id, tx INTO event, in_tx;
        RETURN NEXT;
    END LOOP;

    UPDATE audit_trail SET head_seq = place, head_hash = sealed WHERE id = in_trail;
END $$;
"""

UNSEAL = "DROP FUNCTION audit_seal(text, text, text, timestamptz, text, text, text, text, json, json);"


class Migration(migrations.Migration):
    dependencies = [("audit", "0005_broken_checks")]

    operations = [migrations.RunSQL(SEAL, UNSEAL)]
