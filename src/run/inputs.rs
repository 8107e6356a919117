//! The data of inputs: all of it in memory, or the boxes that a piece of work needs, when it needs them.
//!
//! ```text
//! input a: u8[480, 640] from "a.png"                    in memory before the run
//! input b: u16[t: 100000, y: 1024, x: 1024] from "b.zarr"   rows 0..34 for the first slab, then 34..68, …
//! ```

use super::data::{Data, Measure};
use super::job::World;
use crate::access::footprint::Region;
use crate::diagnostic::Result;
use crate::formats::Frozen;
use crate::graph::body::TensorId;
use crate::graph::digest::Digest;
use crate::graph::{FileKind, InputSource, TensorKind};
use crate::index::Interval;
use crate::plan::grid::volume;
use crate::plan::readers::Division;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the elements of an input are.
#[derive(Clone)]
pub enum InputData {
    /// In memory, dense or in a format; the first element is the domain's lowest corner.
    Whole(Data),
    /// Elsewhere.
    OnDemand(Arc<dyn BoxSource>),
}

/// Elements that are brought to memory box by box.
pub trait BoxSource: Send + Sync {
    /// The elements of a box of the input's domain, row-major.
    fn read_box(&self, region: &[Interval]) -> Result<Vec<u8>>;

    /// Bytes that say which data it is, to this process and others; none where it cannot be read twice.
    fn identity(&self) -> Option<Vec<u8>>;

    /// Bytes that it takes beside the box while it reads.
    fn beside(&self, region: &[Interval]) -> u64;
}

impl InputData {
    /// All of it, if it is in memory.
    pub fn whole(&self) -> Option<&Data> {
        match self {
            InputData::Whole(data) => Some(data),
            InputData::OnDemand(_) => None,
        }
    }

    /// What all its elements are like, if that is known before they are read.
    pub fn measure(&self) -> Option<Measure> {
        self.whole().map(Data::measure)
    }

    /// What the elements are like that it stores.
    pub fn stored(&self) -> Option<Measure> {
        self.whole().map(Data::stored)
    }

    /// What it is frozen into.
    pub fn as_frozen(&self) -> Option<&Frozen> {
        self.whole().and_then(Data::as_frozen)
    }

    /// The elements in 128 bits, or what stands for them.
    pub fn digest(&self) -> u128 {
        match self {
            InputData::Whole(data) => data.digest(),
            InputData::OnDemand(source) => {
                Digest::of("boxes").bytes(&source.identity().unwrap_or_default()).bits()
            }
        }
    }

    /// Whether another process could have the same.
    pub fn is_lasting(&self) -> bool {
        match self {
            InputData::Whole(_) => true,
            InputData::OnDemand(source) => source.identity().is_some(),
        }
    }
}

/// The inputs that a division reads, with their boxes.
fn read_by(division: &Division) -> impl Iterator<Item = (TensorId, &Region, &InputSource)> {
    division.boxes.iter().filter_map(|(id, region)| match &division.stages.tensor(*id).kind {
        TensorKind::Input(source) if !division.stages.hosts.contains_key(id) => Some((*id, region, source)),
        TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) | TensorKind::Windowed(_) => {
            None
        }
    })
}

/// What an input that comes box by box takes beside its boxes; none for one that is in memory. Where no data is bound,
/// because nothing will run, the declaration decides.
fn on_demand(world: &World, id: TensorId, source: &InputSource, region: &Region) -> Option<u64> {
    match (world.inputs.get(&id), source) {
        (Some(InputData::OnDemand(source)), _) => Some(source.beside(region)),
        (Some(InputData::Whole(_)), _) => None,
        (None, InputSource::Stream) => Some(0),
        (None, InputSource::File(path)) => (FileKind::of(path) == Some(FileKind::Zarr)).then_some(0),
        (None, InputSource::Host) => None,
    }
}

/// The inputs of a division that are in memory before the run.
pub fn resident(world: &World, division: &Division) -> impl Iterator<Item = TensorId> {
    read_by(division)
        .filter(|(id, region, source)| on_demand(world, *id, source, region).is_none())
        .map(|(id, ..)| id)
}

/// Bytes of the boxes that are brought to memory for a division.
pub fn loaded_bytes(world: &World, division: &Division) -> u64 {
    let boxes = read_by(division).filter_map(|(id, region, source)| {
        let beside = on_demand(world, id, source, region)?;
        let bytes = volume(region).saturating_mul(division.stages.tensor(id).element.bytes().into());
        Some(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(beside))
    });
    boxes.fold(0, u64::saturating_add)
}

/// Boxes of inputs that were brought to memory.
pub type Loaded = BTreeMap<TensorId, (Region, Vec<u8>)>;

/// Brings the boxes to memory that a division needs.
pub fn load(world: &World, division: &Division) -> Result<Loaded> {
    let mut loaded = Loaded::new();
    for (id, region, _) in read_by(division) {
        if let Some(InputData::OnDemand(source)) = world.inputs.get(&id) {
            loaded.insert(id, (region.clone(), source.read_box(region)?));
        }
    }
    Ok(loaded)
}
