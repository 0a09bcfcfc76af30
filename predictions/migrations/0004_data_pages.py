"""Licences and counts of datasets, kinds of runs, and indexes of their lists."""

from django.db import migrations, models


def fill(apps, schema_editor):
    """Count the questions of the datasets that exist."""
    questions = apps.get_model("predictions", "Question").objects
    for dataset in apps.get_model("predictions", "Dataset").objects.all():
        own = questions.filter(dataset=dataset)
        dataset.question_count = own.count()
        dataset.without_facts = own.filter(supporting_facts__isnull=True).count()
        dataset.save(update_fields=["question_count", "without_facts"])


class Migration(migrations.Migration):
    dependencies = [("predictions", "0003_workspace_required")]

    operations = [
        migrations.AddField("dataset", "licence", models.CharField(blank=True, max_length=100)),
        migrations.AddField("dataset", "question_count", models.PositiveIntegerField(default=0)),
        migrations.AddField("dataset", "without_facts", models.PositiveIntegerField(default=0)),
        migrations.AddField(
            "predictionrun",
            "kind",
            models.CharField(
                choices=[("predict", "Predictions"), ("execute", "Program execution")],
                default="predict",
                max_length=10,
            ),
        ),
        migrations.AddIndex(
            "question", models.Index(fields=["dataset", "id"], name="questions_of_a_dataset")
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
