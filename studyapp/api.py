"""Read-only API for staff: the studies and how far each one is."""

from dataclasses import asdict

from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from studyapp.models import Study
from studyapp.queries.progress import studies_with_counts, study_progress
from studyapp.views.access import study_or_404


class StudySerializer(serializers.ModelSerializer):
    """One study with its live participants."""

    assigned = serializers.IntegerField(read_only=True)
    completed = serializers.IntegerField(read_only=True)
    progress = serializers.HyperlinkedIdentityField(
        view_name="studyapp:api_progress", lookup_field="slug", lookup_url_kwarg="slug"
    )

    class Meta:
        model = Study
        fields = ["slug", "title", "status", "created_at", "assigned", "completed", "progress"]


class StudyList(generics.ListAPIView):
    """All studies, newest first; ``assigned`` and ``completed`` count live participants."""

    queryset = studies_with_counts()
    serializer_class = StudySerializer


class Progress(APIView):
    """Participants per mode, version and condition, and the median server time of an item in seconds."""

    def get(self, request: Request, slug: str) -> Response:
        """The progress of one study."""
        study = study_or_404(slug)
        modes = [asdict(mode) for mode in study_progress(study)]
        return Response({"study": study.slug, "status": study.status, "modes": modes})
