"""Who may do what: the roles of a user, held against the policy table."""
