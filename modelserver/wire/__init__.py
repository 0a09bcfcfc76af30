"""The wire schema of the model server, its errors and its client."""
