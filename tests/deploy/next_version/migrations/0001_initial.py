"""A column more in a table that participants write to while this is applied."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("studyapp", "0001_release_0_2")]
    operations = [migrations.RunSQL("ALTER TABLE studyapp_trial ADD COLUMN of_next_version integer")]
