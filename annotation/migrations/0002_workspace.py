"""Every project belongs to a workspace: those that exist to the first one."""

import django.db.models.deletion
from django.db import migrations, models


def fill(apps, schema_editor):
    """Move the existing rows into the workspace that `accounts` made."""
    first = apps.get_model("accounts", "Workspace").objects.order_by("pk").first()
    for name in ("project",):
        apps.get_model("annotation", name).objects.filter(workspace=None).update(workspace=first)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_workspaces"), ("annotation", "0001_initial")]

    operations = [
        migrations.AddField(
            "project",
            "workspace",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="projects",
                to="accounts.workspace",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
