"""`python manage.py up`: the whole studio in one terminal. Knows processes, not Django, so it starts at once."""
