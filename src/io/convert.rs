//! Elements of the output -> elements of the file: as they are, cast, or scaled to pixels.
//!
//! ```text
//! png of f32 [-1, 0, 3]                 range of the data, -1..3     u8 [0, 64, 255]
//! png of f32 [-1, 0, 3]  range 0..1     clamped                      u8 [0, 0, 255]
//! tif of f32 [-1, 0, 3]                 as it is                     f32 [-1, 0, 3]
//! npy of f32 [-1, 0, 3]  type u8        cast                         u8 [0, 0, 3]
//! ```
//!
//! Options that would change values are an error where they mean nothing (`range` of a npy file); `chunk` and `codec`
//! change no values, so the kinds of file that have neither ignore them.

use super::colormap::{Colours, colours};
use super::elements::{cast, from_f64, to_f64};
use super::error::{Fault, Result, fault};
use crate::graph::types::Element;
use crate::graph::{FileKind, OutputOptions};

/// How the elements of one output become those of its file.
pub(super) struct Convert {
    source: Element,
    /// Element type of the file.
    pub(super) file: Element,
    rule: Rule,
    values: Vec<f64>,
}

enum Rule {
    Same,
    Cast,
    Scale { range: Range, colours: Option<Box<Colours>> },
}

/// The values that become the smallest and the largest pixel.
#[derive(Clone, Copy)]
enum Range {
    Known(f64, f64),
    /// Those of the data, once all of it has been seen.
    OfData,
}

impl Convert {
    /// What the output `options` of a file of this kind ask for.
    pub(super) fn new(kind: FileKind, source: Element, options: &OutputOptions) -> Result<Convert> {
        if kind.is_image() { image(kind, source, options) } else { numbers(source, options) }
    }

    /// Whether the range of the data must be known before the first element can be converted.
    pub(super) fn waits(&self) -> bool {
        matches!(self.rule, Rule::Scale { range: Range::OfData, .. })
    }

    /// Says what the range of the data is, where that was open.
    pub(super) fn set_range(&mut self, (lo, hi): (f64, f64)) {
        if let Rule::Scale { range: range @ Range::OfData, .. } = &mut self.rule {
            *range = Range::Known(lo, hi);
        }
    }

    /// Whether each element becomes three, red, green and blue.
    pub(super) fn is_coloured(&self) -> bool {
        matches!(self.rule, Rule::Scale { colours: Some(_), .. })
    }

    /// The elements of the file, in `spare` unless they are the same.
    pub(super) fn apply<'a>(&mut self, elements: &'a [u8], spare: &'a mut Vec<u8>) -> &'a [u8] {
        match &self.rule {
            Rule::Same => return elements,
            Rule::Cast => cast(self.source, self.file, elements, spare),
            Rule::Scale { range, colours } => {
                to_f64(self.source, elements, &mut self.values);
                let range = match *range {
                    Range::Known(lo, hi) => (lo, hi),
                    Range::OfData => (0.0, 0.0),
                };
                self.values.iter_mut().for_each(|value| *value = fraction(*value, range));
                match colours {
                    Some(colours) => paint(&self.values, colours, spare),
                    None => spread(&mut self.values, self.file, spare),
                }
            }
        }
        spare
    }
}

/// Files of numbers: npy, npz, raw, csv.
fn numbers(source: Element, options: &OutputOptions) -> Result<Convert> {
    let given = [("colormap", options.colormap.is_some()), ("range", options.range.is_some())];
    if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
        return Err(
            fault(format!("holds numbers, but `{name}` is for images")).help(format!("remove `{name}`"))
        );
    }
    let file = options.element.unwrap_or(source);
    Ok(Convert {
        source,
        file,
        rule: if file == source { Rule::Same } else { Rule::Cast },
        values: Vec::new(),
    })
}

/// Images: png, tiff.
fn image(kind: FileKind, source: Element, options: &OutputOptions) -> Result<Convert> {
    let file = pixel(kind, source, options)?;
    let known = options.range.map(|(lo, hi)| Range::Known(lo, hi));
    let rule = match &options.colormap {
        Some(name) => {
            let colours = colours(name).ok_or_else(|| fault(format!("has no colour map `{name}`")))?;
            Rule::Scale { range: known.unwrap_or(natural_range(source)), colours: Some(Box::new(colours)) }
        }
        None => match known {
            Some(range) => Rule::Scale { range, colours: None },
            None => unranged(kind, source, file),
        },
    };
    Ok(Convert { source, file, rule, values: Vec::new() })
}

/// Element type of the file's samples.
fn pixel(kind: FileKind, source: Element, options: &OutputOptions) -> Result<Element> {
    let small = if source == Element::U16 { Element::U16 } else { Element::U8 };
    match (options.element, kind) {
        (None | Some(Element::U8), _) if options.colormap.is_some() => Ok(Element::U8),
        (Some(wanted), _) if options.colormap.is_some() => {
            Err(no_pixel("a colour map gives u8 pixels", wanted))
        }
        (Some(wanted @ (Element::U8 | Element::U16)), _) => Ok(wanted),
        (Some(wanted), FileKind::Png) => Err(no_pixel("a png file has u8 or u16 pixels", wanted)),
        (Some(wanted @ Element::Bool), _) => Err(no_pixel("pixels are numbers", wanted)),
        (Some(wanted), _) => Ok(wanted),
        (None, FileKind::Tiff) if options.range.is_none() && source != Element::Bool => Ok(source),
        (None, _) => Ok(small),
    }
}

fn no_pixel(rule: &str, wanted: Element) -> Fault {
    fault(format!("cannot have the `type` {wanted}: {rule}")).help("write `type u8`, or leave `type` out")
}

/// What happens to elements when no `range` is given.
fn unranged(kind: FileKind, source: Element, file: Element) -> Rule {
    let scaled = |range| Rule::Scale { range, colours: None };
    let small = matches!(file, Element::U8 | Element::U16);
    match source {
        _ if source == file => Rule::Same,
        Element::Bool if small => scaled(natural_range(source)),
        Element::Bool | Element::U8 | Element::U16 => Rule::Cast,
        Element::F16 | Element::F32 | Element::F64 if file.is_float() => Rule::Cast,
        Element::F16 | Element::F32 | Element::F64 => scaled(Range::OfData),
        Element::U32 | Element::U64 | Element::I8 | Element::I16 | Element::I32 | Element::I64 => {
            if kind == FileKind::Png { scaled(Range::OfData) } else { Rule::Cast }
        }
    }
}

/// The whole range of types that are pixels already, else that of the data.
fn natural_range(source: Element) -> Range {
    match source {
        Element::Bool => Range::Known(0.0, 1.0),
        Element::U8 => Range::Known(0.0, u8::MAX.into()),
        Element::U16 => Range::Known(0.0, u16::MAX.into()),
        Element::U32 | Element::U64 | Element::I8 | Element::I16 | Element::I32 | Element::I64 => {
            Range::OfData
        }
        Element::F16 | Element::F32 | Element::F64 => Range::OfData,
    }
}

/// Where `value` lies in the range, from 0 to 1; NaN and everything in an empty range is 0.
fn fraction(value: f64, (lo, hi): (f64, f64)) -> f64 {
    // Halved, a range of opposite extremes does not overflow.
    let unit = if (hi - lo).is_finite() { 1.0 } else { 0.5 };
    let fraction = (value * unit - lo * unit) / (hi * unit - lo * unit);
    if lo < hi && !fraction.is_nan() { fraction.clamp(0.0, 1.0) } else { 0.0 }
}

/// Fractions -> the full range of the file's type, of floats 0 to 1.
fn spread(fractions: &mut [f64], file: Element, out: &mut Vec<u8>) {
    if let Some((lo, hi)) = file.int_range() {
        let (lo, hi) = (lo as f64, hi as f64);
        fractions.iter_mut().for_each(|fraction| *fraction = (lo + *fraction * (hi - lo)).round_ties_even());
    }
    from_f64(file, fractions, out);
}

/// Fractions -> red, green and blue.
fn paint(fractions: &[f64], colours: &Colours, out: &mut Vec<u8>) {
    out.clear();
    let last = (colours.len() - 1) as f64;
    fractions.iter().for_each(|fraction| out.extend(colours[(fraction * last).round_ties_even() as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(range: Option<(f64, f64)>, element: Option<Element>) -> OutputOptions {
        OutputOptions { range, element, ..OutputOptions::default() }
    }

    /// Converts f64 values given as elements of `source`, and shows the file's elements as f64.
    #[track_caller]
    fn check(
        kind: FileKind,
        source: Element,
        options: &OutputOptions,
        values: &[f64],
        file: Element,
        expect: &[f64],
    ) {
        let (mut bytes, mut spare, mut found) = (Vec::new(), Vec::new(), Vec::new());
        from_f64(source, values, &mut bytes);
        let mut convert = Convert::new(kind, source, options).unwrap();
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        convert.set_range((finite().fold(f64::MAX, f64::min), finite().fold(f64::MIN, f64::max)));
        to_f64(convert.file, convert.apply(&bytes, &mut spare), &mut found);
        assert_eq!((convert.file, found.as_slice()), (file, expect));
    }

    #[test]
    fn floats_become_pixels() {
        let none = options(None, None);
        check(FileKind::Png, Element::F32, &none, &[-1.0, 0.0, 3.0], Element::U8, &[0.0, 64.0, 255.0]);
        let data = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.0, 4.0];
        check(FileKind::Png, Element::F64, &none, &data, Element::U8, &[0.0, 255.0, 0.0, 0.0, 255.0]);
        check(FileKind::Png, Element::F32, &none, &[5.0, 5.0], Element::U8, &[0.0, 0.0]);
        let range = options(Some((0.0, 1.0)), Some(Element::U16));
        check(
            FileKind::Png,
            Element::F32,
            &range,
            &[-1.0, 0.25, 2.0],
            Element::U16,
            &[0.0, 16384.0, 65535.0],
        );
        let extremes = [-f64::MAX, 0.0, f64::MAX];
        check(FileKind::Png, Element::F64, &none, &extremes, Element::U8, &[0.0, 128.0, 255.0]);
    }

    #[test]
    fn halves_round_to_even_and_empty_ranges_are_black() {
        let range = options(Some((0.0, 255.0)), None);
        check(
            FileKind::Png,
            Element::F64,
            &range,
            &[0.5, 1.5, 2.5, 254.5],
            Element::U8,
            &[0.0, 2.0, 2.0, 254.0],
        );
        for empty in [(1.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0)] {
            check(
                FileKind::Png,
                Element::F64,
                &options(Some(empty), None),
                &[0.0, 2.0],
                Element::U8,
                &[0.0, 0.0],
            );
        }
    }

    #[test]
    fn integers_that_are_pixels_stay_as_they_are() {
        let none = options(None, None);
        check(FileKind::Png, Element::U8, &none, &[3.0, 9.0], Element::U8, &[3.0, 9.0]);
        check(FileKind::Png, Element::U16, &none, &[3.0, 999.0], Element::U16, &[3.0, 999.0]);
        check(FileKind::Png, Element::Bool, &none, &[0.0, 1.0], Element::U8, &[0.0, 255.0]);
        check(FileKind::Png, Element::I32, &none, &[-3.0, 0.0, 3.0], Element::U8, &[0.0, 128.0, 255.0]);
        let range = options(Some((0.0, 10.0)), None);
        check(FileKind::Png, Element::U8, &range, &[0.0, 5.0, 10.0], Element::U8, &[0.0, 128.0, 255.0]);
        check(
            FileKind::Png,
            Element::U8,
            &options(None, Some(Element::U16)),
            &[200.0],
            Element::U16,
            &[200.0],
        );
    }

    #[test]
    fn tiff_keeps_numbers_unless_told() {
        let none = options(None, None);
        for element in Element::ALL.into_iter().filter(|element| *element != Element::Bool) {
            check(FileKind::Tiff, element, &none, &[0.0, 3.0], element, &[0.0, 3.0]);
        }
        let u8s = options(None, Some(Element::U8));
        check(FileKind::Tiff, Element::F32, &u8s, &[0.0, 0.5, 1.0], Element::U8, &[0.0, 128.0, 255.0]);
        check(FileKind::Tiff, Element::I32, &u8s, &[-1.0, 7.0], Element::U8, &[255.0, 7.0]);
        let range = options(Some((0.0, 4.0)), Some(Element::F32));
        check(FileKind::Tiff, Element::F64, &range, &[-1.0, 1.0, 9.0], Element::F32, &[0.0, 0.25, 1.0]);
        let signed = options(Some((0.0, 1.0)), Some(Element::I64));
        check(
            FileKind::Tiff,
            Element::F64,
            &signed,
            &[0.0, 1.0],
            Element::I64,
            &[-(2f64.powi(63)), 2f64.powi(63)],
        );
    }

    #[test]
    fn numbers_are_cast_and_options_of_images_refused() {
        let u8s = options(None, Some(Element::U8));
        check(FileKind::Npy, Element::F32, &u8s, &[-1.0, 3.7, 300.0], Element::U8, &[0.0, 3.0, 255.0]);
        assert!(Convert::new(FileKind::Csv, Element::F32, &options(Some((0.0, 1.0)), None)).is_err());
        assert!(Convert::new(FileKind::Png, Element::F32, &options(None, Some(Element::F32))).is_err());
        let map =
            |element| OutputOptions { colormap: Some("heat".into()), element, ..OutputOptions::default() };
        assert!(Convert::new(FileKind::Npy, Element::F32, &map(None)).is_err());
        assert!(Convert::new(FileKind::Png, Element::F32, &map(Some(Element::U16))).is_err());
        assert!(Convert::new(FileKind::Png, Element::F32, &map(Some(Element::U8))).unwrap().is_coloured());
    }
}
