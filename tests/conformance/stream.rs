//! The cases of stream_tiles.json and stream_append.json: lifetimes of tiles, counted element by element.

use crate::{Outcome, same};
use itp::stream::{Complete, Scatter, Tiling};
use serde_json::{Value, json};

type Check = Result<(), String>;

fn ints(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
}

pub(crate) fn check_tiles(case: &Value) -> Outcome {
    let (shape, tile) = (ints(&case["shape"]), ints(&case["tile"]));
    let tiling = Tiling::new(Some(shape[0]), &shape[1..], &tile).unwrap();
    let expected = &case["expected"];
    check_numbers(&tiling, case)
        .and_then(|()| check_lifetimes(&tiling, expected))
        .and_then(|()| check_profile(&tiling, expected))
        .and_then(|()| check_scattered(&tiling, expected))
        .into()
}

fn check_numbers(tiling: &Tiling, case: &Value) -> Check {
    let (axes, expected) = (0..tiling.rank(), &case["expected"]);
    let counts: Vec<u64> = axes.clone().map(|axis| tiling.count(axis)).collect();
    let strides: Vec<u64> = axes.map(|axis| tiling.stride(axis)).collect();
    same("tile_counts", &json!(counts), &case["tile_counts"])?;
    same("element_strides", &json!(strides), &case["element_strides"])?;
    same("num_elements", &json!(tiling.elements()), &case["num_elements"])?;
    same("ring_slots_needed", &json!(tiling.peak()), &expected["ring_slots_needed"])?;
    same("peak_live", &json!(tiling.peak()), &expected["peak_live"])?;
    same("epoch_tiles_M", &json!(tiling.epoch_tiles()), &expected["epoch_tiles_M"])?;
    let epochs: Vec<[u64; 2]> = (0..tiling.count(0))
        .map(|epoch| tiling.epoch(epoch))
        .map(|range| [range.start, range.end - 1])
        .collect();
    same("epochs", &json!(epochs), &expected["epochs"])
}

fn check_lifetimes(tiling: &Tiling, expected: &Value) -> Check {
    let mut longest = 0;
    for tile in expected["tiles"].as_array().unwrap() {
        let number = ints(&tile["tile"]);
        let rank = tiling.rank_of(&number);
        same("first", &json!(tiling.first(&number)), &tile["first"])?;
        same("last", &json!(tiling.last(&number)), &tile["last"])?;
        same("count", &json!(tiling.elements_of(&number)), &tile["count"])?;
        same("rank", &json!(rank), &tile["rank"])?;
        same("slot", &json!(tiling.slot(rank)), &tile["slot_P"])?;
        same("tile_at", &tiling.tile_at(rank), &number)?;
        longest = longest.max(tiling.last(&number) - tiling.first(&number));
    }
    same("max_span_C", &json!(longest), &expected["max_span_C"])
}

/// Element by element: how many tiles live while each is taken, and the order in which they begin and end.
fn check_profile(tiling: &Tiling, expected: &Value) -> Check {
    let mut scatter = Scatter::new(tiling.clone(), 1).unwrap();
    let (mut runs, mut retired, mut begun) = (Vec::<[u64; 3]>::new(), Vec::new(), Vec::new());
    let mut peaks = vec![0; tiling.count(0) as usize];
    for position in 0..tiling.elements().unwrap() {
        let before = scatter.live();
        let mut take = |tile: Complete| {
            retired.push(tile.number.clone());
            Ok::<_, ()>(tile.data)
        };
        scatter.append(&[0], &mut take).unwrap();
        let begins = before.end..scatter.live().end;
        let live = before.end - before.start + begins.clone().count() as u64;
        begun.extend(begins.map(|rank| tiling.tile_at(rank)));
        match runs.last_mut() {
            Some([_, end, count]) if *count == live => *end = position,
            _ => runs.push([position, position, live]),
        }
        let epoch = (position / tiling.frame_elements() / tiling.tile()[0]) as usize;
        peaks[epoch] = live.max(peaks[epoch]);
    }
    same("live_profile_rle", &json!(runs), &expected["live_profile_rle"])?;
    same("peak_by_epoch", &json!(peaks), &expected["peak_by_epoch"])?;
    same("retirement_order", &json!(retired), &expected["retirement_order"])?;
    same("activation_order", &json!(begun), &expected["activation_order"])
}

/// The whole array in one append; each element says where in the stream it was.
fn check_scattered(tiling: &Tiling, expected: &Value) -> Check {
    let Some(tiles) = expected.get("scatter_tiles_pad_minus1") else { return Ok(()) };
    let total = tiling.elements().unwrap() as i32;
    let bytes: Vec<u8> = (0..total).flat_map(|position| (position + 1).to_le_bytes()).collect();
    let mut found = Vec::new();
    let mut take = |tile: Complete| {
        let elements = tile.data.chunks_exact(4).map(|four| i32::from_le_bytes(four.try_into().unwrap()) - 1);
        found.push(elements.collect::<Vec<i32>>());
        Ok::<_, ()>(tile.data)
    };
    let mut scatter = Scatter::new(tiling.clone(), 4).unwrap();
    scatter.append(&bytes, &mut take).unwrap();
    scatter.close(&mut take).unwrap();
    same("scattered", &json!(found), tiles)
}

pub(crate) fn check_append(case: &Value) -> Outcome {
    append(case).into()
}

fn append(case: &Value) -> Check {
    let tiling = Tiling::new(None, &ints(&case["inner_shape"]), &ints(&case["tile"])).unwrap();
    same("frame_elements", &json!(tiling.frame_elements()), &case["frame_elements"])?;
    same("ring_slots_needed", &json!(tiling.peak()), &case["ring_slots_needed"])?;
    same("epoch_tiles_M", &json!(tiling.epoch_tiles()), &case["epoch_tiles_M"])?;
    same("epoch_elements", &json!(tiling.epoch(0).end), &case["epoch_elements"])?;
    let mut scatter = Scatter::new(tiling.clone(), 1).unwrap();
    let mut peak = 0;
    for event in case["events"].as_array().unwrap() {
        let (before, mut retired) = (scatter.live(), Vec::new());
        let mut take = |tile: Complete| {
            retired.push(tile.number.clone());
            Ok::<_, ()>(tile.data)
        };
        for _ in 0..event["append"].as_u64().unwrap() {
            let known = scatter.live();
            scatter.append(&[0], &mut take).unwrap();
            peak = peak.max(scatter.live().end - known.start);
        }
        let live = scatter.live();
        let begun: Vec<Vec<u64>> = (before.end..live.end).map(|rank| tiling.tile_at(rank)).collect();
        same("cursor", &json!(scatter.cursor()), &event["cursor"])?;
        same("activated", &json!(begun), &event["activated"])?;
        same("retired", &json!(retired), &event["retired"])?;
        same("live_after", &json!(live.end - live.start), &event["live_after"])?;
    }
    same("peak_live_seen", &json!(peak), &case["peak_live_seen"])?;
    close(&tiling, scatter, &case["close"])?;
    at_once(&tiling, case)
}

fn close(tiling: &Tiling, scatter: Scatter, expected: &Value) -> Check {
    let mut partial = Vec::new();
    let mut take = |tile: Complete| {
        let full = tiling.elements_of(&tile.number);
        partial.push(json!({"tile": tile.number, "elements_received": tile.received, "full_size": full}));
        Ok::<_, ()>(tile.data)
    };
    let closed = scatter.close(&mut take).unwrap();
    same("whole_frames", &json!(closed.frames), &expected["whole_frames"])?;
    same("leftover_elements", &json!(closed.leftover), &expected["leftover_elements"])?;
    same("partial_tiles", &json!(partial), &expected["partial_tiles"])
}

/// The same elements in the appends of the case: what retires does not depend on how they come.
fn at_once(tiling: &Tiling, case: &Value) -> Check {
    let mut scatter = Scatter::new(tiling.clone(), 1).unwrap();
    for event in case["events"].as_array().unwrap() {
        let mut retired = Vec::new();
        let mut take = |tile: Complete| {
            retired.push(tile.number.clone());
            Ok::<_, ()>(tile.data)
        };
        scatter.append(&vec![0; event["append"].as_u64().unwrap() as usize], &mut take).unwrap();
        same("retired at once", &json!(retired), &event["retired"])?;
    }
    close(tiling, scatter, &case["close"])
}
