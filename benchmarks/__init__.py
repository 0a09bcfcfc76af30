"""Every performance figure that the documentation states, as a command."""
