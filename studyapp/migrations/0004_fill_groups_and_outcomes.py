"""Fills what the rows of earlier studies say by other columns: group, outcome, and the condition of a trial."""

from django.db import migrations, models
from django.db.models import F, OuterRef, Subquery


def fill(apps, schema_editor):
    condition = apps.get_model("studyapp", "Condition")
    participant = apps.get_model("studyapp", "Participant")
    trial = apps.get_model("studyapp", "Trial")
    name = condition.objects.filter(pk=OuterRef("condition")).values("name")
    participant.objects.filter(condition__isnull=False).update(group=Subquery(name))
    participant.objects.filter(status="completed").update(outcome="done", ended_at=F("completed_at"))
    of_person = participant.objects.filter(pk=OuterRef("participant")).values("condition")
    trial.objects.update(condition=Subquery(of_person))
    if schema_editor.connection.vendor == "postgresql":
        # Foreign keys are checked now: with checks pending it alters no table.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):

    dependencies = [
        ('studyapp', '0003_stages_and_designs'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name='participant',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'completed'), _negated=True), ('outcome', 'done'), _connector='OR'), name='completed_is_done'),
        ),
        migrations.AddConstraint(
            model_name='participant',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'ended'), _negated=True), models.Q(('outcome', ''), _negated=True), _connector='OR'), name='ended_has_outcome'),
        ),
        migrations.AddConstraint(
            model_name='participant',
            constraint=models.CheckConstraint(condition=models.Q(('condition__isnull', True), models.Q(('group', ''), _negated=True), _connector='OR'), name='assigned_has_group'),
        ),
    ]
