"""Formats of marks in images: COCO, CVAT, Pascal VOC and YOLO."""
