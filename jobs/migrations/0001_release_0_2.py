import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('jobs', '0001_initial_squashed_0004_job_error_message'),
        ('jobs', '0005_slice_lease'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_release_0_2'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='SliceLease',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task', models.CharField(max_length=100)),
                ('arguments', models.JSONField()),
                ('lease', models.UUIDField()),
                ('takeovers', models.PositiveSmallIntegerField(default=0)),
                ('begun_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=40)),
                ('subject', models.CharField(blank=True, max_length=200)),
                ('options', models.JSONField(default=dict)),
                ('upload', models.CharField(blank=True, max_length=200)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='pending', max_length=10)),
                ('result', models.JSONField(null=True)),
                ('file', models.CharField(blank=True, max_length=200)),
                ('file_name', models.CharField(blank=True, max_length=200)),
                ('error', models.TextField(blank=True)),
                ('error_message', models.JSONField(null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('lease', models.UUIDField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='accounts.workspace')),
            ],
            options={
                'indexes': [models.Index(fields=['created_by', '-id'], name='jobs_of_a_person'), models.Index(fields=['created_by', 'kind', '-id'], name='jobs_of_a_kind'), models.Index(condition=models.Q(('status__in', ['pending', 'running'])), fields=['created_at'], name='open_jobs')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', True), ('status__in', ['pending', 'running'])), models.Q(models.Q(('status__in', ['pending', 'running']), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='finished_job_has_a_time'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='failed_job_says_why')],
            },
        ),
    ]
