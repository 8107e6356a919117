//! Single values of the command line: `512M` -> bytes, `seed=8` -> a pair, `64,64` -> a tile shape.
//!
//! An error is what clap shows after `invalid value '…' for '…':`.

use crate::diagnostic::Code;
use crate::graph::types::Element;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The endings of the files that `--out` writes.
pub(super) const FILE_ENDINGS: &str = ".npy .npz .png .tif .tiff .zarr .raw .csv";

/// Tile shape over the unbounded dimensions, outermost first; every size is at least 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile(pub Vec<u32>);

/// The texts that a picture can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// Drawn, for browsers.
    Svg,
    /// For Graphviz.
    Dot,
    /// For Markdown pages that draw it.
    Mermaid,
}

/// Whether a file argument is `-`: standard input, or standard output where it is written.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// `name=value`
pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    pair(text).ok_or_else(|| "write it as name=value, such as seed=8".to_owned())
}

/// `name=path`
pub(super) fn binding(text: &str) -> Result<(String, String), String> {
    pair(text).ok_or_else(|| "write it as name=path, such as photo=sky.png".to_owned())
}

fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    (!name.is_empty() && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

/// `4096`, `64K`, `512M`, `2G`
pub(super) fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.trim_end_matches(|c: char| c.is_ascii_alphabetic()) {
        digits if digits.len() < text.len() => (digits, &text[digits.len()..]),
        digits => (digits, ""),
    };
    let shift = match unit {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        _ => return Err("a size is a whole number of bytes, or one of K, M or G after it".to_owned()),
    };
    if !is_natural(digits) {
        return Err("a size is a whole number, with K, M or G after it or not".to_owned());
    }
    let count = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    count.ok_or_else(|| format!("that is more than {} bytes, the most there can be", u64::MAX))
}

/// Digits only: `parse` alone would take a `+`.
fn is_natural(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn natural<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| is_natural(text))
}

/// `64,64`
pub(super) fn tile(text: &str) -> Result<Tile, String> {
    let size = |size: &str| match size.trim() {
        size if !is_natural(size) || size.bytes().all(|digit| digit == b'0') => {
            Err("a tile shape is a list of positive sizes, such as 64,64".to_owned())
        }
        size => size.parse().map_err(|_| format!("a size of a tile is {} at the most, not {size}", u32::MAX)),
    };
    text.split(',').map(size).collect::<Result<_, _>>().map(Tile)
}

/// Sizes of a stream, a tile or a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<u64>);

/// `0,1024,1024`
pub(super) fn sizes(text: &str) -> Result<Sizes, String> {
    let sizes: Option<Vec<u64>> = text.split(',').map(|size| natural(size.trim())).collect();
    sizes
        .map(Sizes)
        .ok_or_else(|| "sizes are whole numbers with commas between them, such as 0,1024,1024".to_owned())
}

/// `u16`
pub(super) fn element(text: &str) -> Result<Element, String> {
    let names = || Element::ALL.map(|element| element.to_string()).join(" ");
    let found = Element::ALL.into_iter().find(|element| element.to_string() == text);
    found.ok_or_else(|| format!("a type is one of {}", names()))
}

/// A codec and its level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codec {
    /// One of none, crc32c, gzip, zstd.
    pub name: String,
    /// How hard it tries.
    pub level: Option<i64>,
}

/// `zstd`, `zstd(3)`
pub(super) fn codec(text: &str) -> Result<Codec, String> {
    let (name, level) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((name, level)) => {
            (name, Some(natural(level).ok_or("a level is a whole number, such as zstd(3)")?))
        }
        None => (text, None),
    };
    if ["none", "crc32c", "gzip", "zstd"].contains(&name) {
        return Ok(Codec { name: name.to_owned(), level });
    }
    Err("a codec is one of none, crc32c, gzip, zstd".to_owned())
}

/// `E0304`
pub(super) fn code(text: &str) -> Result<Code, String> {
    Code::parse(text).ok_or_else(|| "there is no such code; 'itp explain' lists all of them".to_owned())
}

/// The path of a picture that is drawn.
pub(super) fn svg(text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text);
    let is_svg = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("svg"));
    if is_svg { Ok(path.to_owned()) } else { Err("must end in .svg".to_owned()) }
}

/// A path that ends in `.svg`, `.dot` or `.mmd`.
pub(super) fn picture(text: &str) -> Result<(PathBuf, PictureKind), String> {
    let path = PathBuf::from(text);
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let kind = match ending.as_deref().and_then(|ending| ending.to_str()) {
        Some("svg") => PictureKind::Svg,
        Some("dot") => PictureKind::Dot,
        Some("mmd") => PictureKind::Mermaid,
        _ => return Err("it must end in .svg, .dot or .mmd".to_owned()),
    };
    Ok((path, kind))
}

/// `hills` or `hills.itp` -> `hills.itp`; only names that a script can write in a string as they are.
pub(super) fn script_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = file.strip_suffix(".itp").unwrap_or(file);
    let plain = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    if text.ends_with(['/', '\\'])
        || stem.starts_with(['.', '-'])
        || stem.is_empty()
        || !stem.chars().all(plain)
    {
        return Err("a name is made of letters, digits, '_' and '-', such as hills".to_owned());
    }
    Ok(path.with_file_name(format!("{stem}.itp")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_powers_of_1024() {
        let check = |text: &str, expect: Option<u64>| assert_eq!(size(text).ok(), expect, "{text}");
        check("0", Some(0));
        check("4096", Some(4096));
        check("64K", Some(65536));
        check("512m", Some(512 << 20));
        check("2G", Some(2 << 30));
        check("17179869183G", Some(17179869183 << 30));
        check("17179869184G", None);
        check("1T", None);
        check("1KB", None);
        check("1.5G", None);
        check("+1", None);
        check("-1", None);
        check("G", None);
        check("", None);
        check("1é", None);
    }

    #[test]
    fn tiles_are_positive() {
        let check = |text: &str, expect: Option<&[u32]>| {
            assert_eq!(tile(text).ok().map(|tile| tile.0).as_deref(), expect, "{text}");
        };
        check("64,32", Some(&[64, 32]));
        check("1, 2, 3", Some(&[1, 2, 3]));
        check("7", Some(&[7]));
        check("64,0", None);
        check("64,", None);
        check("64x64", None);
        check("-1,1", None);
    }

    #[test]
    fn pairs_have_two_sides() {
        let check = |text: &str, expect: Option<(&str, &str)>| {
            let expect = expect.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(setting(text).ok(), expect, "{text}");
        };
        check("seed=8", Some(("seed", "8")));
        check("seed = -1", Some(("seed", "-1")));
        check("photo=a=b.png", Some(("photo", "a=b.png")));
        check("seed", None);
        check("seed=", None);
        check("=8", None);
    }

    #[test]
    fn scripts_are_named_after_their_outputs() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(script_path(text).ok(), expect.map(PathBuf::from), "{text}");
        };
        check("hills", Some("hills.itp"));
        check("hills.itp", Some("hills.itp"));
        check("lib/hills", Some("lib/hills.itp"));
        check("v1.2", Some("v1.2.itp"));
        check("", None);
        check(".itp", None);
        check("lib/", None);
        check("..", None);
        check("a\"b", None);
    }
}
