//! The machine that code is made for: this one, with what the kernels need of it.

use super::JitOptions;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};

/// Features of an x86 processor without which Cranelift would call library functions, or lacks instructions.
const NEEDED: [&str; 6] = ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_avx", "has_fma"];

/// How long compiling may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// As long as it takes: milliseconds, for all that people write.
    Whole,
    /// Time that grows with the code and no faster; the code is about half as fast.
    Linear,
}

/// The target of this machine, or what it lacks.
pub(super) fn isa(options: &JitOptions, effort: Effort) -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let switch = |on: bool| if on { "true" } else { "false" };
    let (level, registers) = match effort {
        Effort::Whole => ("speed", "backtracking"),
        Effort::Linear => ("none", "single_pass"),
    };
    let settings = [
        ("opt_level", level),
        ("regalloc_algorithm", registers),
        ("enable_verifier", switch(options.verifier)),
        ("regalloc_checker", switch(options.regalloc_checker)),
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("unwind_info", "false"),
        ("log2_min_function_alignment", "6"),
    ];
    for (name, value) in settings {
        flags.set(name, value).map_err(|error| format!("setting `{name}`: {error}"))?;
    }
    let builder =
        cranelift_native::builder().map_err(|error| format!("no code for this processor: {error}"))?;
    let isa = builder.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())?;
    match lacking(&isa) {
        Some(name) => Err(format!("this processor lacks `{name}`, which compiled kernels need")),
        None => Ok(isa),
    }
}

/// Whether this processor is one of AMD's.
pub(super) fn is_amd() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        static AMD: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *AMD.get_or_init(|| {
            let vendor = std::arch::x86_64::__cpuid(0);
            [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == b"AuthenticAMD"
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// The first feature that a processor lacks; those that are not x86 have all that is needed.
fn lacking(isa: &OwnedTargetIsa) -> Option<&'static str> {
    let has =
        |name: &str| isa.isa_flags().iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
    let missing = NEEDED.into_iter().find(|name| isa.name() == "x64" && !has(name));
    missing.map(|name| name.trim_start_matches("has_"))
}

#[cfg(test)]
mod tests {
    use super::{NEEDED, lacking};
    use cranelift_codegen::isa::{OwnedTargetIsa, lookup_by_name};
    use cranelift_codegen::settings::{self, Configurable};

    fn plain(enabled: &[&str]) -> OwnedTargetIsa {
        let mut builder = lookup_by_name("x86_64").unwrap();
        enabled.iter().for_each(|name| builder.set(name, "true").unwrap());
        builder.finish(settings::Flags::new(settings::builder())).unwrap()
    }

    #[test]
    fn processors_without_what_is_needed_are_named() {
        assert_eq!(lacking(&plain(&[])), Some("sse3"));
        assert_eq!(lacking(&plain(&NEEDED[..5])), Some("fma"));
        assert_eq!(lacking(&plain(&NEEDED)), None);
    }
}
