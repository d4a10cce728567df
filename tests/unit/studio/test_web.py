"""The web server as a process."""

import gc

from studio.up import web


def test_what_is_loaded_once_is_not_walked_again_by_the_garbage_collector():
    try:
        application = web.load()
        set_aside = gc.get_freeze_count()
    finally:
        gc.unfreeze()

    assert callable(application)
    assert set_aside > 100_000
