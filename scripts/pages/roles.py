"""Write the page of all roles: ``python -m scripts.pages.roles``."""

import os

from scripts.sites.processes import ROOT

PAGE = ROOT / "docs" / "reference" / "roles.md"
HEAD = """# Roles

A workspace holds the studies, annotation projects, datasets and people of a lab or a course. People have
roles in it, and single studies and projects can be shared with people in a role. Both count: your rights on
an object are the union of them. Without any role on an object you get 404, as if it did not exist; with a
role that does not allow an act, 403 and a sentence.

● the role allows the act; ◐ it allows it only on an object that was shared in this role.

"""
TAIL = """
- *Managers* import items and run systems in their projects; datasets of the workspace are for owners and
  researchers.
- *Superusers* administer accounts and workspaces. They see no study, project or dataset unless they have a
  role there.
- *Participants* have no account.
- Commands act as the shell, which may do everything; `--as USER` gives them the rights of a user.
"""


def build_page() -> str:
    """Return the page in Markdown."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("SECRET_KEY", "of-no-site")
    import django

    django.setup()
    from accounts.models import Role
    from accounts.policy_table import TABLE, Grant

    signs = {Grant.ALWAYS: "●", Grant.BY_SHARE: "◐"}
    lines = [f"| act | {' | '.join(str(role.label) for role in Role)} |", "|---|" + ":-:|" * len(Role)]
    for act, grants in TABLE.items():
        cells = (signs[grants[role]] if role in grants else "" for role in Role)
        lines.append(f"| {act.label} | {' | '.join(cells)} |")
    return HEAD + "\n".join(lines) + "\n" + TAIL


if __name__ == "__main__":
    PAGE.write_text(build_page(), "utf-8")
