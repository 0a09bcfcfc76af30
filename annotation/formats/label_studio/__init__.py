"""Label Studio's JSON: tasks with annotations of boxes or spans.

The results of step ``index`` come from the control called ``m{index}``. Images are ``image0``, ``image1``,
… of a task's data, the passage is ``passage``.
"""

from annotation.formats.label_studio.reader import read_label_studio
from annotation.formats.label_studio.writer import write_label_studio

__all__ = ["read_label_studio", "write_label_studio"]
