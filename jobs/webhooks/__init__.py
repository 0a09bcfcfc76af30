"""Webhooks of all apps: tables, addresses, signatures, waiting deliveries.

An app has two tables of its own, `models.WebhookBase` and `models.DeliveryBase` with a key to what they are
for. `jobs.actions.webhooks` writes them, and `jobs.tasks` sends what is due.
"""
