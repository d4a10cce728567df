"""People and projects in Django's admin."""
