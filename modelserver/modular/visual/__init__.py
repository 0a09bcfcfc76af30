"""`visual-nmn` and `lxmert`: a modular network over the regions of images, and the same encoder without one."""
