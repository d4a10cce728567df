"""The database fixtures themselves: what a test commits is gone before the next one."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from asgiref.sync import sync_to_async
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.utils import timezone


def keep_session(key: str) -> None:
    Session.objects.create(session_key=key, expire_date=timezone.now())


@pytest.mark.django_db
def test_a_test_works_as_the_apps_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == ("studio_app",)


@pytest.mark.parametrize("_time", ["first", "again"])
@pytest.mark.django_db
def test_what_is_rolled_back_is_gone(_time: str) -> None:
    assert not Session.objects.exists()
    keep_session("one")


@pytest.mark.parametrize("_time", ["first", "again"])
def test_what_is_committed_is_gone_too(committed_db: None, _time: str) -> None:
    assert not Session.objects.exists()
    done: list[str] = []
    with transaction.atomic():
        keep_session("one")
        transaction.on_commit(lambda: done.append("committed"))
    assert done == ["committed"]


def test_a_thread_sees_what_was_committed_and_may_leave_its_connection_open(committed_db: None) -> None:
    keep_session("one")
    seen: list[int] = []

    def look() -> None:
        with transaction.atomic():
            seen.append(Session.objects.count())

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert seen == [1]


async def test_asyncio_code_reaches_the_database(transactional_db: None) -> None:
    await sync_to_async(keep_session)("one")
    assert await Session.objects.acount() == 1


def test_a_thread_that_still_holds_a_lock_does_not_stop_the_cleaning(committed_db: None) -> None:
    def lock() -> None:
        connection.set_autocommit(False)
        keep_session("one")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lock).result()


@pytest.mark.django_db
def test_what_migrations_wrote_is_still_there() -> None:
    assert ContentType.objects.exists()
