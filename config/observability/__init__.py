"""How an operator sees the site: health, metrics, logs, traces, errors."""
