"""What every start does before the web server: migrate, make what a fresh studio has, print a sign-in link.

One process for all of it, because starting Django is most of the time.
"""

import os
import sys

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studio.settings")
    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from studio.owner import migrate

    migrate(settings.DATABASE_OWNER_URL)
    call_command("ensure_defaults")
    with open(sys.argv[1], "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as link:
        call_command("sign_in_link", stdout=link)


if __name__ == "__main__":
    main()
