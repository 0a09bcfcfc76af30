"""The REST API of datasets, systems, runs, predictions and scores."""
