"""No row is without a workspace."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_workspaces'),
        ('studyapp', '0002_workspace'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='sizeplan',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='size_plans', to='accounts.workspace'),
        ),
        migrations.AlterField(
            model_name='study',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='studies', to='accounts.workspace'),
        ),
        migrations.CreateModel(
            name='StudyShare',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('researcher', 'Researcher'), ('analyst', 'Analyst'), ('viewer', 'Viewer'), ('manager', 'Annotation manager'), ('adjudicator', 'Adjudicator'), ('annotator', 'Annotator')], max_length=12)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='shares', to='studyapp.study')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='%(app_label)s_shares', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('study', 'user', 'role'), name='study_role_once_per_person'), models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'researcher', 'analyst', 'viewer'])), name='study_share_has_role_of_studies')],
            },
        ),
    ]
