//! Functions of the host program -> bodies of `extern` tensors.

use super::Engine;
use super::data::calls;
use super::element::{Elem, from_array, to_array};
use crate::io::Array;
use crate::run::job::{HostCall, HostFn, array_type};
use ndarray::{Array as NdArray, ArrayD, Dimension};
use std::sync::Arc;

impl Engine {
    /// Registers a function for `extern "name"(…)`: it makes one window from the slices that the script takes.
    ///
    /// ```
    /// use itp::Engine;
    ///
    /// let script = r#"
    ///     tensor a: f32[x: inf] = x
    ///     tensor b: f32[x: inf] window [4] take s = a window [4] = extern "reverse"(s)
    /// "#;
    /// let mut engine = Engine::compile(script)?;
    /// engine.register("reverse", |call| {
    ///     let mut window = call.take::<f32>(0)?;
    ///     window.invert_axis(ndarray::Axis(0));
    ///     Ok(window)
    /// });
    /// assert_eq!(engine.read::<f32>("b[2:6]")?.as_slice(), Some(&[1.0, 0.0, 7.0, 6.0][..]));
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    ///
    /// The result must have exactly the window's size and the tensor's type. The function may be called from any
    /// thread, in any order, and more than once for a window.
    pub fn register<T: Elem, D: Dimension>(
        &mut self,
        name: &str,
        function: impl Fn(&HostCall<'_>) -> Result<NdArray<T, D>, String> + Send + Sync + 'static,
    ) {
        self.register_untyped(name, Arc::new(Typed { function }));
    }

    /// Registers a function over bytes.
    pub fn register_untyped(&mut self, name: &str, function: Arc<dyn HostFn>) {
        self.world.hosts.insert(name.into(), function);
        self.changed(|graph, base| calls(graph, base, name));
    }
}

impl HostCall<'_> {
    /// The slice that is argument number `at`, from 0, when its elements are `T`.
    pub fn take<T: Elem>(&self, at: usize) -> Result<ArrayD<T>, String> {
        let count = self.takes.len();
        let take = self.takes.get(at).ok_or_else(|| {
            format!("argument {at} was asked for, counted from 0, but the script gives {count}")
        })?;
        let shown = || array_type(take.element, &take.shape);
        from_array(take).map_err(|_| format!("argument {at} is {}, not {}", shown(), T::ELEMENT))
    }
}

/// A closure over ndarrays.
struct Typed<F> {
    function: F,
}

impl<T, D, F> HostFn for Typed<F>
where
    T: Elem,
    D: Dimension,
    F: Fn(&HostCall<'_>) -> Result<NdArray<T, D>, String> + Send + Sync,
{
    fn call(&self, call: &HostCall<'_>) -> Result<Array, String> {
        (self.function)(call).map(|window| to_array(&window))
    }
}
