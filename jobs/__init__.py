"""The queue, its progress, and the gateway to the model server."""
