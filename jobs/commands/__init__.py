"""Parts that the site's commands share: rights, dates, simulation."""
