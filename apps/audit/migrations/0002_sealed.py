"""Refuse to change what was sealed: by trigger for everybody, and by privilege for the app's own role.

TRUNCATE is taken from every role but the tables' owner instead of being refused by a trigger, which would also stop the
owner from emptying a test's database. The roles are read from the tables' own grants, so it does not matter what the
app's role is called, nor whether there is one beside the owner. The triggers are ALWAYS ones: they fire too in a session
that plays a replica.
"""

from django.db import migrations

REFUSE = """
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: what was sealed does not change', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER event_sealed BEFORE UPDATE OR DELETE ON audit_event
    FOR EACH ROW EXECUTE FUNCTION audit_refuse();
ALTER TABLE audit_event ENABLE ALWAYS TRIGGER event_sealed;

CREATE TRIGGER payload_kept BEFORE DELETE ON audit_payload
    FOR EACH ROW EXECUTE FUNCTION audit_refuse();
ALTER TABLE audit_payload ENABLE ALWAYS TRIGGER payload_kept;

CREATE TRIGGER payload_only_erased BEFORE UPDATE ON audit_payload
    FOR EACH ROW WHEN (NOT (
        OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL AND NEW.text IS NULL AND NEW.salt IS NULL
        AND NEW.digest = OLD.digest AND NEW.trail_id = OLD.trail_id AND NEW.created_at = OLD.created_at
    )) EXECUTE FUNCTION audit_refuse();
ALTER TABLE audit_payload ENABLE ALWAYS TRIGGER payload_only_erased;

CREATE TRIGGER trail_kept BEFORE DELETE ON audit_trail
    FOR EACH ROW EXECUTE FUNCTION audit_refuse();
ALTER TABLE audit_trail ENABLE ALWAYS TRIGGER trail_kept;

CREATE TRIGGER trail_only_grows BEFORE UPDATE ON audit_trail
    FOR EACH ROW WHEN (NOT (
        NEW.id = OLD.id AND NEW.name = OLD.name AND NEW.project = OLD.project
        AND (NEW.head_seq > OLD.head_seq OR (NEW.head_seq = OLD.head_seq AND NEW.head_hash = OLD.head_hash))
    )) EXECUTE FUNCTION audit_refuse();
ALTER TABLE audit_trail ENABLE ALWAYS TRIGGER trail_only_grows;
"""

PERMIT = """
DROP TRIGGER event_sealed ON audit_event;
DROP TRIGGER payload_kept ON audit_payload;
DROP TRIGGER payload_only_erased ON audit_payload;
DROP TRIGGER trail_kept ON audit_trail;
DROP TRIGGER trail_only_grows ON audit_trail;
DROP FUNCTION audit_refuse();
"""

REVOKE = """
DO $$
DECLARE
    held record;
BEGIN
    FOR held IN
        SELECT DISTINCT c.relname AS name,
               CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee,
               a.privilege_type AS privilege
        FROM pg_class c, aclexplode(c.relacl) a
        WHERE c.oid IN ('audit_event'::regclass, 'audit_payload'::regclass, 'audit_trail'::regclass)
          AND a.grantee <> c.relowner
          AND (a.privilege_type IN ('DELETE', 'TRUNCATE')
               OR (a.privilege_type = 'UPDATE' AND c.relname = 'audit_event'))
    LOOP
        EXECUTE format('REVOKE %s ON %I FROM %s', held.privilege, held.name, held.grantee);
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_first")]

    operations = [
        migrations.RunSQL(REFUSE, PERMIT),
        migrations.RunSQL(REVOKE, migrations.RunSQL.noop),
    ]
