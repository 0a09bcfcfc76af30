"""Login and logout, and the pages that stand before those of allauth."""

from allauth.account.views import login, logout
from allauth.mfa.recovery_codes.views import generate_recovery_codes
from allauth.mfa.totp.views import activate_totp
from django.contrib.auth.decorators import login_required
from django.urls import path
from django.views.decorators.http import require_POST
from django.views.generic import RedirectView

from accounts.views.login import (
    Email,
    RecoveryCodes,
    RecoveryCodesFile,
    ResetPassword,
    Sessions,
    password_link,
    provider_login,
)

app_name = "accounts"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="account_change_password"), name="home"),
    path("login/", login, name="login"),
    path("logout/", require_POST(logout), name="logout"),
    path("email/", Email.as_view(), name="email"),
    path("password/reset/", ResetPassword.as_view(), name="reset_password"),
    path("sessions/", Sessions.as_view(), name="sessions"),
    # Those of allauth note in the session of visitors what to confirm; visitors have to log in first.
    path("2fa/totp/activate/", login_required(activate_totp), name="activate_totp"),
    path("2fa/recovery-codes/generate/", login_required(generate_recovery_codes), name="new_recovery_codes"),
    path("2fa/recovery-codes/", RecoveryCodes.as_view(), name="recovery_codes"),
    path("2fa/recovery-codes/download/", RecoveryCodesFile.as_view(), name="recovery_codes_file"),
    path("password/link/<int:pk>/", password_link, name="password_link"),
    path("oidc/<str:provider_id>/login/", provider_login, name="provider_login"),
]
