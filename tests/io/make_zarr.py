"""Zarr arrays of other programs: zarr-python 3.1.6 and TensorStore 0.1.86 wrote those in zarr/."""
import os
import shutil

import numpy as np
import tensorstore as ts
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

os.chdir(os.path.dirname(os.path.abspath(__file__)))
shutil.rmtree('zarr', ignore_errors=True)
data = ((np.arange(5 * 7) * 37 + 11) % 251 * 200).astype('u2').reshape(5, 7)


def python(name, array=data, chunks=(2, 3), **options):
    target = zarr.create_array(f'zarr/{name}.zarr', shape=array.shape, dtype=array.dtype, chunks=chunks, **options)
    target[...] = array


python('default')
python('gzip', compressors=GzipCodec(level=3))
python('plain', compressors=None)
python('checked', compressors=[ZstdCodec(level=1), Crc32cCodec()])
python('big_endian', serializer=BytesCodec(endian='big'), compressors=None)
python('transposed', filters=[TransposeCodec(order=(1, 0))])
python('sharded', shards=(4, 6))
python('dotted', chunk_key_encoding={'name': 'v2', 'separator': '.'})
python('bools', array=data % 3 == 0)
python('floats', array=data.astype('f4') / 7, fill_value=np.nan)
empty = zarr.create_array('zarr/unwritten.zarr', shape=(5, 7), dtype='i4', chunks=(2, 3), fill_value=-7)
scalar = zarr.create_array('zarr/scalar.zarr', shape=(), dtype='f8', chunks=())
scalar[...] = 2.5
zarr.create_group('zarr/group.zarr')
old = zarr.create_array('zarr/version2.zarr', shape=(5, 7), dtype='u2', chunks=(2, 3), zarr_format=2)
old[...] = data

spec = {
    'driver': 'zarr3',
    'kvstore': {'driver': 'file', 'path': 'zarr/tensorstore.zarr'},
    'metadata': {
        'shape': [5, 7],
        'data_type': 'uint16',
        'chunk_grid': {'name': 'regular', 'configuration': {'chunk_shape': [4, 6]}},
        'codecs': [{'name': 'sharding_indexed', 'configuration': {
            'chunk_shape': [2, 3],
            'codecs': [{'name': 'transpose', 'configuration': {'order': [1, 0]}}, {'name': 'bytes', 'configuration': {'endian': 'little'}}, {'name': 'gzip', 'configuration': {'level': 4}}],
            'index_codecs': [{'name': 'bytes', 'configuration': {'endian': 'little'}}, {'name': 'crc32c'}],
            'index_location': 'start'}}],
    },
}
ts.open(spec, create=True).result().write(data).result()
