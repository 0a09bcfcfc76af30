"""Every study and simulation belongs to a workspace: those that exist to the first one."""

import django.db.models.deletion
from django.db import migrations, models


def fill(apps, schema_editor):
    """Move the existing rows into the workspace that `accounts` made."""
    first = apps.get_model("accounts", "Workspace").objects.order_by("pk").first()
    for name in ("study", "sizeplan"):
        apps.get_model("studyapp", name).objects.filter(workspace=None).update(workspace=first)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_workspaces"), ("studyapp", "0001_initial")]

    operations = [
        migrations.AddField(
            "study",
            "workspace",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="studies",
                to="accounts.workspace",
            ),
        ),
        migrations.AddField(
            "sizeplan",
            "workspace",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="size_plans",
                to="accounts.workspace",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
