"""Writes the fixtures of this folder with NumPy, Pillow, tifffile and imagecodecs.

Element number i of every array follows from v = (i * 37 + 11) % 251, so that tests/io.rs can compute what it expects.
"""
import struct, zlib
import imagecodecs, numpy as np, tifffile
from PIL import Image


def pattern(dtype, *shape):
    v = (np.arange(int(np.prod(shape))) * 37 + 11) % 251
    v = v.astype(np.int64).reshape(shape)
    kind, size = np.dtype(dtype).kind, np.dtype(dtype).itemsize
    if kind == 'b':
        return v % 2 == 1
    if kind == 'f':
        return ((v - 125) / 8).astype(dtype)
    scale = {1: 1, 2: 200, 4: 1000003, 8: 1000003}[size]
    return ((v if kind == 'u' else v - 125) * scale).astype(dtype)


# npy
for name in ['b1', 'u1', 'u2', 'u4', 'u8', 'i1', 'i2', 'i4', 'i8', 'f2', 'f4', 'f8']:
    np.save(f'{name}.npy', pattern(name, 3, 5))
np.save('scalar.npy', pattern('f8'))
np.save('empty.npy', pattern('f4', 0, 7))
np.save('big.npy', pattern('f4', 2, 3, 4).astype('>f4'))
np.save('fortran.npy', np.asfortranarray(pattern('i4', 2, 3, 4)))
np.save('big_fortran.npy', np.asfortranarray(pattern('u2', 4, 3).astype('>u2')))
for version in [(2, 0), (3, 0)]:
    with open(f'version{version[0]}.npy', 'wb') as f:
        np.lib.format.write_array(f, pattern('i2', 6), version=version)

# png
Image.fromarray(pattern('u1', 5, 7)).save('grey8.png')
Image.fromarray(pattern('u2', 5, 7)).save('grey16.png')
Image.fromarray(pattern('u1', 5, 7, 2), 'LA').save('grey_alpha.png')
Image.fromarray(pattern('u1', 5, 7, 3)).save('rgb.png')
Image.fromarray(pattern('u1', 5, 7, 4)).save('rgba.png')
Image.fromarray(pattern('b1', 5, 7)).save('one_bit.png')
open('rgb16.png', 'wb').write(imagecodecs.png_encode(pattern('u2', 5, 7, 3)))
palette = Image.fromarray(pattern('u1', 5, 7), 'P')
palette.putpalette([c for k in range(256) for c in (k, 255 - k, k * 3 % 256)])
palette.save('palette.png')
palette.save('palette_alpha.png', transparency=bytes(255 - k for k in range(256)))


def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))


def adam7(a):
    rows = b''
    for y0, x0, dy, dx in [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]:
        part = a[y0::dy, x0::dx]
        if part.size:
            rows += b''.join(b'\0' + row.astype('>u2').tobytes() for row in part)
    head = struct.pack('>IIBBBBB', a.shape[1], a.shape[0], 16, 0, 0, 0, 1)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


open('interlaced.png', 'wb').write(adam7(pattern('u2', 5, 7)))

# tiff
plain = dict(metadata=None, software=False)
for name in ['u1', 'u2', 'u4', 'u8', 'i1', 'i2', 'i4', 'i8', 'f2', 'f4', 'f8']:
    tifffile.imwrite(f'{name}.tif', pattern(name, 5, 7), photometric='minisblack', rowsperstrip=2, **plain)
rgb = dict(photometric='rgb', **plain)
tifffile.imwrite('rgb_lzw.tif', pattern('u2', 9, 7, 3), compression='lzw', predictor=True, rowsperstrip=4, **rgb)
tifffile.imwrite('rgba_deflate.tif', pattern('u1', 5, 7, 4), compression='zlib', predictor=True, extrasamples=['unassalpha'], **rgb)
tifffile.imwrite('planar.tif', pattern('u1', 3, 5, 7), planarconfig='separate', compression='packbits', rowsperstrip=3, **rgb)
tifffile.imwrite('float_predictor.tif', pattern('f4', 5, 7), compression='zlib', predictor=3, photometric='minisblack', **plain)
tifffile.imwrite('double_predictor.tif', pattern('f8', 20, 18), tile=(16, 16), compression='zlib', predictor=3, photometric='minisblack', **plain)
tifffile.imwrite('tiles_big_endian.tif', pattern('i4', 20, 18), tile=(16, 16), byteorder='>', compression='lzw', predictor=2, photometric='minisblack', **plain)
tifffile.imwrite('bigtiff.tif', pattern('f8', 5, 7), bigtiff=True, photometric='minisblack', **plain)
tifffile.imwrite('bigtiff_big_endian.tif', pattern('u2', 5, 7), bigtiff=True, byteorder='>', photometric='minisblack', **plain)
tifffile.imwrite('white_is_zero.tif', 65535 - pattern('u2', 5, 7), photometric='miniswhite', **plain)
tifffile.imwrite('many_codes.tif', pattern('u2', 64, 40), compression='lzw', photometric='minisblack', **plain)
tifffile.imwrite('two_pages.tif', np.stack([pattern('u1', 5, 7)] * 2), photometric='minisblack', **plain)
Image.fromarray(pattern('u1', 5, 7, 3)).save('pillow_lzw.tif', compression='tiff_lzw')
Image.fromarray(pattern('u1', 5, 7)).save('pillow_deflate.tif', compression='tiff_adobe_deflate')
