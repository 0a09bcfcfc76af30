"""`text-nmn`: a parser writes a program, and modules execute it over text."""
