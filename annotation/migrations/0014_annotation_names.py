from functools import reduce

from django.db import migrations, models
from django.db.models import TextField, Value
from django.db.models.functions import Cast, Replace

ACTS = ('submitted', 'returned', 'accepted', 'assigned', 'released', 'taken_back')
KINDS = {f'work_{act}': f'annotation_{act}' for act in ACTS}
# As JSON writes them. No text in a value contains such a key, because its quotes are escaped.
IN_JSON = {'"work":': '"annotation":', '"works":': '"annotations":'} | {
    f'"{old}"': f'"{new}"' for old, new in KINDS.items()
}


def name_annotations(apps, schema_editor):
    """Rename the events that called an annotation work."""
    _rename(apps, KINDS, IN_JSON)


def name_work(apps, schema_editor):
    """Give the events their old names."""
    _rename(apps, {new: old for old, new in KINDS.items()}, {new: old for old, new in IN_JSON.items()})


def _rename(apps, kinds, in_json):
    """Rename in the database, with one update for each column."""
    for model, column in (('AuditEvent', 'data'), ('Delivery', 'body'), ('Webhook', 'kinds')):
        rows = apps.get_model('annotation', model).objects.alias(text=Cast(column, TextField()))
        text = reduce(lambda text, pair: Replace(text, *map(Value, pair)), in_json.items(), Cast(column, TextField()))
        wanted = reduce(lambda found, old: found | models.Q(text__contains=old), in_json, models.Q())
        rows.filter(wanted).update(**{column: Cast(text, models.JSONField())})
        if model != 'Webhook':
            for old, new in kinds.items():
                rows.filter(kind=old).update(kind=new)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0013_batches'),
    ]

    operations = [
        migrations.RunPython(name_annotations, name_work),
        migrations.RenameIndex(
            model_name='annotation',
            new_name='annotations_by_annotator',
            old_name='work_of_people',
        ),
    ]
