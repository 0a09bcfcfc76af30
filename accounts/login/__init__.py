"""Login by allauth, as this site needs it: rules, forms, second factor."""
