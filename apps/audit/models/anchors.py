"""Anchors: events of the trail `anchors` that name the heads of other trails, and the signatures over them.

Only `anchors.py` writes them, `sending.py` what was sent on. Like events they do not change once they are there: what
may not be changed is refused by triggers (migration 0003), for the tables' owner too.
"""

from django.db import models


class Anchor(models.Model):
    """One signed event of the trail `anchors`: the heads of up to 500 trails of one project, as they once were."""

    seq = models.BigIntegerField(primary_key=True)  # of the event
    hash = models.CharField(max_length=64)  # of the event: it covers all anchors before it
    key_id = models.CharField(max_length=64)
    signature = models.CharField(max_length=128)
    at = models.DateTimeField()
    project = models.CharField(max_length=80, blank=True)
    # The oldest transaction that was unfinished when the heads were read: what is newer was written since.
    horizon = models.BigIntegerField()

    def __str__(self) -> str:
        return f"anchor {self.seq}"


class AnchoredHead(models.Model):
    """That an anchor names a trail's head: a way to find the anchors of a trail. What holds is the anchor's line."""

    anchor = models.ForeignKey(Anchor, on_delete=models.PROTECT, related_name="heads")
    trail = models.CharField(max_length=120)  # by name: it is to be missed when its trail is gone
    seq = models.BigIntegerField()
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = [
            # A head is anchored once; also the index for the anchors of a trail, and for the last of them.
            models.UniqueConstraint(fields=["trail", "seq"], name="head_anchored_once"),
        ]

    def __str__(self) -> str:
        return f"{self.trail} {self.seq}"


class Sending(models.Model):
    """How far the anchors were sent on to one place outside, and why no further."""

    kind = models.CharField(max_length=16)  # file, webhook
    place = models.CharField(max_length=64)  # a digest of the path or address, which can hold a password
    label = models.CharField(max_length=320)
    sent_seq = models.BigIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            # One row a place; a new place begins with the first anchor.
            models.UniqueConstraint(fields=["kind", "place"], name="one_sending_a_place"),
        ]

    def __str__(self) -> str:
        return self.label
