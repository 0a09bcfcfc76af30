"""Read-only API: the studies of a user and their progress."""

from dataclasses import asdict

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.policy import Act
from studyapp.models import Study
from studyapp.queries.progress import studies_with_counts, study_progress
from studyapp.views.access import require_study


class StudySerializer(serializers.ModelSerializer):
    """A study with counts of its live participants."""

    assigned = serializers.IntegerField(read_only=True)
    completed = serializers.IntegerField(read_only=True)
    progress = serializers.HyperlinkedIdentityField(
        view_name="studyapp:api_progress", lookup_field="slug", lookup_url_kwarg="slug"
    )

    class Meta:
        model = Study
        fields = ["slug", "title", "status", "created_at", "assigned", "completed", "progress"]


class StudyList(generics.ListAPIView):
    """Your studies, newest first.

    ``assigned`` and ``completed`` count live participants.
    """

    permission_classes = [IsAuthenticated]
    queryset = Study.objects.none()  # for the schema, which is made without a user
    serializer_class = StudySerializer

    def get_queryset(self) -> QuerySet[Study]:
        """Return the studies that the user sees."""
        user = self.request.user
        return studies_with_counts(user) if isinstance(user, User) else super().get_queryset()


class ConditionSerializer(serializers.Serializer):
    """Participants of one condition, in one mode."""

    version = serializers.IntegerField()
    condition = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the base class has an attribute of this name
    is_open = serializers.BooleanField()
    quota = serializers.IntegerField(allow_null=True)
    assigned = serializers.IntegerField()
    completed = serializers.IntegerField()
    active = serializers.IntegerField()
    stale = serializers.IntegerField()
    returned = serializers.IntegerField()
    ended = serializers.IntegerField()
    withdrawn = serializers.IntegerField()
    median_seconds = serializers.FloatField(allow_null=True)


class ModeSerializer(serializers.Serializer):
    """All conditions for the participants who came in one mode."""

    mode = serializers.CharField()
    conditions = ConditionSerializer(many=True)
    unassigned = serializers.DictField(child=serializers.IntegerField())


class ProgressSerializer(serializers.Serializer):
    """The progress of a study."""

    study = serializers.CharField()
    status = serializers.CharField()
    modes = ModeSerializer(many=True)


class Progress(APIView):
    """Participants per mode, version and condition.

    ``median_seconds`` is the median server time of an item in seconds.
    """

    permission_classes = [IsAuthenticated]

    @extend_schema(summary="Progress of a study", responses=ProgressSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the progress of a study."""
        assert isinstance(request.user, User)  # by the permission class
        study, _roles = require_study(request.user, slug, Act.STUDY_SEE)
        modes = [asdict(mode) for mode in study_progress(study)]
        return Response({"study": study.slug, "status": study.status, "modes": modes})
