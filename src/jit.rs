//! The Cranelift engine: kernels in, machine code out.
//!
//! ```text
//! compile([k0, k1]) -> Module;  module.call(1, args, buffers) runs the code of k1
//! ```
//!
//! A kernel becomes `extern "C" fn(args: *const i64, buffers: *const *mut u8)`. Its results are those of
//! [`execute`](crate::loops::execute), bit for bit. Nothing in it traps and nothing in it is called: no library
//! functions, no symbols. This is the only place that names Cranelift, and the only one with `unsafe`.
//!
//! From the inside out: [`code`] is instructions on scalars and registers alike; [`ints`], [`divide`], [`floats`] and
//! [`half`] the arithmetic in them; [`lanes`] how a value of the loop IR lies in registers; [`arithmetic`], [`casts`],
//! [`wide`] and [`memory`] what its operations make of that; [`emit`] and [`control`] the statements and loops around it;
//! [`size`] how long that will be.
#![allow(unsafe_code)]

mod arithmetic;
mod asks;
mod casts;
mod code;
mod control;
mod divide;
mod emit;
mod floats;
mod half;
mod ints;
mod lanes;
mod memory;
mod nest;
mod remainder;
mod rows;
mod size;
mod target;
mod wide;

use crate::graph::scalar::Scalar;
use crate::loops::execute::write_element;
use crate::loops::ir::Kernel;
use crate::loops::verify::verify;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    AbiParam, ExternalName, FuncRef, Function, GlobalValue, GlobalValueData, Signature, UserExternalName,
    UserFuncName,
};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::{Context, FinalizedRelocTarget};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{DataDescription, DataId, FuncId, Module as _, ModuleReloc};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use target::Effort;

/// What to check while compiling.
#[derive(Clone, Debug)]
pub struct JitOptions {
    /// Check the CLIF of every kernel; costs about a third of the time.
    pub verifier: bool,
    /// Check the work of the register allocator; for tests.
    pub regalloc_checker: bool,
    /// The widest vectors that rows may use.
    pub vectors: Vectors,
    /// Whether [`Module::clif`], [`Module::asm`] and [`Module::machine_code`] will be asked for; they are empty otherwise.
    pub shows: bool,
}

/// How wide vectors are, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vectors {
    /// What every processor has that Cranelift makes code for.
    V128,
    /// Half of the registers of AVX-512.
    V256,
    /// The whole of them.
    V512,
}

impl Vectors {
    /// The widest that this processor has.
    pub fn best() -> Vectors {
        if rows::available() { Vectors::V512 } else { Vectors::V128 }
    }

    /// The widest that this processor has with at most so many bits, 128 in any case.
    pub fn at_most(bits: u32) -> Vectors {
        let all = [Vectors::V512, Vectors::V256];
        all.into_iter()
            .find(|vectors| vectors.bits() <= bits && *vectors <= Vectors::best())
            .unwrap_or(Vectors::V128)
    }

    /// Their bits.
    pub fn bits(self) -> u32 {
        match self {
            Vectors::V128 => 128,
            Vectors::V256 => 256,
            Vectors::V512 => 512,
        }
    }
}

impl Default for JitOptions {
    fn default() -> Self {
        JitOptions {
            verifier: cfg!(debug_assertions),
            regalloc_checker: false,
            vectors: Vectors::best(),
            shows: true,
        }
    }
}

/// The machine code of the kernels of one program; dropping it frees the code.
pub struct Module {
    kernels: Vec<Compiled>,
    targets: Targets,
    vectors: Vectors,
    /// Keeps the code that `kernels` point to.
    _memory: CodeMemory,
}

type Entry = unsafe extern "C" fn(*const i64, *const *mut u8, *mut Stop);

/// How long loops are told to end early, and how they tell that they did.
#[repr(C)]
struct Stop {
    /// Ends them when it is not 0.
    flag: *const u8,
    /// Not 0 once one has ended early: what the kernel wrote then means nothing.
    stopped: u64,
    /// Not 0 if what is written is to go past the cache.
    past: u64,
    /// Not 0 if lists are to be asked for before they are gone along.
    ahead: u64,
}

/// Which way what a kernel writes goes to memory. The bits are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Through the caches: somebody reads it soon.
    Cached,
    /// Past them, where the kernel can.
    Past,
}

/// Where the lists lie that a kernel goes along. The bits are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// In the caches, or there are none.
    Near,
    /// Beyond them: their lines are asked for some hundred entries ahead.
    Far,
}

struct Compiled {
    entry: Entry,
    args: usize,
    buffers: usize,
    /// Whether it has rows in wide vectors.
    wide: bool,
    shown: Option<Shown>,
}

/// What is kept of a kernel to show its code.
struct Shown {
    function: Function,
    /// The code of its rows that have wide vectors.
    rows: Vec<Vec<u8>>,
    clif: OnceLock<String>,
}

/// Frees what Cranelift has allocated, which its own `Drop` does not.
struct CodeMemory(Option<JITModule>);

impl Drop for CodeMemory {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: the entries are kept beside this memory and called only through `Module::call`, which borrows
            // both; so no code of the module runs now or later.
            unsafe { module.free_memory() }
        }
    }
}

// SAFETY: after `compile`, the Cranelift module inside is not touched until it is dropped, and that takes the only
// owner; the code itself is immutable, and each call works on the memory that its caller hands in.
unsafe impl Send for Module {}
// SAFETY: as above; nothing behind `&Module` changes, but for a `OnceLock`.
unsafe impl Sync for Module {}

/// Orders what was written past the caches before whoever is told that it is there.
pub fn in_order() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every such processor has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Whether what is stored past the caches leaves loads alone that nearer caches answer.
///
/// Where both wait in the same few buffers, as on Intel's processors, kernels that read rings are slower with such stores
/// (Ice Lake: w2 and w5 of benches/peers); where stores have buffers of their own they are not (Zen 4: w4 took
/// 12 % less with them, w2 the same).
pub fn stores_apart() -> bool {
    target::is_amd()
}

/// Instructions of a kernel's CLIF beyond which it is compiled in a time that grows with them, and no faster: 15,000 of them
/// take 0.1 s otherwise, five times as many 2 s. What rows do in wide vectors is not among them.
const LONG: usize = 20_000;

/// This machine, for kernels of either length.
struct Targets {
    whole: OwnedTargetIsa,
    linear: OwnedTargetIsa,
}

impl Targets {
    fn new(options: &JitOptions) -> Result<Targets, String> {
        let [whole, linear] = [Effort::Whole, Effort::Linear].map(|effort| target::isa(options, effort));
        Ok(Targets { whole: whole?, linear: linear? })
    }

    /// The one that a kernel is compiled for.
    fn of(&self, function: &Function) -> &dyn TargetIsa {
        if function.dfg.num_insts() > LONG { &*self.linear } else { &*self.whole }
    }
}

/// Compiles the kernels of a program.
///
/// Fails if a kernel breaks a law of the loop IR, or if this processor lacks an instruction that the code needs.
pub fn compile(kernels: &[Kernel], options: &JitOptions) -> Result<Module, String> {
    kernels.iter().try_for_each(verify)?;
    let targets = Targets::new(options)?;
    let builder = JITBuilder::with_isa(targets.whole.clone(), cranelift_module::default_libcall_names());
    let mut memory = CodeMemory(Some(JITModule::new(builder)));
    let module = memory.0.as_mut().expect("just made");
    let defined: Result<Vec<_>, String> =
        kernels.iter().map(|kernel| define(module, &targets, kernel, options)).collect();
    let defined = defined?;
    module.finalize_definitions().map_err(|error| error.to_string())?;
    let finish = |(kernel, Defined { id, wide, shown }): (&Kernel, Defined)| {
        // SAFETY: the function was defined with the signature of `Entry`: three pointers, nothing back.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(module.get_finalized_function(id)) };
        let (args, buffers) = (kernel.args.len(), kernel.buffers.len());
        Compiled { entry, args, buffers, wide, shown }
    };
    let kernels = kernels.iter().zip(defined).map(finish).collect();
    Ok(Module { kernels, targets, vectors: options.vectors, _memory: memory })
}

/// A kernel whose code is there.
struct Defined {
    id: FuncId,
    wide: bool,
    shown: Option<Shown>,
}

/// Adds the code of a kernel.
fn define(
    module: &mut JITModule,
    targets: &Targets,
    kernel: &Kernel,
    options: &JitOptions,
) -> Result<Defined, String> {
    let failed = |error: String| format!("kernel `{}`: {error}", kernel.name);
    let mut signature = module.make_signature();
    signature.params.extend([AbiParam::new(I64); 3]);
    let id = module.declare_anonymous_function(&signature).map_err(|error| failed(error.to_string()))?;
    let mut context = Context::new();
    context.func = Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature);
    let mut tables = Vec::new();
    for table in &kernel.tables {
        let data = define_table(module, table).map_err(failed)?;
        tables.push(table_address(&mut context.func, data));
    }
    let mut rows = Vec::new();
    for row in rows::compile_all(kernel, options.vectors) {
        let row = row.map(|row| {
            let convention = module.isa().default_call_conv();
            let function = define_bytes(module, &mut context.func, &row.bytes, convention)?;
            Ok(nest::WideRow { function, row })
        });
        rows.push(row.transpose().map_err(failed)?);
    }
    let ask = asks::code(kernel);
    let ask = ask.map(|bytes| define_bytes(module, &mut context.func, &bytes, CallConv::PreserveAll));
    let ask = ask.transpose().map_err(failed)?;
    let wide = rows.iter().any(Option::is_some);
    let codes = rows.iter().flatten().filter(|_| options.shows).map(|wide| wide.row.bytes.clone()).collect();
    let mut scratch = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut scratch);
    emit::emit(builder, kernel, tables, (rows, ask), module.target_config());
    let shown =
        options.shows.then(|| Shown { function: context.func.clone(), rows: codes, clif: OnceLock::new() });
    let isa = targets.of(&context.func);
    define_kernel(module, isa, id, &mut context).map_err(failed)?;
    match library_call(&context) {
        Some(name) => Err(failed(format!("needs the library function `{name}`"))),
        None => Ok(Defined { id, wide, shown }),
    }
}

/// Compiles a kernel for one of the targets, and adds its code.
fn define_kernel(
    module: &mut JITModule,
    isa: &dyn TargetIsa,
    id: FuncId,
    context: &mut Context,
) -> Result<(), String> {
    context.compile(isa, &mut ControlPlane::default()).map_err(|error| format!("{:?}", error.inner))?;
    let code = context.compiled_code().expect("just compiled");
    let relocations = code.buffer.relocs().iter();
    let relocations: Vec<_> =
        relocations.map(|relocation| ModuleReloc::from_mach_reloc(relocation, &context.func, id)).collect();
    module.define_function_bytes(id, 64, code.code_buffer(), &relocations).map_err(|error| error.to_string())
}

/// Adds code of our own, a row or what asks for lines, which a kernel calls by its address: it may lie further away than 32
/// bits reach.
fn define_bytes(
    module: &mut JITModule,
    function: &mut Function,
    bytes: &[u8],
    convention: CallConv,
) -> Result<FuncRef, String> {
    let mut signature = Signature::new(convention);
    signature.params.extend([AbiParam::new(I64), AbiParam::new(I64)]);
    let id = module.declare_anonymous_function(&signature).map_err(|error| error.to_string())?;
    module.define_function_bytes(id, 64, bytes, &[]).map_err(|error| error.to_string())?;
    let row = module.declare_func_in_func(id, function);
    function.dfg.ext_funcs[row].colocated = false;
    Ok(row)
}

/// A function that the code would call, which is none of ours.
fn library_call(context: &Context) -> Option<String> {
    let relocations = context.compiled_code()?.buffer.relocs();
    relocations.iter().find_map(|relocation| match &relocation.target {
        FinalizedRelocTarget::ExternalName(ExternalName::LibCall(call)) => Some(call.to_string()),
        _ => None,
    })
}

fn define_table(module: &mut JITModule, table: &[Scalar]) -> Result<DataId, String> {
    let mut bytes = Vec::new();
    for entry in table {
        let (element, start) = (entry.element(), bytes.len());
        bytes.resize(start + element.bytes() as usize, 0);
        write_element(element, *entry, &mut bytes[start..]);
    }
    bytes.resize(bytes.len() + rows::TABLE_SLACK, 0);
    let mut description = DataDescription::new();
    description.define(bytes.into_boxed_slice());
    description.set_align(16);
    let id = module.declare_anonymous_data(false, false).map_err(|error| error.to_string())?;
    module.define_data(id, &description).map_err(|error| error.to_string())?;
    Ok(id)
}

/// The address of a table, as 64 bits in the code: tables may lie further away than 32 bits reach.
fn table_address(function: &mut Function, data: DataId) -> GlobalValue {
    let name = UserExternalName { namespace: 1, index: data.as_u32() };
    let name = ExternalName::user(function.declare_imported_user_function(name));
    function.create_global_value(GlobalValueData::Symbol {
        name,
        offset: 0.into(),
        colocated: false,
        tls: false,
    })
}

impl Module {
    /// Runs a kernel.
    ///
    /// # Panics
    ///
    /// If the kernel takes another number of arguments or buffers.
    ///
    /// # Safety
    ///
    /// Every offset that the kernel computes from `args` must lie inside its buffer. Nobody else may write to any
    /// buffer, or read those it writes, until the call is over. A buffer that it writes may overlap another only if the
    /// kernel uses no element of that other one that it writes: a recurrence reads the planes before the one it
    /// computes, in the same memory.
    pub unsafe fn call(&self, kernel: usize, args: &[i64], buffers: &[*mut u8]) {
        // SAFETY: the promise of the caller.
        unsafe {
            self.call_until(kernel, args, buffers, (Writes::Cached, Lists::Near), &AtomicBool::new(false))
        };
    }

    /// Runs a kernel until it is done, which gives true, or until `cancel`: long loops look at it now and then.
    ///
    /// # Panics
    ///
    /// As [`Module::call`].
    ///
    /// # Safety
    ///
    /// As [`Module::call`].
    pub unsafe fn call_until(
        &self,
        kernel: usize,
        args: &[i64],
        buffers: &[*mut u8],
        (writes, lists): (Writes, Lists),
        cancel: &AtomicBool,
    ) -> bool {
        let compiled = &self.kernels[kernel];
        assert_eq!((args.len(), buffers.len()), (compiled.args, compiled.buffers), "arguments and buffers");
        let past = u64::from(writes == Writes::Past);
        let ahead = u64::from(lists == Lists::Far);
        let mut stop = Stop { flag: cancel.as_ptr().cast(), stopped: 0, past, ahead };
        // SAFETY: the code reads as many arguments and pointers as the kernel has, which was just checked; the flag
        // lives as long as the call; the rest is the promise of the caller.
        unsafe { (compiled.entry)(args.as_ptr(), buffers.as_ptr(), &mut stop) }
        if writes == Writes::Past {
            in_order();
        }
        stop.stopped == 0
    }

    /// The vectors of a kernel's rows, the widest if they differ.
    pub fn used(&self, kernel: usize) -> Vectors {
        if self.kernels[kernel].wide { self.vectors } else { Vectors::V128 }
    }

    /// The widest vectors that its rows may use.
    pub fn vectors(&self) -> Vectors {
        self.vectors
    }

    /// The CLIF of a kernel, before optimisation.
    pub fn clif(&self, kernel: usize) -> &str {
        let Some(shown) = &self.kernels[kernel].shown else { return "" };
        shown.clif.get_or_init(|| shown.function.display().to_string())
    }

    /// The machine code of a kernel and of its wide rows, each from its entry on, constants last; compiles it once more.
    pub fn machine_code(&self, kernel: usize) -> Vec<Vec<u8>> {
        let Some(shown) = &self.kernels[kernel].shown else { return Vec::new() };
        let mut context = Context::for_function(shown.function.clone());
        let own = context.compile(self.targets.of(&shown.function), &mut ControlPlane::default());
        let own = own.map(|code| code.code_buffer().to_vec()).ok();
        own.into_iter().chain(shown.rows.iter().cloned()).collect()
    }

    /// The machine code of a kernel as text; compiles it once more.
    pub fn asm(&self, kernel: usize) -> String {
        let Some(Shown { function, rows, .. }) = &self.kernels[kernel].shown else { return String::new() };
        let mut context = Context::for_function(function.clone());
        context.set_disasm(true);
        let mut text = match context.compile(self.targets.of(function), &mut ControlPlane::default()) {
            Ok(code) => code.vcode.clone().unwrap_or_default(),
            Err(error) => format!("{:?}", error.inner),
        };
        for (number, row) in rows.iter().enumerate() {
            text.push_str(&format!("row {number}:\n{}", rows::disassembled(row)));
        }
        text
    }
}
