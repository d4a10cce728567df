"""Erasing the texts of a trail: nothing is left to guess, and the chain holds."""

import pytest
from django.db import transaction

from apps.audit import chain
from apps.audit.log import Entry, append, erase, read, verify
from apps.audit.models import Payload
from tests.integration.audit.trails import ADA, NOON, write


def test_texts_and_salts_go_and_the_chain_holds(transactional_db: None) -> None:
    write("run:a", Entry("run.submitted", texts={"task": "yes"}), Entry("run.stopped", texts={"reason": "no"}))
    write("run:b", Entry("run.submitted", texts={"task": "maybe"}))

    with transaction.atomic():
        count = erase("run:a", at=NOON)
        write("run:a", Entry("run.erased"))

    assert count == 2
    assert [event.texts for event in read("run:a")] == [{"task": None}, {"reason": None}, {}]
    assert [event.texts for event in read("run:b")] == [{"task": "maybe"}]
    assert verify("run:a").first_break is None
    assert set(Payload.objects.filter(trail__name="run:a").values_list("text", "salt")) == {(None, None)}


def test_without_its_salt_a_digest_gives_nothing_away(transactional_db: None) -> None:
    [event] = write("run:a", Entry("run.approved", texts={"answer": "yes"}))
    with transaction.atomic():
        erase("run:a", at=NOON)

    assert event.texts["answer"] not in {chain.digest("", guess) for guess in ("yes", "no")}


def test_with_a_subject_only_what_is_about_it_goes(transactional_db: None) -> None:
    with transaction.atomic():
        for subject in ("run:a", "run:b"):
            told = Entry("limit.raised", texts={"reason": f"for {subject}"})
            append("spend", [told], by=ADA, at=NOON, subject=subject, project="")

    with transaction.atomic():
        assert erase("spend", at=NOON, subject="run:a") == 1
        write("run:a", Entry("run.erased"))

    assert [event.texts["reason"] for event in read("spend")] == [None, "for run:b"]
    assert verify("spend").first_break is None


def test_an_erasure_that_nobody_told_of_is_a_break(transactional_db: None) -> None:
    write("run:a", Entry("run.submitted", texts={"task": "yes"}))
    with transaction.atomic():
        erase("run:a", at=NOON)

    found = verify("run:a").first_break

    assert found is not None
    assert "no event says so" in found.reason


def test_what_is_erased_stays_erased_as_it_was(transactional_db: None) -> None:
    write("run:a", Entry("run.submitted", texts={"task": "yes"}))

    with transaction.atomic():
        assert (erase("run:a", at=NOON), erase("run:a", at=NOON)) == (1, 0)


def test_it_is_told_in_the_same_transaction(transactional_db: None) -> None:
    with pytest.raises(transaction.TransactionManagementError, match="same transaction"):
        erase("run:a", at=NOON)
