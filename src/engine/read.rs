//! Slices -> elements in memory.

use super::element::Elem;
use super::error::Result;
use super::{Engine, Prepared};
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::io::Array;
use crate::pages::prefer_large;
use crate::run::blank::{Memory, filled};
use crate::run::job::array_type;
use crate::run::stats::{Plan, Stats};
use ndarray::{ArrayD, IxDyn};

impl Engine {
    /// Reads a slice whose elements are `T`.
    ///
    /// ```
    /// use itp::Engine;
    ///
    /// let engine = Engine::compile("tensor even: bool[x: inf] = x % 2 == 0")?;
    /// assert_eq!(engine.read::<bool>("even[-1:2]")?.as_slice(), Some(&[false, true, false][..]));
    /// assert!(engine.read::<u8>("even[-1:2]").is_err());
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn read<T: Elem>(&self, slice: &str) -> Result<ArrayD<T>> {
        let prepared = self.prepare(slice)?;
        let room = prepared.room()?;
        let count = prepared.bytes().map_or(0, |bytes| bytes / prepared.element().bytes() as usize);
        prepared.fits::<T>(count)?;
        let elements = T::filled(room, count, |memory| prepared.run(memory))?;
        let shape: Vec<usize> = prepared.shape().iter().map(|len| *len as usize).collect();
        Ok(ArrayD::from_shape_vec(IxDyn(&shape), elements).expect("as many elements as the shape has"))
    }

    /// Reads a slice into a buffer of the caller, row-major, without a copy (`bool` and `F16` pass through one).
    ///
    /// ```
    /// use itp::Engine;
    ///
    /// let engine = Engine::compile("tensor a: u16[y: inf, x: inf] = y + x")?;
    /// let mut buffer = [0; 6];
    /// engine.read_into::<u16>("a[0:2, 5:8]", &mut buffer)?;
    /// assert_eq!(buffer, [5, 6, 7, 6, 7, 8]);
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn read_into<T: Elem>(&self, slice: &str, buffer: &mut [T]) -> Result<Stats> {
        self.prepare(slice)?.fill(buffer)
    }

    /// Reads a slice of any type as bytes.
    pub fn read_array(&self, slice: &str) -> Result<Array> {
        let prepared = self.prepare(slice)?;
        Ok(prepared.read_array()?.0)
    }

    /// What reading a slice takes; no element is computed, and no data is needed.
    pub fn plan(&self, slice: &str) -> Result<Plan> {
        Ok(self.sketch(slice)?.plan().clone())
    }
}

impl Prepared<'_> {
    /// Computes the elements as bytes.
    pub fn read_array(&self) -> Result<(Array, Stats)> {
        let room: Vec<u8> = self.room()?;
        let (data, stats) = filled(room, self.bytes().unwrap_or(0), |memory| self.run(memory))?;
        Ok((Array { element: self.element(), shape: self.shape(), data }, stats))
    }

    /// Computes the elements into a buffer that has room for exactly them.
    pub fn fill<T: Elem>(&self, buffer: &mut [T]) -> Result<Stats> {
        self.fits::<T>(buffer.len())?;
        let mut stats = Stats::default();
        T::fill_bytes(buffer, |bytes| {
            stats = self.run(&mut Memory::new(bytes))?;
            Ok(())
        })?;
        Ok(stats)
    }

    fn fits<T: Elem>(&self, len: usize) -> Result<()> {
        let (name, element) = (quoted(&self.view.name), self.element());
        if element != T::ELEMENT {
            let message = format!("{name} is {element}, but {} was asked for", T::ELEMENT);
            let help = format!("read it as {element}, and convert what comes back");
            return Err(self.engine.error(Diagnostic::new(Code::E1007, message).help(help)));
        }
        if Some(len) == self.bytes().map(|bytes| bytes / element.bytes() as usize) {
            return Ok(());
        }
        let array = array_type(element, &self.shape());
        let message = format!("{name} is {array}, but the buffer has room for {len} elements");
        Err(self.engine.error(Diagnostic::new(Code::E1007, message)))
    }

    /// Bytes of all elements, if memory could hold them.
    fn bytes(&self) -> Option<usize> {
        let lens = self.shape().into_iter();
        let bytes =
            lens.map(u64::try_from).try_fold(self.element().bytes(), |n, len| n.checked_mul(len.ok()?));
        usize::try_from(bytes?).ok().filter(|bytes| isize::try_from(*bytes).is_ok())
    }

    /// Room for all elements, of a type that has some of their bytes.
    fn room<T: Elem>(&self) -> Result<Vec<T>> {
        let mut room = Vec::new();
        let len = self.bytes().map(|bytes| bytes / size_of::<T>());
        if len.is_some_and(|len| room.try_reserve_exact(len).is_ok()) {
            prefer_large(&room);
            return Ok(room);
        }
        let array = array_type(self.element(), &self.shape());
        let message = format!("{} is {array}, which does not fit into memory", quoted(&self.view.name));
        Err(self.engine.error(Diagnostic::new(Code::E1007, message).help("read a smaller slice")))
    }
}
