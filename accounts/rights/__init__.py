"""Rights: the roles of users, held against the policy table."""
