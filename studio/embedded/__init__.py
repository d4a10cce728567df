"""PostgreSQL and Redis as this studio's own processes: made, started and stopped without any system service."""
