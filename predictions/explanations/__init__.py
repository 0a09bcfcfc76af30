"""Parts of explanations: words, articles, boxes, steps, saliency."""
