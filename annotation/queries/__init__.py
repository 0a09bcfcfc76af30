"""Every read of the annotation app that takes more than one filter."""
