"""The three moves of money, inside the database: `apps/spend/book.py` says what each does.

Each statement of such a function sees what was committed before it began, so what is read behind a lock is true; and
PostgreSQL plans them once a connection, which is half of what they cost. Locks are taken in one order everywhere: the
accounts by their ids, then the line.
"""

from django.db import migrations

RESERVE = """
CREATE FUNCTION spend_reserve(the_ref text, payers bigint[], usd numeric, about jsonb, asked_at timestamptz)
RETURNS TABLE (
    there bigint, account bigint, name text, title text, most_usd numeric, gone_usd numeric, aside_usd numeric
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM spend_account WHERE id = ANY(payers) ORDER BY id FOR NO KEY UPDATE;
    GET DIAGNOSTICS there = ROW_COUNT;

    -- Asked before, and the answer was lost: it stands.
    PERFORM FROM spend_line WHERE ref = the_ref AND state <> 'released' FOR NO KEY UPDATE;
    IF FOUND THEN
        RETURN NEXT;
        RETURN;
    END IF;

    SELECT id, key, label, limit_usd, spent_usd, reserved_usd
    INTO account, name, title, most_usd, gone_usd, aside_usd
    FROM spend_account
    WHERE id = ANY(payers) AND usd > 0 AND spent_usd + reserved_usd + usd > limit_usd
    ORDER BY limit_usd - spent_usd - reserved_usd, id
    LIMIT 1;
    RETURN NEXT;
    IF FOUND THEN
        RETURN;
    END IF;

    INSERT INTO spend_line AS line (
        ref, run, project_id, project, person_id, person, profile, worker, worker_name, at, state, reserved_usd,
        input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, price, price_version, accounts
    )
    SELECT
        the_ref, given.run, given.project_id, given.project, given.person_id, given.person, given.profile,
        given.worker, given.worker_name, asked_at, 'reserved', usd, 0, 0, 0, 0, false, given.price,
        coalesce((given.price ->> 'version')::int, 0), payers
    FROM jsonb_to_record(about) AS given (
        run text, project_id bigint, project text, person_id bigint, person text, profile text, worker text,
        worker_name text, price jsonb
    )
    ON CONFLICT (ref) DO UPDATE SET
        state = 'reserved', at = excluded.at, reserved_usd = excluded.reserved_usd, accounts = excluded.accounts,
        price = excluded.price, price_version = excluded.price_version
    WHERE line.state = 'released';
    IF FOUND THEN
        UPDATE spend_account SET reserved_usd = reserved_usd + usd WHERE id = ANY(payers);
    END IF;
END $$;
"""

SETTLE = """
CREATE FUNCTION spend_settle(
    the_ref text, payers bigint[], about jsonb, ended_at timestamptz, cost numeric,
    sent int, cached int, written int, thought int, guessed boolean
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line spend_line;
    freed numeric;
    added numeric;
BEGIN
    SELECT accounts INTO line.accounts FROM spend_line WHERE ref = the_ref;
    payers := coalesce(line.accounts, payers);
    PERFORM FROM spend_account WHERE id = ANY(payers) ORDER BY id FOR NO KEY UPDATE;

    SELECT * INTO line FROM spend_line WHERE ref = the_ref FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        IF about IS NULL THEN
            RETURN false;
        END IF;
        INSERT INTO spend_line (
            ref, run, project_id, project, person_id, person, profile, worker, worker_name, at, state, reserved_usd,
            input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, price, price_version, accounts
        )
        SELECT
            the_ref, given.run, given.project_id, given.project, given.person_id, given.person, given.profile,
            given.worker, given.worker_name, ended_at, 'released', 0, 0, 0, 0, 0, false, given.price,
            coalesce((given.price ->> 'version')::int, 0), payers
        FROM jsonb_to_record(about) AS given (
            run text, project_id bigint, project text, person_id bigint, person text, profile text, worker text,
            worker_name text, price jsonb
        )
        ON CONFLICT (ref) DO NOTHING;
        SELECT * INTO line FROM spend_line WHERE ref = the_ref FOR NO KEY UPDATE;
    END IF;

    IF (line.state, line.cost_usd, line.input_tokens, line.cached_tokens) IS NOT DISTINCT FROM
            ('settled', cost, sent, cached)
        AND (line.output_tokens, line.reasoning_tokens, line.estimated) IS NOT DISTINCT FROM (written, thought, guessed)
    THEN
        RETURN false;
    END IF;

    freed := CASE line.state WHEN 'reserved' THEN line.reserved_usd ELSE 0 END;
    added := coalesce(cost, 0) - coalesce(line.cost_usd, 0);
    UPDATE spend_line SET
        state = 'settled', settled_at = ended_at, cost_usd = cost, estimated = guessed,
        input_tokens = sent, cached_tokens = cached, output_tokens = written, reasoning_tokens = thought
    WHERE id = line.id;
    UPDATE spend_account SET reserved_usd = reserved_usd - freed, spent_usd = spent_usd + added
    WHERE id = ANY(line.accounts);
    RETURN true;
END $$;
"""

RELEASE = """
CREATE FUNCTION spend_release(the_ref text, the_run text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    given_back bigint;
BEGIN
    PERFORM FROM spend_account
    WHERE id IN (
        SELECT unnest(accounts) FROM spend_line WHERE state = 'reserved' AND (ref = the_ref OR run = the_run)
    )
    ORDER BY id
    FOR NO KEY UPDATE;

    WITH released AS (
        UPDATE spend_line SET state = 'released'
        WHERE state = 'reserved' AND (ref = the_ref OR run = the_run)
        RETURNING accounts, reserved_usd
    ), freed AS (
        SELECT account, sum(reserved_usd) AS usd FROM released, unnest(accounts) AS account GROUP BY account
    ), booked AS (
        UPDATE spend_account SET reserved_usd = reserved_usd - freed.usd FROM freed WHERE id = freed.account
    )
    SELECT count(*) INTO given_back FROM released;
    RETURN given_back;
END $$;
"""

UNDO = """
DROP FUNCTION spend_reserve(text, bigint[], numeric, jsonb, timestamptz);
DROP FUNCTION spend_settle(text, bigint[], jsonb, timestamptz, numeric, int, int, int, int, boolean);
DROP FUNCTION spend_release(text, text);
"""


class Migration(migrations.Migration):
    dependencies = [("spend", "0001_first")]

    operations = [migrations.RunSQL(RESERVE + SETTLE + RELEASE, UNDO)]
