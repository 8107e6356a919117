//! Slices -> the tree of levels they are stored as.

use super::Engine;
use super::error::Result;
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::formats::{Convention, Entries, fill_bytes, freeze, tree};
use crate::graph::scalar::Scalar;
use crate::graph::view::View;
use crate::graph::{Format, Level};
use crate::io::Array;

impl Engine {
    /// The levels of a slice as text, in the format of its tensor; a slice that drops dimensions is dense.
    ///
    /// ```
    /// use itp::Engine;
    ///
    /// let engine = Engine::compile("tensor a: i32[x: 9] format sparse_list(element(0)) = if x % 4 == 1 then x else 0")?;
    /// assert_eq!(engine.tree("a[0:9]")?, "9-Tensor\n└─ SparseList (0) [0:9]\n   ├─ [1]: 1\n   └─ [5]: 5\n");
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn tree(&self, slice: &str) -> Result<String> {
        let prepared = self.prepare(slice)?;
        let (array, _) = prepared.read_array()?;
        self.tree_of(prepared.view(), &array)
    }

    /// The levels of elements that were read, in the format of the tensor.
    pub fn tree_of(&self, view: &View, array: &Array) -> Result<String> {
        let too_large = || {
            let message = format!("{} has more positions than a format can number", quoted(&view.name));
            self.error(Diagnostic::new(Code::E1007, message).help("read a smaller part"))
        };
        let format = self.format_of(view);
        let shape: Option<Vec<u32>> = array.shape.iter().map(|size| u32::try_from(*size).ok()).collect();
        let fill = fill_bytes(&format, array.element);
        let entries = Entries::of_dense(&shape.ok_or_else(too_large)?, &fill, &array.data);
        let frozen = freeze(&entries, &format, array.element).map_err(|_| too_large())?;
        let origin = view.domain().dims().iter().map(|dim| dim.interval.first()).collect();
        Ok(tree(&frozen, &Convention::Coordinates(origin)))
    }

    fn format_of(&self, view: &View) -> Format {
        let tensor = self.program.graph.tensor(view.base);
        let format = tensor.format.clone().filter(|_| tensor.domain.rank() == view.rank());
        let fill = Scalar::i64(0).cast(view.element.computed());
        format.unwrap_or_else(|| Format { levels: vec![Level::Dense; view.rank()], fill, pattern: false })
    }
}
