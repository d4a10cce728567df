"""Every setting, read top to bottom. Each comes from the environment through a typed reader, or from what `up` wrote.

docs/settings.md explains each variable; a system check names one that is missing or wrong.
"""

from pathlib import Path
from typing import Any

import dj_database_url
import django_stubs_ext
import structlog
from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.core.exceptions import ImproperlyConfigured
from environs import Env

from studio.env import BASE_DIR, address, data_dir, networks, provider_key, secret, services
from studio.logs import without_tokens
from studio.panel import PANEL

django_stubs_ext.monkeypatch()  # ModelAdmin[Run] and its kin are subscripted where types are checked

env = Env()

# --- what kind of studio -------------------------------------------------------------------------------------------
PRODUCTION = env.bool("STUDIO_PRODUCTION", False)
DEBUG = env.bool("STUDIO_DEBUG", False)
DATA_DIR: Path = data_dir()

SECRET_KEY = secret("secret_key") or ""


def READ_VAULT_KEYS() -> list[str]:
    """The keys of the vault, newest first; read whenever they are needed, so that a rotation reaches every process."""
    return (secret("vault_key") or "").split()


def READ_SIGNING_KEYS() -> list[str]:
    """The seeds of the keys that sign anchors and exports, newest first: it signs, the others were signed with."""
    return (secret("signing_key") or "").split()


if PRODUCTION and not (SECRET_KEY and READ_VAULT_KEYS() and READ_SIGNING_KEYS()):
    raise ImproperlyConfigured("SECRET_KEY, VAULT_KEY and SIGNING_KEY must be set in production; see docs/settings.md")
SECRET_KEY = SECRET_KEY or "only-for-commands-before-the-first-start"

ALLOWED_HOSTS: list[str] = env.list("STUDIO_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
PUBLIC_URL: str = env.str("STUDIO_URL", address("STUDIO_URL", "url") or "http://127.0.0.1:8000")
CSRF_TRUSTED_ORIGINS: list[str] = env.list("STUDIO_ORIGINS", [PUBLIC_URL])

# --- what it is made of --------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "apps.accounts",  # before Django's own, whose commands it completes with events
    "unfold",  # before Django's admin, whose site and templates it takes the place of
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "servestatic",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "django_htmx",
    "ninja",
    "channels",
    "csp",
    "apps.core",
    "apps.audit",
    "apps.workers",
    "apps.spend",
    "apps.workflows",
    "apps.conductor",
    "apps.runs",
    "apps.evals",
    "apps.api",
    "apps.web",
    "studio",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "apps.web.tracing.RequestId",
    "apps.web.policy.ContentPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "apps.web.bodies.Utf8Forms",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.web.people.presence.Presence",
    "allauth.account.middleware.AccountMiddleware",
    "apps.web.access.SignInRequired",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "apps.web.errors.Refusals",
]

ROOT_URLCONF = "studio.urls"
ASGI_APPLICATION = "studio.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- PostgreSQL: the app's own role; migrations go through the owner's ---------------------------------------------
# A connection is given back to psycopg's pool after every write, so a run that waits for a model holds none.
DATABASE_POOL = env.int("STUDIO_DATABASE_POOL", 16)


def _database(url: str | None) -> dict[str, Any]:
    if not url:
        return {"ENGINE": "django.db.backends.dummy"}  # no studio has run here: what needs a database fails at once
    parsed: dict[str, Any] = dict(dj_database_url.parse(url))
    if parsed["ENGINE"] != "django.db.backends.postgresql":
        raise ImproperlyConfigured(
            "DATABASE_URL must name a PostgreSQL database: postgres://user:password@host:port/name"
        )
    return parsed


DATABASES = {"default": _database(address("DATABASE_URL", "database_url"))}
DATABASES["default"]["OPTIONS"] = {
    **DATABASES["default"].get("OPTIONS", {}),
    "pool": {"min_size": 1, "max_size": DATABASE_POOL, "timeout": 20},
}
# A connection is asked for a sign of life when it is taken: a database that restarted costs nobody a page.
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASE_OWNER_URL = address("DATABASE_OWNER_URL", "database_owner_url")

# --- Redis: broker, channel layer, live text -----------------------------------------------------------------------
REDIS_URL: str = address("REDIS_URL", "redis_url") or "redis://127.0.0.1:6379/0"
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None}], "prefix": "studio"},
    },
}

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "runs"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_PUBLISH_RETRY = False  # the message is only a doorbell: the sweeper rings again
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 2, "socket_timeout": 30, "retry_on_timeout": True}
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")
CELERY_BEAT_SCHEDULE = {
    "look-at-conductors": {
        "task": "apps.workers.tasks.check_conductors",
        "schedule": 30.0,
        "options": {"expires": 25},
    },
    "go-on-with-experiments": {
        "task": "apps.runs.tasks.go_on_with_experiments",
        "schedule": 15.0,
        "options": {"expires": 12},
    },
    # Once a day; where no driver is there at that moment, whichever takes it up within the day.
    "apply-retention": {
        "task": "apps.runs.tasks.apply_retention",
        "schedule": 86_400.0,
        "options": {"expires": 80_000},
    },
    "probe-workers": {"task": "apps.runs.tasks.probe_workers", "schedule": 300.0, "options": {"expires": 240}},
    "seal-anchors": {"task": "apps.audit.tasks.seal_anchors", "schedule": 60.0, "options": {"expires": 50}},
    "keep-words": {"task": "apps.audit.tasks.keep_words", "schedule": 5.0, "options": {"expires": 4}},
    "check-trails": {"task": "apps.audit.tasks.check_all", "schedule": 3600.0, "options": {"expires": 3000}},
    "tidy": {"task": "apps.runs.tasks.tidy", "schedule": 600.0, "options": {"expires": 300}},
}

# --- runs ----------------------------------------------------------------------------------------------------------
DRIVER_THREADS = env.int("STUDIO_DRIVER_THREADS", 64)  # runs one driver process holds at once
TASK_LIMIT = env.int("STUDIO_TASK_LIMIT", 100_000)  # characters of a task
SIMULATOR_URL = address("SIMULATOR_URL", "simulator_url")

# --- anchors of the trails are sent on, out of reach of whoever owns the database -------------------------------------
ANCHOR_FILE = env.str("STUDIO_ANCHOR_FILE", "")
ANCHOR_WEBHOOK = secret("studio_anchor_webhook") or ""  # an address can hold a password

# --- endpoints: public addresses, and those of these networks --------------------------------------------------------
READ_PROVIDER_KEY = provider_key  # by the variable's name; a key is never a setting
ENDPOINT_NETWORKS = networks(env.str("STUDIO_ENDPOINT_NETWORKS", services().get("endpoint_networks", "")))

# --- the conductor that `serve_conductor` serves -------------------------------------------------------------------
CONDUCTOR_MODEL = env.str("CONDUCTOR_MODEL", "Qwen/Qwen2.5-7B-Instruct")
CONDUCTOR_ADAPTERS: list[str] = env.list("CONDUCTOR_ADAPTERS", [])  # name=folder
CONDUCTOR_NAME = env.str("CONDUCTOR_NAME", "")
CONDUCTOR_HOST = env.str("CONDUCTOR_HOST", "127.0.0.1")
CONDUCTOR_PORT = env.int("CONDUCTOR_PORT", 8100)
CONDUCTOR_API_KEY = secret("conductor_api_key") or ""
CONDUCTOR_DTYPE = env.str("CONDUCTOR_DTYPE", "auto")
CONDUCTOR_MAX_LENGTH = env.int("CONDUCTOR_MAX_LENGTH", 0)  # tokens; 0: as many as the model knows
CONDUCTOR_SEED = env.int("CONDUCTOR_SEED", 0)
CONDUCTOR_VLLM = env.str("CONDUCTOR_VLLM", "")

# --- static files and pages ----------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("STUDIO_STATIC", str(DATA_DIR / "static")))
STATICFILES_DIRS = [("css", BASE_DIR / "static" / "css"), ("dist", BASE_DIR / "static" / "dist")]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "servestatic.storage.CompressedManifestStaticFilesStorage"
        if not env.bool("STUDIO_PLAIN_STATIC", False)
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
SERVESTATIC_USE_FINDERS = env.bool("STUDIO_PLAIN_STATIC", False)
SERVESTATIC_USE_MANIFEST = not env.bool("STUDIO_PLAIN_STATIC", False)

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
UNFOLD = PANEL
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024  # a workflow with long instructions fits; nothing sensible is larger
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000  # an edit form of 150 steps with their access boxes

# --- security ------------------------------------------------------------------------------------------------------
SECURE_HTTPS = env.bool("STUDIO_HTTPS", PRODUCTION)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = SECURE_HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if SECURE_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE_HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE_HTTPS else None
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_NAME = "studio_session"
CSRF_COOKIE_NAME = "studio_csrf"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DEFAULT_EXCEPTION_REPORTER_FILTER = "apps.web.tracebacks.Discreet"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}
# Under /admin/ alone: unfold's Alpine evaluates what stands in attributes, and sets styles.
ADMIN_CONTENT_SECURITY_POLICY = CONTENT_SECURITY_POLICY["DIRECTIVES"] | {
    "script-src": [SELF, UNSAFE_EVAL],
    "style-src": [SELF, UNSAFE_INLINE],
}

# --- people: how they come in (ADR 0022) ---------------------------------------------------------------------------
LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/"
AUTHENTICATION_BACKENDS = ["apps.accounts.backends.Passwords"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# Tries are counted in Redis, for all web processes together.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "studio",
        "OPTIONS": {"socket_connect_timeout": 2, "socket_timeout": 5},
    }
}
ALLAUTH_TRUSTED_PROXY_COUNT = env.int("STUDIO_PROXIES", 0)
ACCOUNT_ADAPTER = "apps.web.people.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]  # nobody signs up: allauth wants it named all the same
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "20/m/ip,5/300s/key", "reauthenticate": "10/m/user"}
ACCOUNT_RATE_LIMITS["single-sign-on"] = "60/m/ip"  # the way there is one, the way back another
MFA_ADAPTER = "apps.web.people.adapters.MfaAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_ALLOW_UNVERIFIED_EMAIL = True  # addresses are an admin's entry here, and prove nothing
MFA_TOTP_ISSUER = "Conductor Studio"
SOCIALACCOUNT_ADAPTER = "apps.web.people.single_sign_on.SocialAdapter"
SOCIALACCOUNT_LOGIN_ON_GET = True  # a link, not a form: the policy lets no form lead away from the studio
OIDC_URL: str = env.str("STUDIO_OIDC_URL", "")
OIDC_NAME: str = env.str("STUDIO_OIDC_NAME", "single sign-on")
OIDC_SIGN_UP = env.bool("STUDIO_OIDC_SIGN_UP", False)
OIDC_APP = {
    "provider_id": "oidc",
    "name": OIDC_NAME,
    "client_id": env.str("STUDIO_OIDC_CLIENT_ID", ""),
    "secret": secret("oidc_client_secret") or "",
    "settings": {
        "server_url": OIDC_URL,
        "oauth_pkce_enabled": True,
        "verified_email": env.bool("STUDIO_OIDC_TRUST_EMAIL", False),
    },
}
if OIDC_URL and not OIDC_APP["client_id"]:
    raise ImproperlyConfigured("STUDIO_OIDC_URL is set, so STUDIO_OIDC_CLIENT_ID must be; see docs/settings.md")
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [OIDC_APP] if OIDC_URL else []}}

# --- logs: one JSON object a line; a run's code is bound where a driver or a view works on it ------------------------
_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": structlog.stdlib.ProcessorFormatter,
            "foreign_pre_chain": _SHARED,
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                # Without local variables: a traceback must never show a key.
                structlog.processors.ExceptionRenderer(
                    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
                ),
                structlog.processors.JSONRenderer(),
                without_tokens,
            ],
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": env.str("STUDIO_LOG_LEVEL", "INFO")},
    "loggers": {
        "django": {"level": "INFO"},  # without Django's own handler, which under DEBUG would write lines as they come
        "django.server": {"level": "WARNING", "propagate": True},
        "uvicorn.access": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
    },
}
structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_SHARED,
        structlog.processors.StackInfoRenderer(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
