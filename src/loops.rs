//! Bodies -> kernels: loops over straight-line code, which the back ends run.
//!
//! [`ir`] says what a kernel is, [`verify`] which kernels are sound, [`print`] and [`parse`] what they look like, and
//! [`execute`] what they mean, [`work`] how often their loops run. [`lower`] makes them from the body of a tensor, with [`builder`], and [`passes`]
//! make them better.

pub mod ir;
pub mod print;
pub mod parse;
pub mod vary;
pub mod woven;
pub mod work;
pub mod verify;
pub mod execute;
pub mod builder;
pub mod passes;
pub mod lower;
