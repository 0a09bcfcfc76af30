"""The model server: HTTP, queues, batches, worker processes."""
