"""Login and logout, and the pages that stand before those of allauth."""

from allauth.account.views import login, logout
from django.urls import path
from django.views.decorators.http import require_POST
from django.views.generic import RedirectView

from accounts.views.login import Email, ResetPassword, Sessions, password_link, provider_login

app_name = "accounts"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="account_change_password"), name="home"),
    path("login/", login, name="login"),
    path("logout/", require_POST(logout), name="logout"),
    path("email/", Email.as_view(), name="email"),
    path("password/reset/", ResetPassword.as_view(), name="reset_password"),
    path("sessions/", Sessions.as_view(), name="sessions"),
    path("password/link/<int:pk>/", password_link, name="password_link"),
    path("oidc/<str:provider_id>/login/", provider_login, name="provider_login"),
]
