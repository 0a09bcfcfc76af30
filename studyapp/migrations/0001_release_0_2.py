import django.core.validators
import django.db.models.deletion
import studyapp.models.studies
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('studyapp', '0001_initial_squashed_0013_devices'),
        ('studyapp', '0014_tasks'),
        ('studyapp', '0015_own_answers'),
        ('studyapp', '0016_behaviour'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_release_0_2'),
        ('jobs', '0001_release_0_2'),
        ('predictions', '0001_release_0_2'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Condition',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField()),
                ('name', models.CharField(max_length=100)),
                ('label', models.CharField(max_length=200)),
                ('weight', models.FloatField(default=1.0)),
                ('is_open', models.BooleanField(default=True)),
                ('quota', models.PositiveIntegerField(blank=True, null=True)),
                ('gives_advice', models.BooleanField(default=True)),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='predictions.predictionrun')),
                ('system', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='predictions.system')),
            ],
            options={
                'ordering': ['version_id', 'position'],
            },
        ),
        migrations.CreateModel(
            name='EntryLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('label', models.CharField(blank=True, max_length=100)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('pilot', 'Pilot'), ('bot', 'Bot')], default='live', max_length=10)),
                ('behaviour', models.CharField(blank=True, default='', max_length=300)),
                ('single_use', models.BooleanField(default=False)),
                ('quota', models.PositiveIntegerField(blank=True, null=True)),
                ('recruitment', models.JSONField(blank=True, null=True)),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Item',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('item', 'Item'), ('practice', 'Practice'), ('attention', 'Attention')], default='item', max_length=10)),
                ('position', models.PositiveSmallIntegerField()),
                ('external_id', models.CharField(max_length=200)),
                ('text', models.TextField(null=True)),
                ('gold_answer', models.TextField(null=True)),
                ('context', models.JSONField(null=True)),
                ('question', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='predictions.question')),
            ],
            options={
                'ordering': ['version_id', 'position'],
            },
        ),
        migrations.CreateModel(
            name='JudgedAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('answer', models.TextField()),
                ('digest', models.CharField(max_length=64)),
                ('from_people', models.BooleanField(default=False)),
                ('is_correct', models.BooleanField(null=True)),
                ('settled_how', models.CharField(blank=True, choices=[('agreement', 'Agreement'), ('third judge', 'Third judge'), ('discussion', 'Discussion')], max_length=20)),
                ('settled_at', models.DateTimeField(null=True)),
                ('note', models.TextField(blank=True)),
                ('question', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='judged_answers', to='predictions.question')),
                ('settled_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Judgement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('place', models.PositiveSmallIntegerField()),
                ('is_correct', models.BooleanField()),
                ('note', models.TextField(blank=True)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('judge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('judged', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='judgements', to='studyapp.judgedanswer')),
            ],
            options={
                'ordering': ['judged_id', 'place'],
            },
        ),
        migrations.CreateModel(
            name='Participant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('timed_items', models.PositiveSmallIntegerField(default=0)),
                ('fast_items', models.PositiveSmallIntegerField(default=0)),
                ('client_ms', models.PositiveBigIntegerField(default=0)),
                ('hidden_ms', models.PositiveBigIntegerField(default=0)),
                ('same_answers', models.BigIntegerField(null=True)),
                ('pattern', models.BigIntegerField(default=0)),
                ('rule_hits', models.PositiveSmallIntegerField(default=0)),
                ('is_trapped', models.BooleanField(default=False)),
                ('failed_attention', models.BooleanField(default=False)),
                ('failed_comprehension', models.BooleanField(default=False)),
                ('public_id', models.CharField(max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('pilot', 'Pilot'), ('bot', 'Bot')], max_length=10)),
                ('status', models.CharField(choices=[('active', 'Active'), ('completed', 'Completed'), ('ended', 'Ended'), ('withdrawn', 'Withdrawn')], default='active', max_length=10)),
                ('stage', models.CharField(choices=[('screening', 'Screening'), ('instructions', 'Instructions'), ('comprehension', 'Comprehension'), ('pre_survey', 'Pre Survey'), ('items', 'Items')], default='items', max_length=20)),
                ('outcome', models.CharField(blank=True, choices=[('done', 'Done'), ('no_consent', 'No Consent'), ('screened_out', 'Screened Out'), ('failed_comprehension', 'Failed Comprehension'), ('full', 'Full')], max_length=20)),
                ('language', models.CharField(blank=True, max_length=10)),
                ('device', models.CharField(blank=True, choices=[('phone', 'Phone'), ('tablet', 'Tablet'), ('desktop', 'Desktop computer')], default='', max_length=10)),
                ('group', models.CharField(blank=True, max_length=100)),
                ('order_row', models.PositiveSmallIntegerField(null=True)),
                ('rotation', models.PositiveSmallIntegerField(null=True)),
                ('assignment_counts', models.JSONField(null=True)),
                ('order_seed', models.BigIntegerField(null=True)),
                ('items_submitted', models.PositiveSmallIntegerField(default=0)),
                ('consented_at', models.DateTimeField(null=True)),
                ('assigned_at', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('last_seen_at', models.DateTimeField(null=True)),
                ('completed_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('completion_code', models.CharField(blank=True, max_length=40)),
                ('returned_at', models.DateTimeField(blank=True, null=True)),
                ('withdrawal_code', models.CharField(blank=True, max_length=20, null=True, unique=True)),
                ('anonymised_on', models.DateField(blank=True, null=True)),
                ('link_generation', models.PositiveIntegerField(default=0)),
                ('condition', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='participants', to='studyapp.condition')),
                ('link', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='participants', to='studyapp.entrylink')),
            ],
        ),
        migrations.CreateModel(
            name='ManualExclusion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(max_length=200)),
                ('excluded_at', models.DateTimeField(auto_now_add=True)),
                ('excluded_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('participant', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='exclusion', to='studyapp.participant')),
            ],
        ),
        migrations.CreateModel(
            name='ProposedVerdict',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('proposed_by', models.CharField(max_length=100)),
                ('is_correct', models.BooleanField()),
                ('imported_at', models.DateTimeField(auto_now_add=True)),
                ('imported_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('judged', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='proposals', to='studyapp.judgedanswer')),
            ],
            options={
                'ordering': ['judged_id', 'proposed_by'],
            },
        ),
        migrations.CreateModel(
            name='ReceivedNotice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(max_length=20)),
                ('event_id', models.CharField(max_length=200)),
                ('received_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('platform', 'event_id'), name='notice_once_per_platform')],
            },
        ),
        migrations.CreateModel(
            name='SizePlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('assumptions', models.JSONField()),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='pending', max_length=10)),
                ('progress', models.PositiveSmallIntegerField(default=0)),
                ('result', models.JSONField(null=True)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='size_plans', to='accounts.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='StageResponse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shown_at', models.DateTimeField(null=True)),
                ('submitted_at', models.DateTimeField(null=True)),
                ('client_total_ms', models.PositiveIntegerField(null=True)),
                ('client_visible_ms', models.PositiveIntegerField(null=True)),
                ('client_hidden_ms', models.PositiveIntegerField(null=True)),
                ('hidden_count', models.PositiveIntegerField(null=True)),
                ('first_interaction_ms', models.PositiveIntegerField(null=True)),
                ('answers', models.JSONField(null=True)),
                ('changes', models.JSONField(null=True)),
                ('page', models.PositiveSmallIntegerField(default=1)),
                ('earlier', models.JSONField(null=True)),
                ('stage', models.CharField(choices=[('screening', 'Screening'), ('instructions', 'Instructions'), ('comprehension', 'Comprehension'), ('pre_survey', 'Pre Survey'), ('items', 'Items')], max_length=20)),
                ('attempt', models.PositiveSmallIntegerField(default=1)),
                ('passed', models.BooleanField(null=True)),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='stages', to='studyapp.participant')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Stimulus',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shown_answer', models.TextField(null=True)),
                ('facts', models.JSONField(null=True)),
                ('exact_match', models.BooleanField(null=True)),
                ('answer_f1', models.FloatField(null=True)),
                ('system_correct', models.BooleanField(null=True)),
                ('judged_by', models.CharField(blank=True, max_length=150)),
                ('condition', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='stimuli', to='studyapp.condition')),
                ('decision', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='stimuli', to='studyapp.judgedanswer')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='stimuli', to='studyapp.item')),
            ],
            options={
                'verbose_name_plural': 'stimuli',
            },
        ),
        migrations.CreateModel(
            name='Study',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=100, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('status', models.CharField(choices=[('draft', 'Draft'), ('open', 'Open'), ('paused', 'Paused'), ('closed', 'Closed')], default='draft', max_length=10)),
                ('definition', models.JSONField()),
                ('draft_number', models.PositiveIntegerField(blank=True, editable=False, null=True)),
                ('archived_at', models.DateTimeField(null=True)),
                ('pseudonym_key', models.CharField(default=studyapp.models.studies.new_pseudonym_key, editable=False, max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('rehearsal_of', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='studyapp.study')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='studies', to='accounts.workspace')),
            ],
            options={
                'verbose_name_plural': 'studies',
            },
        ),
        migrations.CreateModel(
            name='Payment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('approve', 'Approve'), ('return', 'Ask to return'), ('bonus', 'Bonus'), ('screen_out', 'Screen-out pay')], max_length=20)),
                ('batch', models.CharField(blank=True, max_length=50)),
                ('amount', models.DecimalField(decimal_places=2, max_digits=8, null=True)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('state', models.CharField(choices=[('planned', 'Planned'), ('sent', 'Sent'), ('confirmed', 'Done'), ('failed', 'Failed'), ('unknown', 'Unknown')], default='planned', max_length=20)),
                ('transfer', models.CharField(blank=True, max_length=100)),
                ('seen_before', models.PositiveSmallIntegerField(default=0)),
                ('note', models.CharField(blank=True, max_length=300)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='studyapp.participant')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='studyapp.study')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ExternalIds',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('pilot', 'Pilot'), ('bot', 'Bot')], max_length=10)),
                ('platform', models.CharField(max_length=20)),
                ('person_id', models.CharField(max_length=100)),
                ('study_id_there', models.CharField(blank=True, max_length=100)),
                ('session_id', models.CharField(blank=True, max_length=100)),
                ('participant', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='external_ids', to='studyapp.participant')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='studyapp.study')),
            ],
            options={
                'verbose_name_plural': 'external ids',
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=40)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('data', models.JSONField(default=dict)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('participant', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='studyapp.participant')),
                ('study', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='studyapp.study')),
            ],
            options={
                'ordering': ['pk'],
                'abstract': False,
            },
        ),
        migrations.AddField(
            model_name='entrylink',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='links', to='studyapp.study'),
        ),
        migrations.CreateModel(
            name='DraftRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('before', models.PositiveIntegerField(null=True)),
                ('content', models.JSONField()),
                ('changed', models.CharField(max_length=40)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='revisions', to='studyapp.study')),
            ],
            options={
                'ordering': ['study_id', 'number'],
            },
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
        ),
        migrations.CreateModel(
            name='StudyVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('hash', models.CharField(max_length=64)),
                ('frozen', models.JSONField()),
                ('published', models.JSONField(null=True)),
                ('frozen_at', models.DateTimeField(auto_now_add=True)),
                ('frozen_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='studyapp.study')),
            ],
            options={
                'ordering': ['study_id', 'number'],
            },
        ),
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('pilot', 'Pilot'), ('bot', 'Bot')], max_length=10)),
                ('seed', models.PositiveIntegerField()),
                ('resamples', models.PositiveIntegerField()),
                ('data', models.JSONField()),
                ('summary', models.JSONField()),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('job', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='study_report', to='jobs.job')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='studyapp.study')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='studyapp.studyversion')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.AddField(
            model_name='participant',
            name='version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='participants', to='studyapp.studyversion'),
        ),
        migrations.CreateModel(
            name='LaunchDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('check_name', models.CharField(choices=[('judging', 'Correctness of near-misses'), ('rehearsal', 'Rehearsal')], max_length=20)),
                ('reason', models.TextField()),
                ('facts', models.JSONField()),
                ('hash', models.CharField(max_length=64)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='studyapp.study')),
                ('versions', models.ManyToManyField(related_name='decisions', to='studyapp.studyversion')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ItemTime',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('pilot', 'Pilot'), ('bot', 'Bot')], max_length=10)),
                ('group', models.CharField(max_length=100)),
                ('tenths', models.PositiveIntegerField()),
                ('number', models.PositiveIntegerField()),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='item_times', to='studyapp.studyversion')),
            ],
        ),
        migrations.AddField(
            model_name='item',
            name='version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='items', to='studyapp.studyversion'),
        ),
        migrations.AddField(
            model_name='condition',
            name='version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='conditions', to='studyapp.studyversion'),
        ),
        migrations.CreateModel(
            name='StudyWebhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=500, validators=[django.core.validators.URLValidator(schemes=['http', 'https'])])),
                ('secret', models.CharField(editable=False, max_length=64)),
                ('kinds', models.JSONField(blank=True, default=list)),
                ('active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='webhooks', to='studyapp.study')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='StudyDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=40)),
                ('body', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('next_at', models.DateTimeField(null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('delivered_at', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=500)),
                ('participant', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='studyapp.participant')),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='studyapp.studywebhook')),
            ],
            options={
                'verbose_name_plural': 'study deliveries',
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='SurveyResponse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shown_at', models.DateTimeField(null=True)),
                ('submitted_at', models.DateTimeField(null=True)),
                ('client_total_ms', models.PositiveIntegerField(null=True)),
                ('client_visible_ms', models.PositiveIntegerField(null=True)),
                ('client_hidden_ms', models.PositiveIntegerField(null=True)),
                ('hidden_count', models.PositiveIntegerField(null=True)),
                ('first_interaction_ms', models.PositiveIntegerField(null=True)),
                ('answers', models.JSONField(null=True)),
                ('changes', models.JSONField(null=True)),
                ('page', models.PositiveSmallIntegerField(default=1)),
                ('earlier', models.JSONField(null=True)),
                ('participant', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='survey', to='studyapp.participant')),
            ],
        ),
        migrations.CreateModel(
            name='Trial',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shown_at', models.DateTimeField(null=True)),
                ('submitted_at', models.DateTimeField(null=True)),
                ('client_total_ms', models.PositiveIntegerField(null=True)),
                ('client_visible_ms', models.PositiveIntegerField(null=True)),
                ('client_hidden_ms', models.PositiveIntegerField(null=True)),
                ('hidden_count', models.PositiveIntegerField(null=True)),
                ('first_interaction_ms', models.PositiveIntegerField(null=True)),
                ('answers', models.JSONField(null=True)),
                ('changes', models.JSONField(null=True)),
                ('page', models.PositiveSmallIntegerField(default=1)),
                ('earlier', models.JSONField(null=True)),
                ('passed', models.BooleanField(null=True)),
                ('position', models.PositiveSmallIntegerField()),
                ('block', models.CharField(blank=True, default='', max_length=20)),
                ('page_shown_at', models.DateTimeField(null=True)),
                ('timed_out', models.CharField(blank=True, default='', max_length=40)),
                ('hits_rule', models.BooleanField(default=False)),
                ('articles', models.JSONField(null=True)),
                ('condition', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='trials', to='studyapp.condition')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='trials', to='studyapp.item')),
                ('other_condition', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='right_trials', to='studyapp.condition')),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='trials', to='studyapp.participant')),
            ],
            options={
                'ordering': ['participant_id', 'position'],
            },
        ),
        migrations.AddConstraint(
            model_name='judgedanswer',
            constraint=models.UniqueConstraint(fields=('question', 'digest'), name='answer_judged_once_per_question'),
        ),
        migrations.AddConstraint(
            model_name='judgedanswer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('is_correct__isnull', True), ('settled_at__isnull', True), ('settled_by__isnull', True), ('settled_how', '')), models.Q(('is_correct__isnull', False), ('settled_at__isnull', False), ('settled_by__isnull', False), models.Q(('settled_how', ''), _negated=True)), _connector='OR'), name='decision_says_how_who_and_when'),
        ),
        migrations.AddConstraint(
            model_name='judgedanswer',
            constraint=models.CheckConstraint(condition=models.Q(('settled_how__in', ['', 'agreement']), models.Q(('note', ''), _negated=True), _connector='OR'), name='settled_disagreement_has_note'),
        ),
        migrations.AddConstraint(
            model_name='judgement',
            constraint=models.UniqueConstraint(fields=('judged', 'judge'), name='judge_once_per_answer'),
        ),
        migrations.AddConstraint(
            model_name='judgement',
            constraint=models.UniqueConstraint(fields=('judged', 'place'), name='judgement_place_once'),
        ),
        migrations.AddConstraint(
            model_name='judgement',
            constraint=models.CheckConstraint(condition=models.Q(('place__in', [1, 2])), name='two_judgements_per_answer'),
        ),
        migrations.AddConstraint(
            model_name='manualexclusion',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='manual_exclusion_says_why'),
        ),
        migrations.AddConstraint(
            model_name='proposedverdict',
            constraint=models.UniqueConstraint(fields=('judged', 'proposed_by'), name='proposal_once_per_answer'),
        ),
        migrations.AddConstraint(
            model_name='stageresponse',
            constraint=models.UniqueConstraint(fields=('participant', 'stage', 'attempt'), name='stage_attempt_once'),
        ),
        migrations.AddConstraint(
            model_name='stageresponse',
            constraint=models.CheckConstraint(condition=models.Q(('submitted_at__isnull', True), ('answers__isnull', False), _connector='OR'), name='stage_submitted_has_answers'),
        ),
        migrations.AddConstraint(
            model_name='stageresponse',
            constraint=models.CheckConstraint(condition=models.Q(('submitted_at__isnull', True), ('shown_at__lte', models.F('submitted_at')), _connector='OR'), name='stage_shown_before_submitted'),
        ),
        migrations.AddConstraint(
            model_name='stimulus',
            constraint=models.UniqueConstraint(fields=('condition', 'item'), name='stimulus_once_per_condition_and_item'),
        ),
        migrations.AddConstraint(
            model_name='stimulus',
            constraint=models.CheckConstraint(condition=models.Q(('system_correct__isnull', True), models.Q(('judged_by', ''), _negated=True), _connector='OR'), name='judgement_names_its_judge'),
        ),
        migrations.AddIndex(
            model_name='payment',
            index=models.Index(fields=['study', 'state'], name='payments_by_state'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(fields=('participant', 'kind', 'batch'), name='paid_once_per_kind_and_batch'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('amount__isnull', True), ('kind__in', ['approve', 'return'])), models.Q(('amount__gt', 0), ('amount__isnull', False), ('kind__in', ['bonus', 'screen_out'])), _connector='OR'), name='payment_has_its_amount'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['sent', 'unknown']), _negated=True), ('sent_at__isnull', False), _connector='OR'), name='sent_payment_has_a_time'),
        ),
        migrations.AddIndex(
            model_name='externalids',
            index=models.Index(fields=['platform', 'session_id'], name='external_session'),
        ),
        migrations.AddConstraint(
            model_name='externalids',
            constraint=models.UniqueConstraint(fields=('study', 'mode', 'platform', 'person_id'), name='person_once_per_study_and_mode'),
        ),
        migrations.AddConstraint(
            model_name='externalids',
            constraint=models.CheckConstraint(condition=models.Q(('person_id', ''), _negated=True), name='external_ids_name_a_person'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['study', 'kind', 'id'], name='events_of_a_kind'),
        ),
        migrations.AddConstraint(
            model_name='entrylink',
            constraint=models.CheckConstraint(condition=models.Q(('behaviour', ''), ('mode', 'bot'), _connector='OR'), name='behaviour_is_of_bots'),
        ),
        migrations.AddConstraint(
            model_name='draftrevision',
            constraint=models.UniqueConstraint(fields=('study', 'number'), name='revision_number_once_per_study'),
        ),
        migrations.AddConstraint(
            model_name='draftrevision',
            constraint=models.CheckConstraint(condition=models.Q(('before__isnull', True), ('before__lt', models.F('number')), _connector='OR'), name='revision_comes_after_what_it_changed'),
        ),
        migrations.AddConstraint(
            model_name='studyshare',
            constraint=models.UniqueConstraint(fields=('study', 'user', 'role'), name='study_role_once_per_person'),
        ),
        migrations.AddConstraint(
            model_name='studyshare',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'researcher', 'analyst', 'viewer'])), name='study_share_has_role_of_studies'),
        ),
        migrations.AddConstraint(
            model_name='studyversion',
            constraint=models.UniqueConstraint(fields=('study', 'number'), name='version_number_once_per_study'),
        ),
        migrations.AddConstraint(
            model_name='studyversion',
            constraint=models.UniqueConstraint(fields=('study', 'hash'), name='version_hash_once_per_study'),
        ),
        migrations.AddIndex(
            model_name='participant',
            index=models.Index(fields=['version', 'mode', 'status', 'group'], name='participant_counts'),
        ),
        migrations.AddIndex(
            model_name='participant',
            index=models.Index(fields=['version', 'mode', 'pattern'], name='participants_by_pattern'),
        ),
        migrations.AddConstraint(
            model_name='participant',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'completed'), _negated=True), models.Q(('completion_code', ''), _negated=True), _connector='OR'), name='completed_has_code'),
        ),
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
        migrations.AddConstraint(
            model_name='itemtime',
            constraint=models.UniqueConstraint(fields=('version', 'mode', 'group', 'tenths'), name='item_time_once'),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.UniqueConstraint(fields=('version', 'external_id'), name='item_once_per_version'),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.UniqueConstraint(fields=('version', 'position'), name='item_position_once_per_version'),
        ),
        migrations.AddConstraint(
            model_name='condition',
            constraint=models.UniqueConstraint(fields=('version', 'name'), name='condition_name_once_per_version'),
        ),
        migrations.AddConstraint(
            model_name='condition',
            constraint=models.CheckConstraint(condition=models.Q(('weight__gt', 0)), name='condition_weight_positive'),
        ),
        migrations.AddConstraint(
            model_name='condition',
            constraint=models.CheckConstraint(condition=models.Q(('run__isnull', True), ('system__isnull', False), _connector='OR'), name='condition_run_needs_system'),
        ),
        migrations.AddIndex(
            model_name='studydelivery',
            index=models.Index(condition=models.Q(('next_at__isnull', False)), fields=['next_at'], name='study_deliveries_due'),
        ),
        migrations.AddConstraint(
            model_name='surveyresponse',
            constraint=models.CheckConstraint(condition=models.Q(('submitted_at__isnull', True), ('answers__isnull', False), _connector='OR'), name='survey_submitted_has_answers'),
        ),
        migrations.AddConstraint(
            model_name='surveyresponse',
            constraint=models.CheckConstraint(condition=models.Q(('submitted_at__isnull', True), ('shown_at__lte', models.F('submitted_at')), _connector='OR'), name='survey_shown_before_submitted'),
        ),
        migrations.AddConstraint(
            model_name='trial',
            constraint=models.UniqueConstraint(fields=('participant', 'item'), name='trial_once_per_participant_and_item'),
        ),
        migrations.AddConstraint(
            model_name='trial',
            constraint=models.UniqueConstraint(fields=('participant', 'position'), name='trial_position_once'),
        ),
        migrations.AddConstraint(
            model_name='trial',
            constraint=models.CheckConstraint(condition=models.Q(('submitted_at__isnull', True), ('answers__isnull', False), _connector='OR'), name='trial_submitted_has_answers'),
        ),
        migrations.AddConstraint(
            model_name='trial',
            constraint=models.CheckConstraint(condition=models.Q(('submitted_at__isnull', True), ('shown_at__lte', models.F('submitted_at')), _connector='OR'), name='trial_shown_before_submitted'),
        ),
    ]
