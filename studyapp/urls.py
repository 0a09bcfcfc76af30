"""URLs of the study app: participant pages and staff pages."""

app_name = "studyapp"

urlpatterns: list = []
