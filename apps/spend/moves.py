"""The SQL by which money moves: one statement each, with its locks, checks and sums. `book.py` puts the values in."""

HOLD = """
    SELECT id FROM spend_account
    WHERE id = ANY(%(accounts)s::bigint[])
        OR id IN (SELECT unnest(accounts) FROM spend_line WHERE ref = ANY(%(refs)s::text[]))
    ORDER BY id
    FOR NO KEY UPDATE
"""

# What a statement locks it reads as it is then, all else as it was when the statement began. So sums go by `held`: from
# an account's older state PostgreSQL would first reckon, and check, a sum that never was.
RESERVE = """
    WITH held AS MATERIALIZED (
        SELECT id, key, label, limit_usd, spent_usd, reserved_usd FROM spend_account
        WHERE id = ANY(%(accounts)s::bigint[])
        ORDER BY id
        FOR NO KEY UPDATE
    ), refusing AS (
        SELECT * FROM held
        WHERE %(usd)s::numeric > 0 AND spent_usd + reserved_usd + %(usd)s::numeric > limit_usd
            AND NOT EXISTS (SELECT FROM spend_line WHERE ref = %(ref)s AND state <> 'released')
        ORDER BY limit_usd - spent_usd - reserved_usd, id
        LIMIT 1
    ), line AS (
        INSERT INTO spend_line AS kept (
            ref, run, project_id, project, person_id, person, profile, worker, worker_name, at, state, reserved_usd,
            input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, price, price_version, accounts
        )
        SELECT
            %(ref)s, %(run)s, %(project_id)s, %(project)s, %(person_id)s, %(person)s, %(profile)s, %(worker)s,
            %(worker_name)s, %(at)s, 'reserved', %(usd)s::numeric, 0, 0, 0, 0, false, %(price)s::jsonb,
            %(price_version)s, %(accounts)s::bigint[]
        WHERE NOT EXISTS (SELECT FROM refusing)
        ON CONFLICT (ref) DO UPDATE SET
            state = 'reserved', at = excluded.at, reserved_usd = excluded.reserved_usd, accounts = excluded.accounts,
            price = excluded.price, price_version = excluded.price_version
        WHERE kept.state = 'released'
        RETURNING id
    ), taken AS (
        UPDATE spend_account AS account SET reserved_usd = held.reserved_usd + %(usd)s::numeric
        FROM held
        WHERE account.id = held.id AND EXISTS (SELECT FROM line)
    )
    SELECT there.accounts, refusing.*
    FROM (SELECT count(*) AS accounts FROM held) AS there LEFT JOIN refusing ON true
"""

SETTLE = """
    WITH held AS MATERIALIZED (
        SELECT id, spent_usd, reserved_usd FROM spend_account
        WHERE id = ANY(coalesce((SELECT accounts FROM spend_line WHERE ref = %(ref)s), %(accounts)s::bigint[]))
        ORDER BY id
        FOR NO KEY UPDATE
    ), was AS MATERIALIZED (
        SELECT * FROM spend_line WHERE ref = %(ref)s AND (SELECT count(*) FROM held) >= 0 FOR NO KEY UPDATE
    ), settled AS (
        UPDATE spend_line AS line SET
            state = 'settled', settled_at = %(at)s, cost_usd = %(cost)s::numeric, estimated = %(estimated)s,
            input_tokens = %(input)s, cached_tokens = %(cached)s, output_tokens = %(output)s,
            reasoning_tokens = %(reasoning)s
        FROM was
        WHERE line.id = was.id AND (
            was.state, was.cost_usd, was.estimated,
            was.input_tokens, was.cached_tokens, was.output_tokens, was.reasoning_tokens
        ) IS DISTINCT FROM (
            'settled', %(cost)s::numeric, %(estimated)s::bool, %(input)s, %(cached)s, %(output)s, %(reasoning)s
        )
        RETURNING
            line.accounts,
            CASE was.state WHEN 'reserved' THEN was.reserved_usd ELSE 0 END AS freed,
            coalesce(%(cost)s::numeric, 0) - coalesce(was.cost_usd, 0) AS added
    ), made AS (
        INSERT INTO spend_line (
            ref, run, project_id, project, person_id, person, profile, worker, worker_name, at, settled_at, state,
            reserved_usd, cost_usd, input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated,
            price, price_version, accounts
        )
        SELECT
            %(ref)s, %(run)s, %(project_id)s, %(project)s, %(person_id)s, %(person)s, %(profile)s, %(worker)s,
            %(worker_name)s, %(at)s, %(at)s, 'settled',
            0, %(cost)s::numeric, %(input)s, %(cached)s, %(output)s, %(reasoning)s, %(estimated)s,
            %(price)s::jsonb, %(price_version)s, %(accounts)s::bigint[]
        WHERE %(run)s::text IS NOT NULL AND NOT EXISTS (SELECT FROM was)
        ON CONFLICT (ref) DO NOTHING
        RETURNING accounts, 0::numeric AS freed, coalesce(cost_usd, 0) AS added
    ), changed AS (
        SELECT * FROM settled UNION ALL SELECT * FROM made
    ), booked AS (
        UPDATE spend_account AS account SET
            reserved_usd = held.reserved_usd - changed.freed, spent_usd = held.spent_usd + changed.added
        FROM held, changed
        WHERE account.id = held.id AND held.id = ANY(changed.accounts)
    )
    SELECT count(*) FROM changed
"""

RELEASE = """
    WITH held AS MATERIALIZED (
        SELECT id, spent_usd, reserved_usd FROM spend_account
        WHERE id IN (SELECT unnest(accounts) FROM spend_line WHERE {which} AND state = 'reserved')
        ORDER BY id
        FOR NO KEY UPDATE
    ), was AS MATERIALIZED (
        SELECT id FROM spend_line WHERE {which} AND (SELECT count(*) FROM held) >= 0 ORDER BY id FOR NO KEY UPDATE
    ), released AS (
        UPDATE spend_line SET state = 'released'
        WHERE id IN (SELECT id FROM was) AND state = 'reserved'
        RETURNING accounts, reserved_usd
    ), freed AS (
        SELECT account, sum(reserved_usd) AS usd FROM released, unnest(accounts) AS account GROUP BY account
    ), booked AS (
        UPDATE spend_account AS account SET reserved_usd = held.reserved_usd - freed.usd
        FROM held JOIN freed ON freed.account = held.id
        WHERE account.id = held.id
    )
    SELECT count(*) FROM released
"""
