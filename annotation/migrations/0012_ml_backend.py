from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0011_label_changes"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="ml_backend",
            field=models.URLField(blank=True, default="", max_length=500),
        ),
        migrations.AddField(
            model_name="outputrun",
            name="backend",
            field=models.URLField(blank=True, default="", max_length=500),
        ),
    ]
