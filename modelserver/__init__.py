"""The model server: wire types, client, systems, training and serving. It knows no Django."""
