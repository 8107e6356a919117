//! NumPy's array file: a header that is a Python dictionary, then the elements.
//!
//! ```text
//! \x93NUMPY 1 0 <length>  {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  <48 bytes>
//! ```
//!
//! Reads versions 1 to 3 in both byte orders and both orders of dimensions; writes little-endian in C order.

use super::elements::{clean_bools, size, swap_bytes};
use super::error::{Fault, Result, fault};
use super::shape::{bytes, room};
use super::source::Source;
use super::{Array, Expect, expected};
use crate::graph::types::Element;

const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy itself reads no longer ones.
const LONGEST_HEADER: u64 = 1 << 16;

/// What the header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) element: Element,
    pub(super) shape: Vec<i64>,
    endian: Endian,
    order: Order,
    /// Where the elements start, in bytes.
    start: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endian {
    Little,
    Big,
}

/// Which dimension varies fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The last one.
    C,
    /// The first one.
    Fortran,
}

/// Reads the array when it is what `expect` says.
pub(super) fn read(source: &mut Source, expect: &Expect<'_>) -> Result<Array> {
    let header = header(source)?;
    expected(header.element, &header.shape, expect)?;
    let (needs, has) = (bytes(header.element, &header.shape)?, source.len - header.start);
    if needs != has {
        return Err(fault(format!(
            "has a header that promises {needs} bytes of elements, but {has} follow it"
        )));
    }
    let mut data = source.bytes(header.start, needs)?;
    if header.endian == Endian::Big {
        swap_bytes(header.element, &mut data);
    }
    if header.order == Order::Fortran && header.shape.len() > 1 {
        data = to_row_major(&data, &header.shape, size(header.element))?;
    }
    clean_bools(header.element, &mut data);
    Ok(Array { element: header.element, shape: header.shape, data })
}

/// Reads the header alone.
pub(super) fn header(source: &mut Source) -> Result<Header> {
    let not_npy = |_| fault("is not a npy file");
    let start = source.bytes(0, 10).map_err(not_npy)?;
    if !start.starts_with(MAGIC) {
        return Err(fault("is not a npy file"));
    }
    let (at, length) = match start[6] {
        1 => (10, u64::from(u16::from_le_bytes([start[8], start[9]]))),
        2 | 3 => {
            let length = source.bytes(8, 4)?;
            (12, u64::from(u32::from_le_bytes([length[0], length[1], length[2], length[3]])))
        }
        version => {
            return Err(fault(format!("is a npy file of version {version}, but only 1 to 3 are known")));
        }
    };
    if length > LONGEST_HEADER {
        return Err(fault(format!("has a header of {length} bytes, at most {LONGEST_HEADER} are allowed")));
    }
    let text = source.bytes(at, length)?;
    let text = std::str::from_utf8(&text).map_err(|_| odd("it is not text"))?;
    parse(text, at + length)
}

fn odd(what: &str) -> Fault {
    fault(format!("has a header that cannot be understood: {what}"))
}

/// The dictionary: three keys in any order, each once.
fn parse(text: &str, start: u64) -> Result<Header> {
    let mut rest = Rest(text.trim());
    let (mut descr, mut order, mut shape) = (None, None, None);
    rest.expect('{')?;
    while !rest.take('}') {
        let key = rest.string()?;
        rest.expect(':')?;
        let fresh = match key {
            "descr" => descr.replace(rest.string().map_err(structured)?).is_none(),
            "fortran_order" => order.replace(rest.order()?).is_none(),
            "shape" => shape.replace(rest.tuple()?).is_none(),
            _ => return Err(odd("it has an unknown key")),
        };
        if !fresh {
            return Err(odd("it has a key twice"));
        }
        if !rest.take(',') {
            rest.expect('}')?;
            break;
        }
    }
    let (Some(descr), Some(order), Some(shape), "") = (descr, order, shape, rest.0.trim()) else {
        return Err(odd("it needs `descr`, `fortran_order` and `shape`, and nothing else"));
    };
    let (element, endian) = element_of(descr)?;
    Ok(Header { element, shape, endian, order, start })
}

fn structured(_: Fault) -> Fault {
    fault("holds records").help("save one field of it")
}

fn element_of(descr: &str) -> Result<(Element, Endian)> {
    let name = descr.trim_start_matches(['<', '>', '|', '=']);
    let element = DESCR.iter().find(|(known, _)| *known == name).map(|(_, element)| *element);
    let Some(element) = element.filter(|_| descr.len() <= name.len() + 1) else {
        let shown: String = descr.chars().take(20).filter(|c| c.is_ascii_graphic()).collect();
        let help = "save it as bool, an integer or a float of 16, 32 or 64 bits";
        return Err(
            fault(format!("holds elements of the type `{shown}`, which has no counterpart")).help(help)
        );
    };
    Ok((element, if descr.starts_with('>') { Endian::Big } else { Endian::Little }))
}

/// NumPy's names without the byte order.
const DESCR: [(&str, Element); 12] = [
    ("b1", Element::Bool),
    ("u1", Element::U8),
    ("u2", Element::U16),
    ("u4", Element::U32),
    ("u8", Element::U64),
    ("i1", Element::I8),
    ("i2", Element::I16),
    ("i4", Element::I32),
    ("i8", Element::I64),
    ("f2", Element::F16),
    ("f4", Element::F32),
    ("f8", Element::F64),
];

/// What is left of the header's text.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    /// Skips white space and then `c`, if it is there.
    fn take(&mut self, c: char) -> bool {
        let found = self.0.trim_start().strip_prefix(c);
        self.0 = found.unwrap_or(self.0);
        found.is_some()
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.take(c) { Ok(()) } else { Err(odd(&format!("`{c}` is missing"))) }
    }

    fn string(&mut self) -> Result<&'a str> {
        let text = self.0.trim_start();
        let quote = text
            .chars()
            .next()
            .filter(|c| *c == '\'' || *c == '"')
            .ok_or_else(|| odd("a string is missing"))?;
        let (inside, rest) = text[1..].split_once(quote).ok_or_else(|| odd("a string has no end"))?;
        self.0 = rest;
        Ok(inside)
    }

    fn order(&mut self) -> Result<Order> {
        let text = self.0.trim_start();
        for (word, order) in [("False", Order::C), ("True", Order::Fortran)] {
            if let Some(rest) = text.strip_prefix(word) {
                self.0 = rest;
                return Ok(order);
            }
        }
        Err(odd("`fortran_order` is neither True nor False"))
    }

    /// `()`, `(3,)`, `(3, 4)`; old files write `3L`.
    fn tuple(&mut self) -> Result<Vec<i64>> {
        let mut sizes = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            sizes.push(self.size()?);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }

    fn size(&mut self) -> Result<i64> {
        let text = self.0.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let size = text[..end].parse().map_err(|_| odd("a size in `shape` is not a number that fits"))?;
        self.0 = text[end..].strip_prefix('L').unwrap_or(&text[end..]);
        Ok(size)
    }
}

/// Fortran order -> C order: walks the result and picks each element from where it was.
fn to_row_major(data: &[u8], shape: &[i64], size: usize) -> Result<Vec<u8>> {
    let mut out = room(data.len() as u64)?;
    let Some((last, outer)) = shape.split_last().filter(|_| !data.is_empty()) else { return Ok(out) };
    let mut index = vec![0i64; outer.len()];
    while out.len() < data.len() {
        let (base, stride) = index
            .iter()
            .zip(outer)
            .fold((0, size), |(base, stride), (i, n)| (base + *i as usize * stride, stride * *n as usize));
        for i in 0..*last as usize {
            out.extend_from_slice(&data[base + i * stride..][..size]);
        }
        step(&mut index, outer);
    }
    Ok(out)
}

/// The next index in row-major order.
fn step(index: &mut [i64], shape: &[i64]) {
    for (i, n) in index.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < *n {
            return;
        }
        *i = 0;
    }
}

/// The bytes that come before the elements; their number is a multiple of 64.
pub fn header_bytes(element: Element, shape: &[i64]) -> Vec<u8> {
    header_of(element, shape, 0)
}

/// The same, as long for every size of the first dimension: it can be written again when that is known.
pub(super) fn padded_header(element: Element, shape: &[i64]) -> Vec<u8> {
    let known = shape.first().map_or(0, |size| size.to_string().len());
    header_of(element, shape, i64::MAX.to_string().len().saturating_sub(known))
}

/// A header with so many blanks more than it needs.
fn header_of(element: Element, shape: &[i64], blanks: usize) -> Vec<u8> {
    let order = if element.bytes() == 1 { '|' } else { '<' };
    let name = DESCR.iter().find(|(_, known)| *known == element).map_or("", |(name, _)| *name);
    let sizes: Vec<String> = shape.iter().map(i64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let sizes = sizes.join(", ");
    let mut text =
        format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({sizes}{comma}), }}");
    text.extend(std::iter::repeat_n(' ', blanks));
    let short = text.len() + 10 + 64 <= usize::from(u16::MAX);
    let prefix = if short { 10 } else { 12 };
    let padding = 63 - (prefix + text.len()) % 64;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    if short {
        bytes.extend([1, 0]);
        bytes.extend((text.len() as u16).to_le_bytes());
    } else {
        bytes.extend([2, 0]);
        bytes.extend((text.len() as u32).to_le_bytes());
    }
    bytes.extend(text.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let found = match parse(text, 0) {
            Ok(header) => {
                format!("{}{:?} {:?} {:?}", header.element, header.shape, header.endian, header.order)
            }
            Err(Fault::Wrong { predicate, .. }) => predicate,
            Err(Fault::System(error)) => panic!("{error}"),
        };
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn headers_in_any_spelling() {
        check("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  \n", "f32[3, 4] Little C");
        check("{\"shape\":(3L,),\"descr\":\">i2\",\"fortran_order\":True}", "i16[3] Big Fortran");
        check("{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "bool[] Little C");
        check("{'descr': '=u8', 'fortran_order': False, 'shape': (0, 5)}", "u64[0, 5] Little C");
    }

    #[test]
    fn headers_that_lie_or_stop() {
        let odd = |what: &str| format!("has a header that cannot be understood: {what}");
        check("", &odd("`{` is missing"));
        check("{", &odd("a string is missing"));
        check("{'descr", &odd("a string has no end"));
        check("{'descr': '<f4'", &odd("`}` is missing"));
        check("{'descr': '<f4'}", &odd("it needs `descr`, `fortran_order` and `shape`, and nothing else"));
        check("{'shape': (1,), 'shape': (2,)}", &odd("it has a key twice"));
        check("{'shape': (99999999999999999999,)}", &odd("a size in `shape` is not a number that fits"));
        check("{'shape': (-1,)}", &odd("a size in `shape` is not a number that fits"));
        check("{'colour': 1}", &odd("it has an unknown key"));
        check("{'fortran_order': 1}", &odd("`fortran_order` is neither True nor False"));
        check("{'descr': [('a', '<f4')]}", "holds records");
        let complex = "{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}";
        check(complex, "holds elements of the type `<c8`, which has no counterpart");
    }

    #[test]
    fn what_is_written_is_read_back() {
        for shape in [&[][..], &[5], &[2, 3], &[1; 40], &[7; 30_000]] {
            let bytes = header_bytes(Element::F32, shape);
            assert_eq!(bytes.len() % 64, 0);
            let skip = if bytes[6] == 1 { 10 } else { 12 };
            let header = parse(std::str::from_utf8(&bytes[skip..]).unwrap(), 0).unwrap();
            assert_eq!((header.element, header.shape.as_slice()), (Element::F32, shape));
        }
    }

    #[test]
    fn columns_become_rows() {
        // [[0, 1, 2], [3, 4, 5]] column by column.
        assert_eq!(to_row_major(&[0, 3, 1, 4, 2, 5], &[2, 3], 1).unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(to_row_major(&[0, 0, 3, 3, 1, 1, 4, 4], &[2, 2], 2).unwrap(), [0, 0, 1, 1, 3, 3, 4, 4]);
        assert!(to_row_major(&[], &[0, 3], 1).unwrap().is_empty());
    }
}
