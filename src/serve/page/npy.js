// The bytes of a .npy file -> { shape, values }.
//
//   npy("…{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }…")   { shape: [2, 3], values: Float32Array(6) }

const kinds = {
  "|b1": Uint8Array, "|u1": Uint8Array, "|i1": Int8Array, "<u2": Uint16Array, "<i2": Int16Array,
  "<u4": Uint32Array, "<i4": Int32Array, "<u8": BigUint64Array, "<i8": BigInt64Array,
  "<f4": Float32Array, "<f8": Float64Array,
};

export function npy(buffer) {
  const start = new Uint8Array(buffer, 0, 12);
  const long = start[6] > 1;
  const view = new DataView(buffer);
  const length = long ? view.getUint32(8, true) : view.getUint16(8, true);
  const from = long ? 12 : 10;
  const text = new TextDecoder("latin1").decode(new Uint8Array(buffer, from, length));
  const kind = /'descr': '([^']+)'/.exec(text)[1];
  const shape = /'shape': \(([^)]*)\)/.exec(text)[1].split(",").filter((size) => size.trim()).map(Number);
  const at = from + length;
  if (kind === "<f2") return { shape, values: halves(new Uint16Array(buffer, at)) };
  return { shape, values: new kinds[kind](buffer, at) };
}

// 16-bit floats, which browsers have no array of.
function halves(bits) {
  const values = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) {
    const sign = bits[i] & 0x8000 ? -1 : 1, exponent = (bits[i] >> 10) & 31, part = bits[i] & 1023;
    if (exponent === 0) values[i] = sign * part * 2 ** -24;
    else if (exponent === 31) values[i] = part ? NaN : sign * Infinity;
    else values[i] = sign * (1 + part / 1024) * 2 ** (exponent - 15);
  }
  return values;
}
