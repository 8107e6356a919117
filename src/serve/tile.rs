//! A tile of a layer -> its elements: every 2^k-th along two dimensions, as far as the layer goes.
//!
//! ```text
//! height at -3/5/-2, 256 wide                height[-4096:-2048:8, 10240:12288:8]
//! … and its neighbour to the right           height[-4096:-2048:8, 10240:14336:8]
//! ```
//!
//! Sample number i is the element at i · step, so the tiles of a level share their elements with nobody and with no
//! other level, and what is kept of them is found again.

use super::answer::{Refusal, room_for, wrong};
use super::query::Cut;
use crate::engine::{Cancel, Engine};
use crate::graph::types::Element;
use crate::graph::view::View;
use crate::index::domain::DimRef;
use crate::index::ops::Slice;
use crate::index::{INF, Interval, Result as Indexed, Transform};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Pixels of a tile each way, unless a request says otherwise.
pub(super) const SIDE: i64 = 256;
/// The sides that a request may ask for.
const SIDES: [i64; 6] = [16, 32, 64, 128, 256, 512];
/// Levels run from one element in 2^60 to one element on a whole tile.
const LEVELS: std::ops::RangeInclusive<i32> = -60..=8;
/// Pixels of all tiles that are read at once, each way at the most.
const MOST: i64 = 4096;

/// Samples of a plane: numbers of the first and how many, per direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Rows, then columns.
    pub(super) first: [i128; 2],
    pub(super) count: [i128; 2],
    /// Elements from one sample to the next.
    pub(super) step: i64,
    /// Pixels that a sample is wide.
    pub(super) zoom: i64,
}

impl Window {
    /// The window of a tile of that many pixels each way, with neighbours below it and to its right.
    pub(super) fn of_tiles(
        level: i32,
        [row, column]: [i64; 2],
        side: i64,
        tiles: [i64; 2],
    ) -> Result<Window, Refusal> {
        if !LEVELS.contains(&level) {
            return Err(wrong(format!(
                "there is no level {level}, only {} to {}",
                LEVELS.start(),
                LEVELS.end()
            )));
        }
        let (step, zoom) = (1 << (-level).max(0), 1 << level.max(0));
        if !SIDES.contains(&side) || side < zoom {
            let sides: Vec<String> =
                SIDES.iter().filter(|side| **side >= zoom).map(ToString::to_string).collect();
            return Err(wrong(format!(
                "a tile of level {level} cannot be {side} pixels wide, only {}",
                sides.join(", ")
            )));
        }
        if let Some(count) = tiles.into_iter().find(|count| !(1..=MOST / side).contains(count)) {
            let most = MOST / side;
            return Err(wrong(format!(
                "{count} tiles of {side} pixels cannot be read at once, only 1 to {most}"
            )));
        }
        let side = i128::from(side / zoom);
        let first = [row, column].map(|number| i128::from(number) * side);
        let count = tiles.map(|count| i128::from(count) * side);
        Ok(Window { first, count, step, zoom })
    }
}

/// Elements of a window that exist.
pub(super) struct Patch {
    pub(super) element: Element,
    /// 3 or 4 of a coloured layer, else 1.
    pub(super) channels: usize,
    /// Numbers of the first sample.
    pub(super) first: [i64; 2],
    /// Rows and columns.
    pub(super) size: [usize; 2],
    /// Channel by channel, row by row.
    pub(super) data: Vec<u8>,
    /// Their place among the answers on their way.
    pub(super) permit: OwnedSemaphorePermit,
}

/// Reads what a layer has in a window.
pub(super) fn read(
    engine: &Engine,
    view: &View,
    cut: &Cut,
    window: &Window,
    room: &Arc<Semaphore>,
    cancel: &Cancel,
) -> Result<Patch, Refusal> {
    let [rows, columns] = shown(view, cut, window);
    let channels = if cut.channels.is_some() { channels(view, cut) } else { 1 };
    let size = [rows.1 as usize, columns.1 as usize];
    let bytes = size[0] * size[1] * channels * view.element.bytes() as usize;
    let permit = room_for(room, bytes)?;
    let patch =
        Patch { element: view.element, channels, first: [rows.0, columns.0], size, data: Vec::new(), permit };
    if bytes == 0 {
        return Ok(patch);
    }
    let part = part(view, cut, [rows, columns], window.step)?;
    let prepared = engine.prepare_view(part)?.stopped_by(cancel);
    let (array, _) = prepared.read_array()?;
    Ok(Patch { data: arranged(&array.data, cut, size, channels, view.element.bytes() as usize), ..patch })
}

/// Elements that have to be computed per element of a window; none where there are none, or too many for a request.
pub(super) fn needs(engine: &Engine, view: &View, cut: &Cut, window: &Window) -> Option<f64> {
    let [rows, columns] = shown(view, cut, window);
    let size = rows.1 as f64 * columns.1 as f64;
    let part = part(view, cut, [rows, columns], window.step).ok().filter(|_| size > 0.0)?;
    Some(engine.prepare_view(part).ok()?.plan().elements as f64 / size)
}

/// First row and number of rows, first column and number of columns that a layer has in a window.
fn shown(view: &View, cut: &Cut, window: &Window) -> [(i64, i64); 2] {
    // A layer with one dimension is a row, number 0.
    let row = Interval::trusted(0, 0);
    let interval = |dim: Option<usize>| dim.map_or(row, |dim| view.domain().dims()[dim].interval);
    [samples(interval(cut.rows), window, 0), samples(interval(Some(cut.columns)), window, 1)]
}

fn part(view: &View, cut: &Cut, ranges: [(i64, i64); 2], step: i64) -> Result<Arc<View>, Refusal> {
    view.mapped(|map| narrowed(map, cut, ranges, step)).map(Arc::new).map_err(wrong)
}

fn channels(view: &View, cut: &Cut) -> usize {
    let len = cut.channels.and_then(|dim| view.domain().dims()[dim].interval.len());
    len.and_then(|len| usize::try_from(len).ok()).unwrap_or(1)
}

/// First sample and number of samples of a window that lie in an interval.
fn samples(interval: Interval, window: &Window, way: usize) -> (i64, i64) {
    // The last coordinate of all cannot end a slice.
    let (lowest, highest) = (i128::from(1 - INF), i128::from(INF - 3));
    let step = i128::from(window.step);
    let lower = interval.lower().map_or(lowest, |lower| i128::from(lower).max(lowest));
    let last = interval.upper().map_or(highest, |upper| i128::from(upper - 1).min(highest));
    let first = window.first[way].max(-(-lower).div_euclid(step));
    let end = (window.first[way] + window.count[way]).min(last.div_euclid(step) + 1);
    if first >= end || interval.is_empty() {
        return (0, 0);
    }
    (first as i64, (end - first) as i64)
}

/// The map of a layer, cut down to some samples.
fn narrowed(map: &Transform, cut: &Cut, ranges: [(i64, i64); 2], step: i64) -> Indexed<Transform> {
    let dim = |dim: usize| DimRef::Position(dim as i64);
    let shown = [cut.rows, Some(cut.columns)].into_iter().zip(ranges);
    let shown: Vec<_> = shown.filter_map(|(dim, range)| Some((dim?, range))).collect();
    let slices = shown.iter().map(|(_, (first, count))| Slice {
        start: Some(first * step),
        stop: Some((first + count - 1) * step + 1),
        step: Some(step),
    });
    let names: Vec<DimRef> = shown.iter().map(|(at, _)| dim(*at)).collect();
    let map = map.slice(&names, &slices.collect::<Vec<_>>())?;
    let names: Vec<DimRef> = cut.fixed.iter().map(|(at, _)| dim(*at)).collect();
    map.index(&names, &cut.fixed.iter().map(|(_, number)| *number).collect::<Vec<_>>())
}

/// Elements in the order of the layer's dimensions -> channel by channel, row by row.
fn arranged(data: &[u8], cut: &Cut, size: [usize; 2], channels: usize, element: usize) -> Vec<u8> {
    let wanted = [cut.channels, cut.rows, Some(cut.columns)];
    let lens = [channels, size[0], size[1]];
    let mut present: Vec<usize> = (0..3).filter(|at| wanted[*at].is_some()).collect();
    if present.is_sorted_by_key(|at| wanted[*at]) {
        return data.to_vec();
    }
    present.sort_by_key(|at| wanted[*at]);
    let mut strides = [0; 3];
    let mut stride = element;
    for at in present.into_iter().rev() {
        strides[at] = stride;
        stride *= lens[at];
    }
    let mut out = Vec::with_capacity(data.len());
    for channel in 0..lens[0] {
        for row in 0..lens[1] {
            for column in 0..lens[2] {
                let at = channel * strides[0] + row * strides[1] + column * strides[2];
                out.extend_from_slice(&data[at..at + element]);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_windows_of_samples() {
        let check = |level, row, column, expect: Option<Window>| {
            assert_eq!(Window::of_tiles(level, [row, column], SIDE, [1; 2]).ok(), expect);
        };
        check(0, -1, 2, Some(Window { first: [-256, 512], count: [256; 2], step: 1, zoom: 1 }));
        check(-3, 0, 1, Some(Window { first: [0, 256], count: [256; 2], step: 8, zoom: 1 }));
        check(8, 5, -7, Some(Window { first: [5, -7], count: [1; 2], step: 1, zoom: 256 }));
        check(9, 0, 0, None);
        check(-61, 0, 0, None);
        assert!(Window::of_tiles(-60, [i64::MAX, i64::MIN], SIDE, [1; 2]).is_ok());
        let small = Window { first: [-64, 128], count: [64; 2], step: 16, zoom: 1 };
        let of_tiles = |level, at, side, tiles| Window::of_tiles(level, at, side, tiles).ok();
        assert_eq!(of_tiles(-4, [-1, 2], 64, [1; 2]), Some(small));
        assert_eq!(of_tiles(-4, [-1, 2], 64, [1, 3]), Some(Window { count: [64, 192], ..small }));
        assert_eq!(of_tiles(8, [0; 2], 64, [1; 2]).or(of_tiles(0, [0; 2], 100, [1; 2])), None);
        assert_eq!(of_tiles(0, [0; 2], 64, [0, 1]).or(of_tiles(0, [0; 2], 64, [1, 65])), None);
    }

    #[test]
    fn samples_stay_inside() {
        let check = |interval: Interval, first: i128, step: i64, expect: (i64, i64)| {
            let window = Window { first: [first; 2], count: [256; 2], step, zoom: 1 };
            assert_eq!(samples(interval, &window, 0), expect, "{interval} {first} {step}");
        };
        let interval = |lo, hi| Interval::new(lo, hi).unwrap();
        check(Interval::all(), -256, 1, (-256, 256));
        check(interval(-5, 300), -256, 1, (-5, 5));
        check(interval(-5, 300), 256, 1, (256, 44));
        check(interval(-5, 300), 512, 1, (0, 0));
        check(interval(-5, 300), 0, 8, (0, 38));
        check(interval(-5, 300), -256, 8, (0, 0));
        check(interval(-16, 300), -256, 8, (-2, 2));
        check(interval(3, 3), 0, 1, (0, 0));
        let far = 1i128 << 100;
        check(Interval::all(), far, 1 << 60, (0, 0));
        check(Interval::all(), -2, 1 << 60, (-2, 6));
        check(Interval::all(), -9, 1 << 60, (-3, 7));
    }

    #[test]
    fn elements_come_in_the_order_that_was_asked_for() {
        let cut = |channels, rows, columns| Cut { channels, rows, columns, fixed: Vec::new() };
        let check = |cut: Cut, size, channels, data: &[u8], expect: &[u8]| {
            assert_eq!(arranged(data, &cut, size, channels, 1), expect);
        };
        check(cut(None, Some(0), 1), [2, 3], 1, &[0, 1, 2, 3, 4, 5], &[0, 1, 2, 3, 4, 5]);
        check(cut(None, Some(1), 0), [3, 2], 1, &[0, 1, 2, 3, 4, 5], &[0, 3, 1, 4, 2, 5]);
        check(cut(None, None, 0), [1, 2], 1, &[8, 9], &[8, 9]);
        check(cut(Some(2), Some(0), 1), [1, 2], 3, &[1, 2, 3, 4, 5, 6], &[1, 4, 2, 5, 3, 6]);
    }
}
