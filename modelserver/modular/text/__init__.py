"""`text-nmn`: a parser that writes a program, and modules that execute it over the words of a passage."""

# The table of systems loads this network, which is built on parts of other systems. Whoever imports a module
# from here first would else meet the table half-way; so the table always comes first.
import modelserver.systems  # noqa: F401
