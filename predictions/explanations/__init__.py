"""What explanations are made of: words, articles, boxes, steps, saliency."""
