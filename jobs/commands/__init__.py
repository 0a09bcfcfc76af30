"""What commands of the site share: rights, dates, simulation."""
