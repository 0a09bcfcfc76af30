"""`text-nmn`: a parser that writes a program, and modules that execute it over the words of a passage."""
