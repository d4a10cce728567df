from tests.pools import admin, pool

__all__ = ["admin", "pool"]
