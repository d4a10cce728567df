"""Anchors, what was sent of them, and checks; what was anchored is refused to change, as events are (0002)."""

import django.db.models.deletion
from django.db import migrations, models

REFUSE = """
CREATE TRIGGER anchor_sealed BEFORE UPDATE OR DELETE ON audit_anchor
    FOR EACH ROW EXECUTE FUNCTION audit_refuse();
ALTER TABLE audit_anchor ENABLE ALWAYS TRIGGER anchor_sealed;

CREATE TRIGGER anchored_head_sealed BEFORE UPDATE OR DELETE ON audit_anchoredhead
    FOR EACH ROW EXECUTE FUNCTION audit_refuse();
ALTER TABLE audit_anchoredhead ENABLE ALWAYS TRIGGER anchored_head_sealed;
"""

PERMIT = """
DROP TRIGGER anchor_sealed ON audit_anchor;
DROP TRIGGER anchored_head_sealed ON audit_anchoredhead;
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
        WHERE c.oid IN (
                'audit_anchor'::regclass, 'audit_anchoredhead'::regclass,
                'audit_check'::regclass, 'audit_sending'::regclass
            )
          AND a.grantee <> c.relowner
          AND (a.privilege_type IN ('DELETE', 'TRUNCATE')
               OR (a.privilege_type = 'UPDATE' AND c.relname IN ('audit_anchor', 'audit_anchoredhead')))
    LOOP
        EXECUTE format('REVOKE %s ON %I FROM %s', held.privilege, held.name, held.grantee);
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0002_sealed"),
    ]

    operations = [
        migrations.CreateModel(
            name="Anchor",
            fields=[
                ("seq", models.BigIntegerField(primary_key=True, serialize=False)),
                ("hash", models.CharField(max_length=64)),
                ("key_id", models.CharField(max_length=64)),
                ("signature", models.CharField(max_length=128)),
                ("at", models.DateTimeField()),
                ("project", models.CharField(blank=True, max_length=80)),
                ("horizon", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Check",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("project", models.CharField(blank=True, max_length=80)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "Waiting for a driver"),
                            ("running", "Under way"),
                            ("holds", "Everything holds"),
                            ("broken", "Broken"),
                            ("given_up", "Not finished"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                ("by_kind", models.CharField(max_length=16)),
                ("by_id", models.CharField(max_length=80)),
                ("by_label", models.CharField(max_length=320)),
                ("started_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                ("events_expected", models.BigIntegerField(default=0)),
                ("events", models.BigIntegerField(default=0)),
                ("trails", models.BigIntegerField(default=0)),
                ("anchor", models.BigIntegerField(default=0)),
                ("head", models.CharField(blank=True, max_length=64)),
                ("broken", models.BigIntegerField(default=0)),
                ("breaks", models.JSONField(default=list)),
                ("error", models.TextField(blank=True)),
            ],
            options={
                "indexes": [models.Index(fields=["project", "-started_at"], name="check_newest")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ["queued", "running"])),
                        fields=("project",),
                        name="one_open_check",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Sending",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=16)),
                ("place", models.CharField(max_length=64)),
                ("label", models.CharField(max_length=320)),
                ("sent_seq", models.BigIntegerField(default=0)),
                ("sent_at", models.DateTimeField(null=True)),
                ("failing_since", models.DateTimeField(null=True)),
                ("error", models.TextField(blank=True)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("kind", "place"), name="one_sending_a_place")],
            },
        ),
        migrations.CreateModel(
            name="AnchoredHead",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("trail", models.CharField(max_length=120)),
                ("seq", models.BigIntegerField()),
                ("hash", models.CharField(max_length=64)),
                (
                    "anchor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="heads", to="audit.anchor"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("trail", "seq"), name="head_anchored_once")],
            },
        ),
        migrations.RunSQL(REFUSE, PERMIT),
        migrations.RunSQL(REVOKE, migrations.RunSQL.noop),
    ]
