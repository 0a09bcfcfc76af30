"""The command ``touchstone``."""


def main() -> None:
    print("touchstone")
