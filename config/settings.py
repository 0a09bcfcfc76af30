"""Settings of the site, all read from the environment.

``make demo`` writes ``var/env`` with a secret key of its own; what is set in the environment wins over it.
Everything else has a default that works on one machine: SQLite and a broker on a unix socket in ``var/``.
``docs/reference/settings.md`` lists every variable.
"""

import json
import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import urlsplit

import drf_spectacular_sidecar
import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from kombu import Queue

from analysis import __version__
from config.environment.databases import read_databases
from config.environment.redis_addresses import RedisAddress
from config.environment.variables import env, read_address, read_choice, read_secret
from config.observability.log_files import FORMATS, build_logging_settings
from config.steady_schedule import schedule_every

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env.str("VAR_DIR", default=str(BASE_DIR / "var")))
environ.Env.read_env(VAR_DIR / "env")
DEBUG = env.bool("DEBUG", default=False)


def _read_secret_key() -> str:
    """Return the key, which has no default: a known key is no secret."""
    key = read_secret("SECRET_KEY")
    if not key:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set. Set it in the environment to a long random text, for example from: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe(50))'"
        )
    return key


SECRET_KEY = _read_secret_key()
SECRET_KEY_FALLBACKS = [key for key in read_secret("SECRET_KEY_FALLBACKS").split(",") if key]
SITE_URL = env.str("SITE_URL", default="http://127.0.0.1:8000").rstrip("/")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[urlsplit(SITE_URL).hostname or "127.0.0.1"])
CSRF_TRUSTED_ORIGINS = [SITE_URL]
# An origin that holds no cookies, for the images that people upload (foundation.images.image_files).
USER_CONTENT_URL = env.str("USER_CONTENT_URL", default="").rstrip("/")
if USER_CONTENT_URL:
    ALLOWED_HOSTS.append(urlsplit(USER_CONTENT_URL).hostname)

# Django's admin reads every table without asking the policy of `accounts`: only for developing.
DJANGO_ADMIN = env.bool("DJANGO_ADMIN", default=False)

# Optional, each with a package of its own: errors without personal data, and traces.
SENTRY_DSN = read_secret("SENTRY_DSN")
SENTRY_ENVIRONMENT = env.str("SENTRY_ENVIRONMENT", default="production")
OTEL_EXPORTER_OTLP_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="")

INSTALLED_APPS = [
    *(["django.contrib.admin"] if DJANGO_ADMIN else []),
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
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
    "config.observability.health.Health",
    "studyapp.web.middleware.RequestId",
    *(["config.observability.traces.Traces"] if OTEL_EXPORTER_OTLP_ENDPOINT else []),
    "config.observability.metrics.Metrics",
    "config.observability.request_log.RequestLog",
    "django.middleware.security.SecurityMiddleware",
    "config.web.user_content.OwnOrigin",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "studyapp.web.middleware.NoStore",
    "studyapp.web.middleware.RateLimit",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.web.page_language.PageLanguage",
    "config.web.failures.UTF8Forms",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.login.middleware.Unreachable",
    "accounts.login.middleware.RequireSecondFactor",
    "django.contrib.messages.middleware.MessageMiddleware",
    "config.web.failures.MethodPages",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.web.content_policy.ContentPolicy",
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


DATABASES = read_databases(VAR_DIR)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
# The kinds of objects that can be shared on their own, each with the module that shares them
# (accounts.shareable).
SHAREABLE = {"study": "studyapp.sharing", "project": "annotation.sharing"}
# The modules of apps that refer to datasets and runs, so that nothing in use is deleted
# (predictions.queries.uses).
DATA_USERS = ["studyapp.data_uses"]
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "accounts.sessions.Backend",
]
SESSION_ENGINE = "accounts.sessions"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "accounts.login.password_length.MaximumLengthValidator"},
    {"NAME": "accounts.login.leaked_passwords.LeakedPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# A service of leaked passwords in the form of Pwned Passwords; nothing leaves the site without it.
LEAKED_PASSWORDS_URL = env.str("LEAKED_PASSWORDS_URL", default="")
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "start"
LOGOUT_REDIRECT_URL = "accounts:login"
# Seconds for which a link for a new password works: the one of the mail, and the one-time link of an owner.
PASSWORD_RESET_TIMEOUT = env.int("PASSWORD_RESET_TIMEOUT", default=86_400)

# The lock-out counts by the address that the rate limit takes, and by the name in lower case, as the login
# does not tell capitals apart.
AXES_CLIENT_IP_CALLABLE = "accounts.client_address.find_client_address"
AXES_USERNAME_CALLABLE = "accounts.client_address.read_login_name"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 1  # hour
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_DISABLE_ACCESS_LOG = True  # no list of who logged in from where; the lock needs failed tries alone
AXES_LOCKOUT_TEMPLATE = "accounts/locked.html"
FAILED_LOGIN_DAYS = env.int("FAILED_LOGIN_DAYS", default=7)

# Roles above annotator, and superusers, reach no page before they have set up a second factor.
REQUIRE_SECOND_FACTOR = env.bool("REQUIRE_SECOND_FACTOR", default=False)
# The tables of roles on single objects, which accounts do not know otherwise, each with the filter of those
# that have not ended.
SHARE_TABLES: dict[str, dict[str, bool]] = {
    "studyapp.StudyShare": {},
    "annotation.Membership": {"active": True},
}

# Mail is optional: without a server, a lost password takes a one-time link of an owner.
EMAIL_URL = read_secret("EMAIL_URL")
vars().update(
    read_address(
        "EMAIL_URL",
        EMAIL_URL or "dummymail://",
        env.EMAIL_SCHEMES,
        env.email_url_config,
        "smtp+tls://USER:PASSWORD@HOST:587",
    )
)
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default=f"touchstone@{urlsplit(SITE_URL).hostname}")

ACCOUNT_ADAPTER = "accounts.login.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "optional" if EMAIL_URL else "none"
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Touchstone: "
ACCOUNT_EMAIL_NOTIFICATIONS = bool(EMAIL_URL)  # of a new password, address or second factor
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False  # no mail to addresses of strangers
ACCOUNT_AUTHENTICATED_LOGIN_REDIRECTS = False
ACCOUNT_SESSION_REMEMBER = True
# allauth's own writes a row when it checks a link, which a GET does.
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "django.contrib.auth.tokens.PasswordResetTokenGenerator"  # noqa: S105
# django-axes and `studyapp.web.rate_limit` limit logins with a password, without a broker too. Therefore
# `login_failed` counts only wrong codes of the second factor.
ACCOUNT_RATE_LIMITS = {"login": None, "login_failed": "5/5m/key"}
ACCOUNT_FORMS = {
    "add_email": "accounts.login.forms.AddEmail",
    "change_password": "accounts.login.forms.ChangePassword",
    "login": "accounts.login.forms.Login",
    "reauthenticate": "accounts.login.forms.Reauthenticate",
    "reset_password": "accounts.login.forms.ResetPassword",
    "reset_password_from_key": "accounts.login.forms.NewPassword",
    "set_password": "accounts.login.forms.SetPassword",
    "signup": "accounts.login.forms.SignUp",
}
MFA_ADAPTER = "accounts.login.adapters.SecondFactorAdapter"
MFA_ALLOW_UNVERIFIED_EMAIL = True  # accounts come from invitations, and a site may have no mail server
MFA_TOTP_ISSUER = "Touchstone"
MFA_FORMS = {
    "activate_totp": "accounts.login.forms.ActivateApp",
    "authenticate": "accounts.login.forms.Code",
    "reauthenticate": "accounts.login.forms.CodeAgain",
}
USERSESSIONS_ADAPTER = "accounts.login.adapters.SessionsAdapter"


def _read_oidc_providers() -> list[dict[str, object]]:
    """Return the providers of OpenID Connect in the form of allauth.

    Raises:
        ImproperlyConfigured: OIDC_PROVIDERS is not a JSON list of objects with the five names.
    """
    names = {"id", "name", "server_url", "client_id", "secret"}
    try:
        providers = json.loads(read_secret("OIDC_PROVIDERS", "[]"))
    except ValueError as error:
        raise ImproperlyConfigured(f"OIDC_PROVIDERS is not JSON: {error}") from error
    if not isinstance(providers, list) or not all(
        isinstance(provider, dict)
        and set(provider) == names
        and all(isinstance(value, str) for value in provider.values())
        for provider in providers
    ):
        raise ImproperlyConfigured(
            f"OIDC_PROVIDERS must be a JSON list of objects with the texts {', '.join(sorted(names))}."
        )
    return [
        {
            "provider_id": provider["id"],
            "name": provider["name"],
            "client_id": provider["client_id"],
            "secret": provider["secret"],
            "settings": {"server_url": provider["server_url"]},
        }
        for provider in providers
    ]


SOCIALACCOUNT_ADAPTER = "accounts.login.adapters.ProviderAdapter"
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": _read_oidc_providers(), "OAUTH_PKCE_ENABLED": True}}
SOCIALACCOUNT_FORMS = {"signup": "accounts.login.forms.ProviderSignUp"}
SOCIALACCOUNT_AUTO_SIGNUP = False  # people choose their user name themselves
# An address that the provider has verified leads to the account with it, which is tied to the provider then.
SOCIALACCOUNT_EMAIL_AUTHENTICATION = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True

LANGUAGE_CODE = "en"
# Only what the pages are written in, or they would announce a wrong one.
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
    # Not its Django app, which would serve a second library that we do not use.
    (
        "swagger-ui",
        Path(drf_spectacular_sidecar.__file__).parent / "static/drf_spectacular_sidecar/swagger-ui-dist",
    ),
]
# s3://bucket, or s3://bucket/folder. Without it, images lie in VAR_DIR, which one machine has.
IMAGE_BUCKET = env.str("IMAGE_BUCKET", default="")


def _build_image_storage() -> dict[str, object]:
    """Return the storage of images.

    Raises:
        ImproperlyConfigured: IMAGE_BUCKET is not the address of a bucket.
    """
    if not IMAGE_BUCKET:
        return {"BACKEND": "foundation.images.image_storage.FolderStorage"}
    url = urlsplit(IMAGE_BUCKET)
    if url.scheme != "s3" or not url.netloc or url.query or url.fragment:
        raise ImproperlyConfigured(f"IMAGE_BUCKET is {IMAGE_BUCKET!r}; write it as s3://bucket/folder.")
    options = {
        "bucket_name": url.netloc,
        "location": url.path.strip("/"),
        "endpoint_url": env.str("S3_ENDPOINT_URL", default="") or None,
        "region_name": env.str("S3_REGION", default="") or None,
        "access_key": read_secret("S3_ACCESS_KEY") or None,
        "secret_key": read_secret("S3_SECRET_KEY") or None,
    }
    return {"BACKEND": "foundation.images.image_bucket.BucketStorage", "OPTIONS": options}


STORAGES = {
    "images": _build_image_storage(),
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
# Subdomains and the preload list are choices for a whole domain, which may hold other sites.
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=31_536_000) if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.bool("HSTS_SUBDOMAINS", default=False)
SECURE_HSTS_PRELOAD = env.bool("HSTS_PRELOAD", default=False)
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
        "img-src": [SELF, "data:", *([USER_CONTENT_URL] if USER_CONTENT_URL else [])],
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
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Touchstone",
    "DESCRIPTION": "Workspaces, data, studies, annotation projects and jobs. See docs/reference/rest-api.md.",
    "VERSION": __version__,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",  # operations are grouped by the word behind it
    "POSTPROCESSING_HOOKS": ["accounts.rest.describe.declare_natural_ids"],
}

REDIS_URL = read_secret("REDIS_URL", f"redis+socket://{VAR_DIR / 'broker.sock'}")
_REDIS = RedisAddress(
    REDIS_URL,
    ca_file=env.str("REDIS_CA_FILE", default=""),
    sentinel_password=read_secret("REDIS_SENTINEL_PASSWORD"),
)


def _build_broker_url() -> str:
    """Return the address of the queue.

    Raises:
        ImproperlyConfigured: REDIS_URL names Sentinels in another form.
    """
    try:
        return _REDIS.broker_url()
    except ValueError as error:
        raise ImproperlyConfigured(
            "REDIS_URL must be redis+sentinel://:PASSWORD@HOST:26379,HOST:26379/MASTER/0 for Sentinels "
            f"({error})."
        ) from error


# Counters of requests per address live beside the queue; nothing else is cached there.
RATE_LIMITS = env.bool("RATE_LIMITS", default=True)


def _read_api_rate() -> str | None:
    """Return how many requests one user may send to the REST API.

    Raises:
        ImproperlyConfigured: API_RATE is not a number by second, minute, hour or day.
    """
    rate = env.str("API_RATE", default="1200/min")
    if not re.fullmatch(r"[1-9][0-9]{0,8}/(s|sec|second|m|min|minute|h|hour|d|day)", rate):
        raise ImproperlyConfigured(
            f"API_RATE is {rate!r}; set it to N/sec, N/min, N/hour or N/day with N from 1, such as 1200/min."
        )
    return rate if RATE_LIMITS else None


API_RATE = _read_api_rate()
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": _REDIS.cache_location(),
        "KEY_PREFIX": "touchstone",
        "VERSION": 2,  # of the form of values: those of version 1 were pickled
        "OPTIONS": {
            "serializer": "config.cache_values.JsonValues",
            "socket_timeout": 2,
            "socket_connect_timeout": 2,
            **_REDIS.cache_options(),
        },
    }
}
MODEL_SERVER_URL = read_secret("MODEL_SERVER_URL", "http://127.0.0.1:8100").rstrip("/")
MODEL_SERVER_TOKEN = read_secret("MODEL_SERVER_TOKEN")

# Verifies the webhooks of Prolific; without it the webhook does not exist.
PROLIFIC_WEBHOOK_SECRET = read_secret("PROLIFIC_WEBHOOK_SECRET")
PROLIFIC_JWKS_URL = env.str(
    "PROLIFIC_JWKS_URL", default="https://api.prolific.com/.well-known/study/jwks.json"
)
# Approves and pays participants; without it the page of payments offers files only.
PROLIFIC_API_TOKEN = read_secret("PROLIFIC_API_TOKEN")
PROLIFIC_API_URL = env.str("PROLIFIC_API_URL", default="https://api.prolific.com")
# Seconds that a payment without an answer may take to appear on Prolific before a person has to look.
PROLIFIC_SETTLE_SECONDS = env.int("PROLIFIC_SETTLE_SECONDS", default=300)

# Days for which the cookie and the personal link of a participant work.
PARTICIPANT_LINK_DAYS = env.int("PARTICIPANT_LINK_DAYS", default=90)

# A slice is redelivered when its worker dies. The visibility timeout is longer than the hard limit of a
# task, or a slow task would run twice; kombu sweeps only with the two restore options set.
CELERY_BROKER_URL = _build_broker_url()
CELERY_BROKER_USE_SSL = _REDIS.broker_ssl()
CELERY_TASK_TIME_LIMIT = 600
CELERY_TASK_SOFT_TIME_LIMIT = 570
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": env.int("CELERY_VISIBILITY_TIMEOUT", default=660),
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
    # While the broker is away, enqueuing fails at once and not after kombu's six seconds.
    "max_retries": 1,
    "interval_start": 0.1,
    **_REDIS.broker_options(),
}
# The beat's tasks have a queue of their own, which workers serve in turn with the main one. So they do not
# wait behind thousands of slices, and a sweep can tell from the main queue whether slices are waiting.
UPKEEP = "upkeep"
CELERY_TASK_QUEUES = [Queue("celery"), Queue(UPKEEP)]
# A sweep that finds no free worker before the next one is due is dropped. The beat stores no schedule on
# disk, so a restart delays a sweep a little.
RUN_SWEEP_SECONDS = env.int("RUN_SWEEP_SECONDS", default=30)
# The lease, a sweep and the question what workers do: 15 seconds at most until others take over.
JOB_SWEEP_SECONDS = env.int("JOB_SWEEP_SECONDS", default=5)
JOB_LEASE_SECONDS = env.int("JOB_LEASE_SECONDS", default=8)
WEBHOOK_SECONDS = env.int("WEBHOOK_SECONDS", default=10)
# Refuse addresses of this machine and of private networks: a webhook must not reach internal services.
WEBHOOK_ALLOW_PRIVATE = env.bool("WEBHOOK_ALLOW_PRIVATE", default=False)
# The Hugging Face hub, or a mirror, from which datasets are fetched by name. Without it none are.
HUB_URL = env("HUB_URL", default="")
# Seconds between two checks of studies for the end of their retention. The beat stores no schedule on disk,
# so the period starts again with each restart; an hour is short enough not to matter.
RETENTION_SECONDS = env.int("RETENTION_SECONDS", default=3600)
# The tasks of the upkeep, and the seconds between two of their runs.
_UPKEEP_TASKS = {
    "sweep-runs": ("predictions.tasks.sweep_runs", RUN_SWEEP_SECONDS),
    "sweep-output-runs": ("annotation.tasks.sweep_output_runs", RUN_SWEEP_SECONDS),
    "sweep-jobs": ("jobs.tasks.sweep_jobs", JOB_SWEEP_SECONDS),
    "sweep-slices": ("jobs.tasks.sweep_slices", JOB_SWEEP_SECONDS),
    "sweep-size-plans": ("studyapp.tasks.sweep_size_plans", RUN_SWEEP_SECONDS),
    "purge-job-files": ("jobs.tasks.purge_files", RETENTION_SECONDS),
    "deliver-webhooks": ("jobs.tasks.deliver_webhooks", WEBHOOK_SECONDS),
    "apply-retention": ("studyapp.tasks.keep_promises", RETENTION_SECONDS),
    "purge-logins": ("accounts.tasks.purge_logins", RETENTION_SECONDS),
}
CELERY_BEAT_SCHEDULE = {
    name: {
        "task": task,
        "schedule": schedule_every(seconds),
        "options": {"expires": seconds, "ignore_result": True, "queue": UPKEEP},
    }
    for name, (task, seconds) in _UPKEEP_TASKS.items()
}
# The work of each kind of job (`jobs.models.Job`), and the folder of uploaded and made files.
JOBS = {
    "import_dataset": "predictions.imports.import_dataset",
    "import_items": "annotation.importing.items.import_items_file",
    "import_outputs": "annotation.importing.outputs.import_outputs_file",
    "export_annotations": "annotation.downloads.export_annotations",
    "simulate_annotators": "annotation.simulation_job.simulate_annotators",
    "import_predictions": "predictions.imports.import_predictions_file",
    "saliency": "predictions.run_jobs.compute_saliency",
    "score": "predictions.run_jobs.compute_scores",
    "export_bundle": "studyapp.downloads.export_bundle",
    "export_responses": "studyapp.downloads.export_responses",
    "report": "studyapp.downloads.write_report",
    "simulate_participants": "studyapp.simulation_job.simulate_participants",
    "pay_participants": "studyapp.payments.pay_participants",
}
JOB_FOLDER = VAR_DIR / "jobs"
REPORT_FOLDER = VAR_DIR / "reports"  # kept, other than the files of jobs
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# Readers of /metrics need the token, or call from one of these networks without a proxy.
METRICS_TOKEN = read_secret("METRICS_TOKEN")


def _read_metrics_networks() -> list[IPv4Network | IPv6Network]:
    """Return the networks that may read the metrics.

    Raises:
        ImproperlyConfigured: METRICS_NETWORKS is not a list of networks.
    """
    try:
        return [ip_network(network.strip()) for network in env.list("METRICS_NETWORKS", default=[])]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"METRICS_NETWORKS must be networks such as 127.0.0.0/8,10.1.0.0/16, separated by commas: {error}"
        ) from error


METRICS_NETWORKS = _read_metrics_networks()
METRICS = bool(METRICS_TOKEN or METRICS_NETWORKS)
METRICS_FOLDER = VAR_DIR / "metrics"

# Lines go to stderr, and with LOG_FILE into a file as well, which is rotated.
LOG_REQUESTS = env.bool("LOG_REQUESTS", default=False)
LOG_FORMAT = read_choice("LOG_FORMAT", FORMATS, default="text")
LOG_FILE = env.str("LOG_FILE", default="")
LOG_FILE_MEGABYTES = env.int("LOG_FILE_MEGABYTES", default=10)
LOG_FILES_KEPT = env.int("LOG_FILES_KEPT", default=5)
LOGGING = build_logging_settings(
    read_choice("LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), default="INFO"),
    LOG_FILE,
    form=LOG_FORMAT,
    megabytes=LOG_FILE_MEGABYTES,
    kept=LOG_FILES_KEPT,
)
