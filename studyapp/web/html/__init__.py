"""HTML of stimuli, programs, comparisons and bars."""
