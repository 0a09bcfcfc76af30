"""Settings of the site, all read from the environment.

``make demo`` writes ``var/env`` with a secret key of its own; what is set in the environment wins over it.
Everything else has a default that works on one machine: SQLite and a broker on a unix socket in ``var/``.
``docs/reference/settings.md`` lists every variable.
"""

from pathlib import Path
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from kombu import Queue

from analysis import __version__

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

VAR_DIR = Path(env.str("VAR_DIR", default=str(BASE_DIR / "var")))
environ.Env.read_env(VAR_DIR / "env")
DEBUG = env.bool("DEBUG", default=False)


def _secret_key() -> str:
    """Return the key, which has no default: a known key is no secret."""
    key = env.str("SECRET_KEY", default="")
    if not key:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set. Set it in the environment to a long random text, for example from: "
            "python -c 'import secrets; print(secrets.token_urlsafe(50))'"
        )
    return key


SECRET_KEY = _secret_key()
SITE_URL = env.str("SITE_URL", default="http://127.0.0.1:8000").rstrip("/")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[urlsplit(SITE_URL).hostname or "127.0.0.1"])
CSRF_TRUSTED_ORIGINS = [SITE_URL]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "axes",
    "csp",
    "accounts",
    "jobs",
    "predictions",
    "studyapp",
    "annotation",
    "config.apps.SiteConfig",
]

MIDDLEWARE = [
    "studyapp.web.middleware.RequestId",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "studyapp.web.middleware.NoStore",
    "studyapp.web.middleware.RateLimit",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

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


def _database() -> dict[str, object]:
    """Return the database; SQLite needs IMMEDIATE transactions.

    With deferred ones most concurrent writes fail (docs/adr/0003).
    """
    config: dict[str, object] = env.db_url(
        "DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'touchstone.sqlite3'}"
    )
    config["CONN_MAX_AGE"] = env.int("CONN_MAX_AGE", default=60)
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
        }
        # Tests run on a file too: an in-memory database has other locks, and threads cannot share it.
        config["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}
    else:
        config["CONN_HEALTH_CHECKS"] = True
    return config


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
# The kinds of objects that can be shared on their own, each with the module that shares them
# (accounts.shareable).
SHAREABLE = {"study": "studyapp.sharing", "project": "annotation.sharing"}
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "accounts.sessions.Backend",
]
SESSION_ENGINE = "accounts.sessions"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "start"
LOGOUT_REDIRECT_URL = "accounts:login"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 1  # hour
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_DISABLE_ACCESS_LOG = True  # no list of who logged in from where; the lock needs failed tries alone
AXES_LOCKOUT_TEMPLATE = "accounts/locked.html"

LANGUAGE_CODE = "en"
# Only what the pages of participants are written in, or they would announce a wrong one. No middleware
# chooses among them: the pages of staff are in English.
LANGUAGES = [("en", "English"), ("de", "German")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
# The set-up puts Annotorious there with npm (package.json); the editor loads it as it comes.
STATICFILES_DIRS = [
    BASE_DIR / "static",
    ("annotorious", BASE_DIR / "node_modules/@annotorious/annotorious/dist"),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "config.storage.ModuleStorage"
    },
}

# A form of the studio has a field for each part of each question, and one for each of up to 1,000 items.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000

# Cookies are Secure wherever the site is reached by https; a loopback try-out has no certificate.
_HTTPS = urlsplit(SITE_URL).scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_SSL_REDIRECT = _HTTPS
BEHIND_PROXY = env.bool("BEHIND_PROXY", default=False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
# Tells no other site anything. With "no-referrer" browsers would send "Origin: null" with every form, which
# the CSRF check has to refuse.
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        # First, because its 401 names the scheme; sessions would answer 403 to everything.
        "accounts.token_auth.BearerToken",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Touchstone",
    "DESCRIPTION": "Annotation projects, and the progress of studies. See docs/reference/annotation-api.md.",
    "VERSION": __version__,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": ["annotation.api.describe.ids_are_natural"],
}

REDIS_URL = env.str("REDIS_URL", default=f"redis+socket://{VAR_DIR / 'broker.sock'}")
# Counters of requests per address live beside the queue; nothing else is cached there.
RATE_LIMITS = env.bool("RATE_LIMITS", default=True)
# Requests of one user to the REST API.
API_RATE = env.str("API_RATE", default="1200/min") if RATE_LIMITS else None
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL.replace("redis+socket://", "unix://"),
        "KEY_PREFIX": "touchstone",
        "OPTIONS": {"socket_timeout": 2, "socket_connect_timeout": 2},
    }
}
MODEL_SERVER_URL = env.str("MODEL_SERVER_URL", default="http://127.0.0.1:8100").rstrip("/")
MODEL_SERVER_TOKEN = env.str("MODEL_SERVER_TOKEN", default="")

# Verifies the webhooks of Prolific; without it the webhook does not exist.
PROLIFIC_WEBHOOK_SECRET = env.str("PROLIFIC_WEBHOOK_SECRET", default="")
PROLIFIC_JWKS_URL = env.str(
    "PROLIFIC_JWKS_URL", default="https://api.prolific.com/.well-known/study/jwks.json"
)

# A slice is redelivered when its worker dies. The visibility timeout is longer than the hard limit of a
# task, or a slow task would run twice; kombu sweeps only with the two restore options set.
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_TIME_LIMIT = 600
CELERY_TASK_SOFT_TIME_LIMIT = 570
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": env.int("CELERY_VISIBILITY_TIMEOUT", default=660),
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
}
# The beat's tasks have a queue of their own, which workers serve in turn with the main one. So they do not
# wait behind thousands of slices, and a sweep can tell from the main queue whether slices are waiting.
UPKEEP = "upkeep"
CELERY_TASK_QUEUES = [Queue("celery"), Queue(UPKEEP)]
# A sweep that finds no free worker before the next one is due is dropped. The beat stores no schedule on
# disk, so a restart delays a sweep a little.
RUN_SWEEP_SECONDS = env.int("RUN_SWEEP_SECONDS", default=120)
WEBHOOK_SECONDS = env.int("WEBHOOK_SECONDS", default=10)
# Refuse addresses of this machine and of private networks: a webhook must not reach internal services.
WEBHOOK_ALLOW_PRIVATE = env.bool("WEBHOOK_ALLOW_PRIVATE", default=False)
# How often studies are checked for the end of their retention. The beat stores no schedule on disk, so the
# period starts again with each restart; an hour is short enough not to matter.
RETENTION_SECONDS = env.int("RETENTION_SECONDS", default=3600)
CELERY_BEAT_SCHEDULE = {
    "sweep-runs": {
        "task": "predictions.tasks.sweep_runs",
        "schedule": RUN_SWEEP_SECONDS,
        "options": {"expires": RUN_SWEEP_SECONDS, "ignore_result": True, "queue": UPKEEP},
    },
    "sweep-output-runs": {
        "task": "annotation.tasks.sweep_output_runs",
        "schedule": RUN_SWEEP_SECONDS,
        "options": {"expires": RUN_SWEEP_SECONDS, "ignore_result": True, "queue": UPKEEP},
    },
    "sweep-jobs": {
        "task": "jobs.tasks.sweep_jobs",
        "schedule": RUN_SWEEP_SECONDS,
        "options": {"expires": RUN_SWEEP_SECONDS, "ignore_result": True, "queue": UPKEEP},
    },
    "deliver-webhooks": {
        "task": "annotation.tasks.deliver_webhooks",
        "schedule": WEBHOOK_SECONDS,
        "options": {"expires": WEBHOOK_SECONDS, "ignore_result": True, "queue": UPKEEP},
    },
    "apply-retention": {
        "task": "studyapp.tasks.keep_promises",
        "schedule": RETENTION_SECONDS,
        "options": {"expires": RETENTION_SECONDS, "ignore_result": True, "queue": UPKEEP},
    },
}
# The work of each kind of job (`jobs.models.Job`), and the folder of uploaded and made files.
JOBS = {
    "import_dataset": "predictions.imports.import_dataset",
    "import_predictions": "predictions.imports.import_predictions_file",
    "export_bundle": "studyapp.downloads.export_bundle",
    "report": "studyapp.downloads.report",
}
JOB_FOLDER = VAR_DIR / "jobs"
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "studyapp.web.log_redaction.RedactingFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s",
        }
    },
    "filters": {"request_id": {"()": "jobs.request_ids.RequestIdFilter"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["request_id"]}
    },
    "root": {"handlers": ["stderr"], "level": env.str("LOG_LEVEL", default="INFO")},
    # httpx logs whole addresses, and those of entry links hold tokens.
    "loggers": {"httpx": {"level": "WARNING"}},
}
