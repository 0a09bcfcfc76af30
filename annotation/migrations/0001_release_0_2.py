import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('annotation', '0001_initial_squashed_0008_project_labels'),
        ('annotation', '0009_suggestions'),
        ('annotation', '0010_item_order_of_assignment'),
        ('annotation', '0011_label_changes'),
        ('annotation', '0012_ml_backend'),
        ('annotation', '0013_batches'),
        ('annotation', '0014_annotation_names'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_release_0_2'),
        ('jobs', '0001_release_0_2'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='KeyBindings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('keys', models.JSONField(default=dict)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='keys', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=100, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('kind', models.CharField(choices=[('boxes', 'boxes in images'), ('spans', 'spans in a passage')], max_length=10)),
                ('labels', models.JSONField(blank=True, default=dict)),
                ('label_changes', models.JSONField(blank=True, default=list)),
                ('status', models.CharField(choices=[('open', 'Open'), ('closed', 'Closed')], default='open', max_length=10)),
                ('annotators_per_item', models.PositiveSmallIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)])),
                ('reservation_minutes', models.PositiveSmallIntegerField(default=120, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)])),
                ('show_answer', models.BooleanField(default=True)),
                ('show_predictions', models.BooleanField(default=False)),
                ('ml_backend', models.URLField(blank=True, default='', max_length=500)),
                ('qualification_score', models.FloatField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('hidden_gold_every', models.PositiveSmallIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(2)])),
                ('due_on', models.DateField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='projects', to='accounts.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='OutputRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('running', 'Running'), ('paused', 'Paused: budget spent'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='pending', max_length=10)),
                ('error', models.TextField(blank=True)),
                ('sweeps', models.PositiveSmallIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('progressed_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('system', models.CharField(max_length=100)),
                ('revision', models.CharField(max_length=100)),
                ('fit', models.JSONField(default=dict)),
                ('backend', models.URLField(blank=True, default='', max_length=500)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='output_runs', to='annotation.project')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('annotator', 'Annotator'), ('adjudicator', 'Adjudicator'), ('manager', 'Annotation manager')], default='annotator', max_length=12)),
                ('active', models.BooleanField(default=True)),
                ('blind', models.BooleanField(default=False)),
                ('qualified', models.BooleanField(null=True)),
                ('handed_out', models.PositiveIntegerField(default=0)),
                ('scanned_to', models.BigIntegerField(default=-4611686018427387904)),
                ('joined_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to='annotation.project')),
            ],
        ),
        migrations.CreateModel(
            name='ItemImport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(blank=True, max_length=200)),
                ('counts', models.JSONField()),
                ('first', models.PositiveIntegerField()),
                ('last', models.PositiveIntegerField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('undone_at', models.DateTimeField(null=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('job', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='item_import', to='jobs.job')),
                ('undone_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='imports', to='annotation.project')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Item',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('external_id', models.CharField(max_length=200)),
                ('position', models.PositiveIntegerField()),
                ('rank', models.BigIntegerField(default=0)),
                ('purpose', models.CharField(choices=[('ordinary', 'Ordinary'), ('qualification', 'Qualification'), ('hidden gold', 'Hidden gold')], default='ordinary', max_length=14)),
                ('program', models.TextField(blank=True)),
                ('text', models.TextField()),
                ('passage', models.TextField(blank=True)),
                ('tokens', models.JSONField(default=list)),
                ('text_hash', models.CharField(blank=True, max_length=64)),
                ('images', models.JSONField(default=list)),
                ('answer', models.JSONField(null=True)),
                ('extra', models.JSONField(default=dict)),
                ('annotators_wanted', models.PositiveSmallIntegerField()),
                ('assigned', models.PositiveSmallIntegerField(default=0)),
                ('submitted', models.PositiveSmallIntegerField(default=0)),
                ('disagreement', models.FloatField(null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='items', to='annotation.project')),
            ],
            options={
                'ordering': ['position'],
            },
        ),
        migrations.CreateModel(
            name='ImageFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=500)),
                ('width', models.PositiveIntegerField(null=True)),
                ('height', models.PositiveIntegerField(null=True)),
                ('path', models.CharField(blank=True, max_length=200)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='image_files', to='annotation.project')),
            ],
        ),
        migrations.CreateModel(
            name='Guideline',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('module', models.CharField(blank=True, max_length=60)),
                ('version', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='guidelines', to='annotation.project')),
            ],
            options={
                'ordering': ['module', 'version'],
            },
        ),
        migrations.CreateModel(
            name='Batch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('due_on', models.DateField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='annotation_batches', to=settings.AUTH_USER_MODEL)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='annotation.project')),
            ],
            options={
                'verbose_name_plural': 'batches',
            },
        ),
        migrations.CreateModel(
            name='AuditEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=40)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('data', models.JSONField(default=dict)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='audit', to='annotation.project')),
            ],
            options={
                'ordering': ['pk'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Annotation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task', models.CharField(choices=[('annotation', 'Annotation'), ('adjudication', 'Adjudication')], default='annotation', max_length=12)),
                ('status', models.CharField(choices=[('reserved', 'Reserved'), ('submitted', 'Submitted'), ('in review', 'In review'), ('returned', 'Returned'), ('accepted', 'Accepted'), ('expired', 'Expired'), ('released', 'Released')], default='reserved', max_length=10)),
                ('document', models.JSONField(default=dict)),
                ('revision', models.PositiveIntegerField(default=0)),
                ('reserved_until', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(auto_now_add=True)),
                ('saved_at', models.DateTimeField(null=True)),
                ('submitted_at', models.DateTimeField(null=True)),
                ('active_seconds', models.FloatField(default=0)),
                ('predictions_shown', models.JSONField(default=list)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='annotations', to=settings.AUTH_USER_MODEL)),
                ('batch', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='annotations', to='annotation.batch')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='annotations', to='annotation.item')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='annotations', to='annotation.project')),
            ],
        ),
        migrations.CreateModel(
            name='SystemOutput',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('system', models.CharField(max_length=100)),
                ('revision', models.CharField(max_length=100)),
                ('proposals', models.JSONField(default=list)),
                ('modules', models.JSONField()),
                ('marks', models.JSONField(default=dict)),
                ('score', models.FloatField(null=True)),
                ('answer', models.JSONField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='outputs', to='annotation.item')),
            ],
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=500, validators=[django.core.validators.URLValidator(schemes=['http', 'https'])])),
                ('secret', models.CharField(editable=False, max_length=64)),
                ('kinds', models.JSONField(blank=True, default=list)),
                ('active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='webhooks', to='annotation.project')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=40)),
                ('body', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('next_at', models.DateTimeField(null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('delivered_at', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=500)),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='annotation.webhook')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Comment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('node', models.PositiveIntegerField(null=True)),
                ('object_id', models.CharField(blank=True, max_length=64)),
                ('text', models.TextField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('resolved_at', models.DateTimeField(null=True)),
                ('annotation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='comments', to='annotation.annotation')),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('resolved_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('resolved_at__isnull', True), ('resolved_by__isnull', True)), models.Q(('resolved_at__isnull', False), ('resolved_by__isnull', False)), _connector='OR'), name='comment_resolved_by_somebody')],
            },
        ),
        migrations.CreateModel(
            name='Gold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('current', models.BooleanField(default=True)),
                ('method', models.CharField(choices=[('imported', 'Imported'), ('accepted', 'Accepted'), ('adjudicated', 'Adjudicated')], max_length=12)),
                ('document', models.JSONField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('annotation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='golds', to='annotation.annotation')),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='golds', to='annotation.item')),
            ],
            options={
                'verbose_name_plural': 'gold',
                'constraints': [models.UniqueConstraint(fields=('item', 'version'), name='gold_version_once'), models.UniqueConstraint(condition=models.Q(('current', True)), fields=('item',), name='one_current_gold')],
            },
        ),
        migrations.CreateModel(
            name='Operation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField()),
                ('revision', models.PositiveIntegerField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('edit', models.JSONField()),
                ('inverse', models.JSONField()),
                ('undoes', models.UUIDField(null=True)),
                ('annotation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='operations', to='annotation.annotation')),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['annotation_id', 'revision'],
                'constraints': [models.UniqueConstraint(fields=('annotation', 'uid'), name='operation_once'), models.UniqueConstraint(fields=('annotation', 'revision'), name='operation_revision_once')],
            },
        ),
        migrations.CreateModel(
            name='OutputFailure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=40)),
                ('message', models.TextField()),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='output_failures', to='annotation.item')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='failures', to='annotation.outputrun')),
            ],
            options={
                'ordering': ['item_id'],
                'constraints': [models.UniqueConstraint(fields=('run', 'item'), name='output_failure_once')],
            },
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.CheckConstraint(condition=models.Q(('annotators_per_item__gte', 1), ('annotators_per_item__lte', 20)), name='project_one_to_twenty_annotators'),
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.CheckConstraint(condition=models.Q(('qualification_score__isnull', True), models.Q(('qualification_score__gte', 0), ('qualification_score__lte', 1)), _connector='OR'), name='project_qualification_is_a_share'),
        ),
        migrations.AddConstraint(
            model_name='outputrun',
            constraint=models.UniqueConstraint(fields=('project', 'system', 'revision'), name='output_run_once'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('project', 'user'), name='member_once_per_project'),
        ),
        migrations.AddIndex(
            model_name='item',
            index=models.Index(condition=models.Q(('assigned__lt', models.F('annotators_wanted')), ('purpose', 'ordinary')), fields=['project', 'rank', 'position'], name='items_wanting_annotators'),
        ),
        migrations.AddIndex(
            model_name='item',
            index=models.Index(fields=['project', 'purpose', 'position'], name='items_by_purpose'),
        ),
        migrations.AddIndex(
            model_name='item',
            index=models.Index(fields=['project', 'purpose', 'submitted', 'annotators_wanted', 'assigned', 'id'], name='items_by_state'),
        ),
        migrations.AddIndex(
            model_name='item',
            index=models.Index(fields=['project', 'submitted', 'id'], name='items_by_submitted'),
        ),
        migrations.AddIndex(
            model_name='item',
            index=models.Index(models.F('project'), models.OrderBy(models.F('disagreement'), descending=True), models.F('position'), condition=models.Q(('disagreement__gt', 0)), name='disputed_items'),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.UniqueConstraint(fields=('project', 'external_id'), name='item_once_per_project'),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.UniqueConstraint(fields=('project', 'position'), name='item_position_once'),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('purpose', 'ordinary'), _negated=True), ('assigned__lte', models.F('annotators_wanted')), _connector='OR'), name='item_never_overfull'),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.CheckConstraint(condition=models.Q(('submitted__lte', models.F('assigned'))), name='item_submitted_are_assigned'),
        ),
        migrations.AddConstraint(
            model_name='imagefile',
            constraint=models.UniqueConstraint(fields=('project', 'name'), name='image_once_per_project'),
        ),
        migrations.AddConstraint(
            model_name='imagefile',
            constraint=models.CheckConstraint(condition=models.Q(('path', ''), models.Q(('height__gt', 0), ('width__gt', 0)), _connector='OR'), name='image_file_has_a_size'),
        ),
        migrations.AddConstraint(
            model_name='guideline',
            constraint=models.UniqueConstraint(fields=('project', 'module', 'version'), name='guideline_version_once'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.UniqueConstraint(fields=('project', 'annotator', 'name'), name='batch_name_once_per_person'),
        ),
        migrations.AddIndex(
            model_name='annotation',
            index=models.Index(condition=models.Q(('status', 'reserved')), fields=['project', 'reserved_until'], name='reserved_annotations'),
        ),
        migrations.AddIndex(
            model_name='annotation',
            index=models.Index(fields=['project', 'annotator', 'task', 'status'], name='annotations_of_a_person'),
        ),
        migrations.AddIndex(
            model_name='annotation',
            index=models.Index(fields=['project', 'task', 'status', 'submitted_at'], name='annotations_to_review'),
        ),
        migrations.AddIndex(
            model_name='annotation',
            index=models.Index(fields=['project', 'task', 'submitted_at'], name='annotations_by_day'),
        ),
        migrations.AddIndex(
            model_name='annotation',
            index=models.Index(fields=['project', 'task', 'annotator', 'status', 'submitted_at', 'saved_at', 'active_seconds'], name='annotations_by_annotator'),
        ),
        migrations.AddConstraint(
            model_name='annotation',
            constraint=models.UniqueConstraint(fields=('item', 'annotator', 'task'), name='annotation_once_per_person'),
        ),
        migrations.AddConstraint(
            model_name='annotation',
            constraint=models.UniqueConstraint(condition=models.Q(('task', 'adjudication')), fields=('item',), name='one_adjudication_per_item'),
        ),
        migrations.AddConstraint(
            model_name='annotation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'reserved'), _negated=True), ('reserved_until__isnull', False), ('batch__isnull', False), _connector='OR'), name='reserved_annotation_has_an_end'),
        ),
        migrations.AddConstraint(
            model_name='annotation',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['reserved', 'expired', 'released']), ('submitted_at__isnull', False), _connector='OR'), name='submitted_annotation_has_a_time'),
        ),
        migrations.AddConstraint(
            model_name='systemoutput',
            constraint=models.UniqueConstraint(fields=('item', 'system', 'revision'), name='output_once_per_revision'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('next_at__isnull', False)), fields=['next_at'], name='deliveries_due'),
        ),
    ]
