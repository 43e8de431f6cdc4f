#!/usr/bin/env python3
"""Writes the digits that examples/ddp_digits.py trains on as files that hpc-train reads.

    python examples/digits_data.py FOLDER      FOLDER/images.npy, FOLDER/labels.npy

The 1,797 real 8x8 images that come with scikit-learn, with values from 0 to 1.
"""

import os
import sys

import numpy
from sklearn.datasets import load_digits


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    folder = sys.argv[1]
    digits = load_digits()
    os.makedirs(folder, exist_ok=True)
    numpy.save(os.path.join(folder, "images.npy"), (digits.images / 16).astype("float32"))
    numpy.save(os.path.join(folder, "labels.npy"), digits.target.astype("int64"))
    print(f"{len(digits.target)} images in {folder}")


if __name__ == "__main__":
    main()
