"""The model server: wire types, client, systems, training, serving."""
