import django.db.models.deletion
from django.conf import settings
from django.db import DatabaseError, migrations, models, transaction


# The expression is that of Django's `icontains`, so that the planner recognises it.
COLUMNS = ("text", "answer")


def create_search(apps, schema_editor):
    """Create the indexes; without the extension, the search works and is slower."""
    if schema_editor.connection.vendor != "postgresql":
        return
    try:
        with transaction.atomic(schema_editor.connection.alias):
            schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            for column in COLUMNS:
                schema_editor.execute(
                    f"CREATE INDEX question_{column}_trigrams ON predictions_question "
                    f'USING gin (UPPER("{column}"::text) gin_trgm_ops)'
                )
    except DatabaseError:  # the user of the database may create no extension, or the server has none
        return


def drop_search(apps, schema_editor):
    """Drop the indexes; the extension stays, others may use it."""
    if schema_editor.connection.vendor == "postgresql":
        for column in COLUMNS:
            schema_editor.execute(f"DROP INDEX IF EXISTS question_{column}_trigrams")


class Migration(migrations.Migration):

    replaces = [
        ('predictions', '0001_initial_squashed_0006_language_models'),
        ('predictions', '0007_question_labels'),
        ('predictions', '0008_changed_items'),
        ('predictions', '0009_question_weights'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_release_0_2'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=100)),
                ('source_format', models.CharField(max_length=40)),
                ('licence', models.CharField(blank=True, max_length=100)),
                ('question_count', models.PositiveIntegerField(default=0)),
                ('without_facts', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to='accounts.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=40)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('data', models.JSONField(default=dict)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='prediction_events', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PredictionRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('running', 'Running'), ('paused', 'Paused: budget spent'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='pending', max_length=10)),
                ('error', models.TextField(blank=True)),
                ('sweeps', models.PositiveSmallIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('progressed_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('revision', models.CharField(max_length=64)),
                ('schema_version', models.PositiveSmallIntegerField()),
                ('source', models.CharField(choices=[('server', 'Server'), ('file', 'File')], max_length=10)),
                ('kind', models.CharField(choices=[('predict', 'Predictions'), ('execute', 'Program execution')], default='predict', max_length=10)),
                ('saliency', models.JSONField(null=True)),
                ('language_model', models.JSONField(null=True)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='predictions.dataset')),
            ],
        ),
        migrations.CreateModel(
            name='Question',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('external_id', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('answer', models.TextField()),
                ('kind', models.CharField(blank=True, max_length=40)),
                ('level', models.CharField(blank=True, max_length=40)),
                ('context', models.JSONField()),
                ('supporting_facts', models.JSONField(null=True)),
                ('images', models.JSONField(default=list)),
                ('steps', models.JSONField(null=True)),
                ('labels', models.JSONField(default=list)),
                ('source_item_id', models.CharField(blank=True, max_length=200)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='predictions.dataset')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='PredictionFailure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=40)),
                ('message', models.TextField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='failures', to='predictions.predictionrun')),
                ('question', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='predictions.question')),
            ],
        ),
        migrations.CreateModel(
            name='Prediction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('answer', models.TextField(blank=True)),
                ('answer_type', models.CharField(max_length=10, null=True)),
                ('location', models.JSONField(null=True)),
                ('facts', models.JSONField()),
                ('fact_probabilities', models.JSONField(null=True)),
                ('threshold', models.FloatField(null=True)),
                ('explanation_weights', models.JSONField(null=True)),
                ('question_weights', models.JSONField(null=True)),
                ('rationale', models.TextField(blank=True, null=True)),
                ('answer_logprob', models.FloatField(null=True)),
                ('usage', models.JSONField(null=True)),
                ('unknown_citations', models.JSONField(null=True)),
                ('steps', models.JSONField(null=True)),
                ('saliency_error', models.TextField(blank=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='predictions', to='predictions.predictionrun')),
                ('question', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='predictions', to='predictions.question')),
            ],
        ),
        migrations.CreateModel(
            name='ReadingInstance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('content', models.JSONField()),
                ('question', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reading_instances', to='predictions.question')),
            ],
        ),
        migrations.CreateModel(
            name='ReadingProbe',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.CharField(max_length=64)),
                ('method', models.CharField(blank=True, max_length=100)),
                ('saliency', models.JSONField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reading_probes', to='predictions.dataset')),
            ],
        ),
        migrations.CreateModel(
            name='ReadingRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('result', models.JSONField(null=True)),
                ('error', models.TextField(blank=True)),
                ('instance', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='records', to='predictions.readinginstance')),
                ('probe', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='records', to='predictions.readingprobe')),
            ],
        ),
        migrations.CreateModel(
            name='ReducedAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('answer', models.TextField(blank=True, null=True)),
                ('error', models.TextField(blank=True)),
                ('target_logprob', models.FloatField(null=True)),
                ('prediction', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reduced_answers', to='predictions.prediction')),
            ],
        ),
        migrations.CreateModel(
            name='Score',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('schema_version', models.PositiveSmallIntegerField()),
                ('n', models.PositiveIntegerField()),
                ('values', models.JSONField()),
                ('reasons', models.JSONField()),
                ('computed_at', models.DateTimeField()),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='score', to='predictions.predictionrun')),
            ],
        ),
        migrations.CreateModel(
            name='QuestionScore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('parts', models.JSONField()),
                ('question', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='predictions.question')),
                ('score', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='predictions.score')),
            ],
        ),
        migrations.CreateModel(
            name='System',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='system_has_name')],
            },
        ),
        migrations.AddField(
            model_name='readingprobe',
            name='system',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reading_probes', to='predictions.system'),
        ),
        migrations.AddField(
            model_name='predictionrun',
            name='system',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='predictions.system'),
        ),
        migrations.AddConstraint(
            model_name='dataset',
            constraint=models.UniqueConstraint(fields=('workspace', 'name'), name='dataset_name_once_per_workspace'),
        ),
        migrations.AddIndex(
            model_name='question',
            index=models.Index(fields=['dataset', 'id'], name='questions_of_a_dataset'),
        ),
        migrations.AddConstraint(
            model_name='question',
            constraint=models.UniqueConstraint(fields=('dataset', 'external_id'), name='question_once_per_dataset'),
        ),
        migrations.AddConstraint(
            model_name='question',
            constraint=models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='question_has_text'),
        ),
        migrations.AddConstraint(
            model_name='predictionfailure',
            constraint=models.UniqueConstraint(fields=('run', 'question'), name='failure_once_per_run_and_question'),
        ),
        migrations.AddConstraint(
            model_name='prediction',
            constraint=models.UniqueConstraint(fields=('run', 'question'), name='prediction_once_per_run_and_question'),
        ),
        migrations.AddConstraint(
            model_name='readinginstance',
            constraint=models.UniqueConstraint(fields=('question', 'digest'), name='reading_instance_once_per_question'),
        ),
        migrations.AddConstraint(
            model_name='readingrecord',
            constraint=models.UniqueConstraint(fields=('probe', 'instance'), name='reading_record_once_per_probe'),
        ),
        migrations.AddConstraint(
            model_name='readingrecord',
            constraint=models.CheckConstraint(condition=models.Q(('result__isnull', True), ('error', ''), _connector='OR'), name='reading_record_not_both'),
        ),
        migrations.AddConstraint(
            model_name='reducedanswer',
            constraint=models.UniqueConstraint(fields=('prediction', 'digest'), name='reduced_answer_once_per_context'),
        ),
        migrations.AddConstraint(
            model_name='reducedanswer',
            constraint=models.CheckConstraint(condition=models.Q(('answer__isnull', False), models.Q(('error', ''), _negated=True), _connector='OR'), name='reduced_answer_or_error'),
        ),
        migrations.AddConstraint(
            model_name='questionscore',
            constraint=models.UniqueConstraint(fields=('score', 'question'), name='question_scored_once_per_run'),
        ),
        migrations.AddConstraint(
            model_name='readingprobe',
            constraint=models.UniqueConstraint(fields=('dataset', 'system', 'revision', 'method'), name='reading_probe_once_per_method'),
        ),
        migrations.AddConstraint(
            model_name='predictionrun',
            constraint=models.UniqueConstraint(fields=('dataset', 'system', 'revision'), name='run_once_per_dataset_system_revision'),
        ),
        migrations.RunPython(create_search, drop_search),
    ]
