"""`visual-nmn` and `lxmert`: a modular network over regions of images, and its encoder without one."""
