//! Elements of the host -> variables of the script.

use super::Engine;
use super::element::{Elem, to_array};
use super::error::Result;
use crate::diagnostic::{self, Code, Diagnostic, quoted};
use crate::graph::view::View;
use crate::graph::{TensorKind, strided};
use crate::io::Array;
use crate::run::job::{Write, array_type};
use ndarray::{ArrayBase, Data, Dimension};
use std::sync::Arc;

impl Engine {
    /// Writes into a `var`, or through a view into one; everything that reads it sees it from here on.
    ///
    /// ```
    /// use itp::Engine;
    /// use ndarray::array;
    ///
    /// let mut engine = Engine::compile("var a: u8[x: inf] = 0  view back = a.flip([x])")?;
    /// engine.write("a[1:3]", &array![5u8, 6])?;
    /// engine.write("back[0:1]", &array![9u8])?;
    /// assert_eq!(engine.read::<u8>("a[0:4]")?.as_slice(), Some(&[9, 5, 6, 0][..]));
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn write<T: Elem, S: Data<Elem = T>, D: Dimension>(
        &mut self,
        slice: &str,
        array: &ArrayBase<S, D>,
    ) -> Result<()> {
        self.write_array(slice, to_array(array))
    }

    /// Writes elements given as bytes.
    pub fn write_array(&mut self, slice: &str, array: Array) -> Result<()> {
        let target = self.view(slice)?;
        self.writable(&target, &array).map_err(|diagnostic| self.error(diagnostic))?;
        // The same elements are written again, so the earlier values are never seen.
        self.world.writes.retain(|write| *write.target != *target);
        if let Some(kept) = &self.kept {
            kept.written(&target);
        }
        self.world.written += 1;
        self.world.writes.push(Write { target, data: Arc::new(array), number: self.world.written });
        Ok(())
    }

    fn writable(&self, target: &View, array: &Array) -> diagnostic::Result<()> {
        let base = self.program.graph.tensor(target.base);
        let name = quoted(&base.name);
        if !matches!(base.kind, TensorKind::Var(_)) {
            return Diagnostic::new(Code::E0805, format!("{name} cannot be written"))
                .at(base.span, "not a `var`")
                .err();
        }
        if let Err(why) = strided::writable(target, &base.domain) {
            let message = format!("{name} cannot be written through this view: {why}");
            return Diagnostic::new(Code::E0806, message)
                .help("write through a view in which every element stands once")
                .err();
        }
        let shape = target.domain().shape().unwrap_or_default();
        if (array.element, &array.shape) == (base.element, &shape) {
            return Ok(());
        }
        let (given, wanted) = (array_type(array.element, &array.shape), array_type(base.element, &shape));
        let message = format!("{given} cannot be written to {}, which is {wanted}", quoted(&target.name));
        Diagnostic::new(Code::E1008, message).help(format!("write exactly {wanted}")).err()
    }
}
