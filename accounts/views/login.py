"""Pages of the login that allauth does not have, or not as we need them."""

from typing import Any

from allauth.account.views import EmailView, PasswordResetView
from allauth.mfa.recovery_codes.views import DownloadRecoveryCodesView, ViewRecoveryCodesView
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from allauth.usersessions.views import ListUserSessionsView
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django.views.generic.base import ContextMixin
from django.views.generic.edit import FormView

from accounts.actions.passwords import create_reset_link
from accounts.queries.second_factor import has_recovery_codes
from accounts.queries.sessions import select_sessions
from accounts.rights.access import NOT_THERE, require_user
from accounts.views.browsers import browser_name
from accounts.views.site_accounts import get_administered_or_404


class KnowsMail(ContextMixin):
    """A page that depends on the mail server."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Tell the page if the site sends mail."""
        return super().get_context_data(has_mail_server=bool(settings.EMAIL_URL), **kwargs)


class Email(KnowsMail, EmailView):
    """The addresses of an account."""


class Sessions(ListUserSessionsView):
    """The sessions of an account; that of allauth deletes ended ones on a GET."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """List the sessions."""
        sessions = [
            (session, browser_name(session.user_agent))
            for session in select_sessions(require_user(self.request))
        ]
        return FormView.get_context_data(self, sessions=sessions, **kwargs)


class RecoveryCodes(ViewRecoveryCodesView):
    """The recovery codes of an account; that of allauth notes the first view.

    It does so on a GET. Here a GET shows a button, and the codes come with the POST.
    """

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the button, to people who have codes."""
        if not has_recovery_codes(require_user(request)):
            raise Http404(NOT_THERE)
        return render(request, "mfa/recovery_codes/show.html")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the codes, after the password."""
        return super().get(request, *args, **kwargs)


class RecoveryCodesFile(DownloadRecoveryCodesView):
    """The recovery codes as a file, on a POST for the same reason."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the file."""
        return super().get(request, *args, **kwargs)


class ResetPassword(KnowsMail, PasswordResetView):
    """Send a link by mail; without a mail server, say whom to ask."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Send the link."""
        if not settings.EMAIL_URL:
            raise Http404(NOT_THERE)
        return super().post(request, *args, **kwargs)


def provider_login(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Lead to a provider of OpenID Connect by a page, not by a redirect.

    The content security policy lets forms lead to this site alone, redirects included, and a provider may
    redirect to others before it comes back.
    """
    response = openid_connect.login(request, provider_id)
    if response.status_code == 302:
        return render(request, "socialaccount/login_redirect.html", {"address": response["Location"]})
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def password_link(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a one-time link for somebody's password; show it only once."""
    by, user = require_user(request), get_administered_or_404(request, pk)
    if not user.is_active:
        raise PermissionDenied(_("This account is deactivated. Activate it first."))
    link = create_reset_link(user=user, by=by) if request.method == "POST" else None
    hours = settings.PASSWORD_RESET_TIMEOUT // 3600
    return render(request, "accounts/password_link.html", {"person": user, "link": link, "hours": hours})
