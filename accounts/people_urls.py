"""URLs of API tokens."""

from django.urls import path

from accounts.views import tokens

app_name = "people"

urlpatterns = [
    path("account/tokens/", tokens.listed, name="tokens"),
    path("account/tokens/create/", tokens.create, name="create_token"),
    path("account/tokens/<int:pk>/revoke/", tokens.revoke, name="revoke_token"),
]
