#!/usr/bin/env python3
"""Writes text files as a file of tokens for --tokens uint16: one token per byte.
   examples/tokens.py TEXT... TOKENS
"""
import array
import os
import sys


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    tokens = array.array("H")
    for path in sys.argv[1:-1]:
        with open(path, "rb") as file:
            tokens.extend(file.read())
    if sys.byteorder == "big":
        tokens.byteswap()
    os.makedirs(os.path.dirname(sys.argv[-1]) or ".", exist_ok=True)
    with open(sys.argv[-1], "wb") as file:
        tokens.tofile(file)


if __name__ == "__main__":
    main()
