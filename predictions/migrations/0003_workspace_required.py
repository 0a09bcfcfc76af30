"""No row is without a workspace."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_workspaces'),
        ('predictions', '0002_workspace'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='dataset',
            name='name',
            field=models.SlugField(max_length=100),
        ),
        migrations.AlterField(
            model_name='dataset',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to='accounts.workspace'),
        ),
        migrations.AddConstraint(
            model_name='dataset',
            constraint=models.UniqueConstraint(fields=('workspace', 'name'), name='dataset_name_once_per_workspace'),
        ),
    ]
