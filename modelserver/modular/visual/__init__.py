"""`visual-nmn` over regions of images, and `lxmert`, its encoder alone."""
