"""API tokens for tests: the header of requests with one."""

from accounts.actions.tokens import create_token
from accounts.models import Scope, User


def bearer(user: User, scope: Scope = Scope.MANAGE) -> dict[str, str]:
    key = create_token(name="test", scope=scope, days=7, by=user).key
    return {"Authorization": f"Bearer {key}"}
