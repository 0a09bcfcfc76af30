"""What a launch freezes, its limits, and the difference of two versions. Pure."""
