"""Compress the raw dumps of `products` and `approximations` for analysis elsewhere.

Usage: python pack_dumps.py RESULTS_FOLDER. Writes products.dump.xz (mma.sync outputs, then the exclusive
or with wgmma's) and binades.zip (2 bits an input: difference + 1; exceptions listed), removes the raw files.
"""

import lzma
import sys
import zipfile
from multiprocessing import Pool
from pathlib import Path

import numpy as np

WORDS_A_RUN = 8 * 512


def pack_binade(path: Path) -> tuple[str, bytes]:
    """Return a file's name and its packed differences."""
    difference = np.fromfile(path, np.int8)
    odd = np.flatnonzero((difference < -1) | (difference > 2)).astype(np.uint32)
    code = (np.clip(difference, -1, 2) + 1).astype(np.uint8).reshape(-1, 4)
    packed = code[:, 0] | code[:, 1] << 2 | code[:, 2] << 4 | code[:, 3] << 6
    parts = (np.uint32([odd.size]), odd, difference[odd], packed)
    return path.stem, lzma.compress(b"".join(p.tobytes() for p in parts), preset=4)


def pack_products(path: Path) -> None:
    """Replace wgmma's outputs by their difference from mma.sync's and compress."""
    words = np.fromfile(path, np.uint32).reshape(-1, 2, WORDS_A_RUN)
    words[:, 1] ^= words[:, 0]
    data = np.ascontiguousarray(words.transpose(1, 0, 2)).tobytes()
    path.with_suffix(".dump.xz").write_bytes(lzma.compress(data, preset=4))
    path.unlink()


def main(folder: Path) -> None:
    """Pack what is there."""
    with Pool(16) as pool:
        products = folder / "products.dump"
        pending = pool.apply_async(pack_products, (products,)) if products.exists() else None
        binades = sorted((folder / "binades").glob("*.i8"))
        with zipfile.ZipFile(folder / "binades.zip", "w") as out:
            for name, data in pool.imap_unordered(pack_binade, binades):
                out.writestr(name, data)
        if pending is not None:
            pending.get()
    for path in binades:
        path.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
