"""URLs of people, invitations, API tokens and the audit log."""

from django.urls import path

from accounts.views import account_data, audit, invitations, people, site_accounts, tokens

app_name = "people"

_OF = "people/<slug:slug>/"
_ACCOUNT = "people/site/accounts/<int:pk>/"

urlpatterns = [
    path("account/tokens/", tokens.list_tokens, name="tokens"),
    path("account/tokens/create/", tokens.create, name="create_token"),
    path("account/tokens/<int:pk>/revoke/", tokens.revoke, name="revoke_token"),
    path("account/data/", account_data.show_account_data, name="account_data"),
    path("account/data/download/", account_data.download, name="download_account"),
    path("account/data/delete/", account_data.delete, name="delete_account"),
    path("invitations/<slug:token>/", invitations.accept, name="invitation"),
    path("people/", people.list_workspaces, name="list"),
    # "site" is not a workspace: accounts.actions.workspaces reserves it.
    path("people/site/create/", people.create, name="create"),
    path("people/site/audit/", audit.show_site_log, name="site_audit"),
    path("people/site/audit.csv", audit.export_of_site, name="site_audit_csv"),
    path("people/site/accounts/", site_accounts.list_accounts, name="accounts"),
    path(f"{_ACCOUNT}deactivate/", site_accounts.deactivate, name="deactivate"),
    path(f"{_ACCOUNT}activate/", site_accounts.activate, name="activate"),
    path("people/site/choose/", people.choose, name="choose_workspace"),
    path(_OF, people.workspace, name="workspace"),
    path(f"{_OF}audit/", audit.show_workspace_log, name="audit"),
    path(f"{_OF}audit.csv", audit.export_of_workspace, name="audit_csv"),
    path(f"{_OF}leave/", people.leave, name="leave"),
    path(f"{_OF}roles/give/", people.give_role, name="give_role"),
    path(f"{_OF}roles/<int:pk>/<slug:role>/end/", people.end_role, name="end_role"),
    path(
        f"{_OF}shares/<slug:kind>/<int:shared>/<int:pk>/<slug:role>/end/", people.end_share, name="end_share"
    ),
    path(f"{_OF}invite/", invitations.new, name="invite"),
    path(f"{_OF}invite/create/", invitations.create, name="create_invitation"),
    path(f"{_OF}invitations/<int:pk>/revoke/", invitations.revoke, name="revoke_invitation"),
]
