//! What stands in an address -> names, numbers and slices.
//!
//! ```text
//! ?set=seed=8&dims=c,y,x&at=t:5&range=0..1     {seed: 8}, channels c, rows y, columns x, t fixed at 5, 0 to 1
//! ```

use super::answer::{Refusal, wrong};
use super::shelf::Settings;
use super::tile::SIDE;
use crate::diagnostic::quoted;
use crate::index::{Dim, Domain};

/// Names and values after the `?`, in order.
pub(super) struct Query(pub(super) Vec<(String, String)>);

/// Longest list of parameters that a request may set.
const MOST_SETTINGS: usize = 64;

impl Query {
    /// The value of a name; the last one if there are several.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// `set=name=value`, sorted; of several for one name the last.
    pub(super) fn settings(&self) -> Result<Settings, Refusal> {
        let mut settings = Settings::new();
        for (_, text) in self.0.iter().filter(|(name, _)| name == "set") {
            let pair = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            let Some((name, value)) = pair.filter(|(name, value)| !name.is_empty() && !value.is_empty())
            else {
                return Err(wrong(format!("`set` is written as set=name=value, not {}", quoted(text))));
            };
            settings.retain(|(known, _)| known != name);
            settings.push((name.to_owned(), value.to_owned()));
        }
        if settings.len() > MOST_SETTINGS {
            return Err(wrong(format!(
                "{} parameters are set, at most {MOST_SETTINGS} may be",
                settings.len()
            )));
        }
        settings.sort();
        Ok(settings)
    }

    /// `size=64`
    pub(super) fn side(&self) -> Result<i64, Refusal> {
        let Some(text) = self.one("size") else { return Ok(SIDE) };
        text.parse().map_err(|_| wrong(format!("`size` is a number of pixels, not {}", quoted(text))))
    }

    /// `tiles=2,5`: rows and columns of tiles
    pub(super) fn tiles(&self) -> Result<[i64; 2], Refusal> {
        let Some(text) = self.one("tiles") else { return Ok([1; 2]) };
        let counts =
            text.split_once(',').and_then(|(down, right)| Some([down.parse().ok()?, right.parse().ok()?]));
        counts.ok_or_else(|| {
            wrong(format!("`tiles` is written as two numbers, rows and columns: 2,5, not {}", quoted(text)))
        })
    }

    /// `range=0..1`
    pub(super) fn range(&self) -> Result<Option<(f64, f64)>, Refusal> {
        let Some(text) = self.one("range") else { return Ok(None) };
        let ends = text.split_once("..").and_then(|(lo, hi)| Some((lo.parse().ok()?, hi.parse().ok()?)));
        match ends {
            Some((lo, hi)) if f64::is_finite(lo) && f64::is_finite(hi) => Ok(Some((lo, hi))),
            Some(_) | None => {
                Err(wrong(format!("`range` is written as two numbers, 0..1, not {}", quoted(text))))
            }
        }
    }

    /// `dims` and `at`, as far as they are given.
    pub(super) fn cut(&self, domain: &Domain) -> Result<Cut, Refusal> {
        let shown = match self.one("dims") {
            Some(text) => {
                text.split(',').map(|name| position(domain, name)).collect::<Result<Vec<_>, _>>()?
            }
            None => last_two(domain),
        };
        let repeated = (1..shown.len()).any(|at| shown[..at].contains(&shown[at]));
        let (channels, rows, columns) = match shown[..] {
            _ if repeated => return Err(wrong("`dims` names a dimension twice")),
            [columns] => (None, None, columns),
            [rows, columns] => (None, Some(rows), columns),
            [channels, rows, columns] => (Some(channels), Some(rows), columns),
            _ => return Err(wrong("`dims` names one to three dimensions, such as y,x or c,y,x")),
        };
        let cut = Cut { channels, rows, columns, fixed: fixed(domain, &shown, self.one("at"))? };
        match channels.map(|dim| domain.dims()[dim].interval.len()) {
            None | Some(Some(3 | 4)) => Ok(cut),
            Some(_) => Err(wrong("the first of three `dims` must have 3 or 4 elements, the colours")),
        }
    }
}

/// Which dimensions of a layer are seen, and where the others are cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Red, green, blue and perhaps opacity.
    pub(super) channels: Option<usize>,
    /// None of a layer with one dimension.
    pub(super) rows: Option<usize>,
    pub(super) columns: usize,
    /// The others, each with a coordinate.
    pub(super) fixed: Vec<(usize, i64)>,
}

/// A dimension by its label or its place.
fn position(domain: &Domain, name: &str) -> Result<usize, Refusal> {
    let place = || name.parse().ok().filter(|place| *place < domain.rank());
    let found = domain.position(name).filter(|_| !name.is_empty()).or_else(place);
    found.ok_or_else(|| wrong(format!("{domain} has no dimension {}", quoted(name))))
}

fn last_two(domain: &Domain) -> Vec<usize> {
    (domain.rank().saturating_sub(2)..domain.rank()).collect()
}

/// Where the dimensions that are not shown are cut: where `t:5,c:0` says, else at 0 or the end nearest to it.
fn fixed(domain: &Domain, shown: &[usize], text: Option<&str>) -> Result<Vec<(usize, i64)>, Refusal> {
    let mut given = Vec::new();
    for part in text.unwrap_or_default().split(',').filter(|part| !part.is_empty()) {
        let (name, number) = part.split_once(':').unwrap_or((part, ""));
        let number =
            number.parse().map_err(|_| wrong(format!("`at` is written as t:5,c:0, not {}", quoted(part))))?;
        given.push((position(domain, name)?, number));
    }
    let dims = domain.dims().iter().enumerate().filter(|(dim, _)| !shown.contains(dim));
    let place = |(dim, range): (usize, &Dim)| {
        let number = given.iter().find(|(known, _)| *known == dim).map(|(_, number)| *number);
        let number = number.unwrap_or_else(|| nearest(range));
        match range.interval.contains(number) {
            true => Ok((dim, number)),
            false => Err(wrong(format!("{number} is outside of {range}"))),
        }
    };
    dims.map(place).collect()
}

fn nearest(dim: &Dim) -> i64 {
    0.clamp(dim.interval.first(), dim.interval.last().max(dim.interval.first()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Interval;

    fn query(text: &str) -> Query {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        Query(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn domain() -> Domain {
        let dim = |label: &str, interval| Dim::explicit(interval).labelled(label);
        Domain::new(vec![
            dim("t", Interval::new(5, 10).unwrap()),
            dim("c", Interval::new(0, 3).unwrap()),
            dim("y", Interval::all()),
            dim("", Interval::all()),
        ])
        .unwrap()
    }

    #[test]
    fn dimensions_are_chosen_by_label_or_place() {
        let check = |text: &str, expect: Option<Cut>| {
            assert_eq!(query(text).cut(&domain()).ok(), expect, "{text}");
        };
        let cut = |channels, rows, columns, fixed: &[(usize, i64)]| {
            Some(Cut { channels, rows, columns, fixed: fixed.to_vec() })
        };
        check("", cut(None, Some(2), 3, &[(0, 5), (1, 0)]));
        check("dims=y,3&at=t:8", cut(None, Some(2), 3, &[(0, 8), (1, 0)]));
        check("dims=c,y,3", cut(Some(1), Some(2), 3, &[(0, 5)]));
        check("dims=t&at=3:-7", cut(None, None, 0, &[(1, 0), (2, 0), (3, -7)]));
        check("at=t:10", None);
        check("at=t", None);
        check("at=z:1", None);
        check("dims=y,y", None);
        check("dims=t,y,3", None);
        check("dims=q", None);
        check("dims=4", None);
        check("dims=", None);
    }

    #[test]
    fn settings_and_ranges_are_read() {
        let settings = query("set=b=2&set=a=1&set=b=3").settings().unwrap();
        assert_eq!(settings, [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "3".to_owned())]);
        assert!(query("set=b").settings().is_err());
        assert_eq!(query("range=-1.5..2e3").range().unwrap(), Some((-1.5, 2000.0)));
        assert_eq!(query("a=1").range().unwrap(), None);
        for text in ["range=1", "range=1..x", "range=inf..2", "range=..", "range=NaN..1"] {
            assert!(query(text).range().is_err(), "{text}");
        }
    }
}
