from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0007_item_order"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="labels",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
