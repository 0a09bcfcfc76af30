"""Study definitions: what a researcher writes, and what a launch freezes."""
