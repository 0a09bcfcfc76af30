from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0010_item_order_of_assignment"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="label_changes",
            field=models.JSONField(blank=True, default=list),
        ),
    ]
