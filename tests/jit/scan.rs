//! Looks through CLIF for opcodes that may not be there.

use std::collections::BTreeMap;

/// What kernels may consist of; nothing here can trap, but for divisions, which are looked at more closely.
const ALLOWED: &str = "
    band bitcast bitselect bnot bor brif bxor call_indirect ceil extractlane f32const f64const fabs fadd fcmp
    fcvt_from_sint fcvt_from_uint fcvt_to_sint_sat fcvt_to_uint_sat fdemote fdiv floor fma fmul fneg
    fpromote fsub func_addr fvdemote fvpromote_low iabs iadd icmp iconst imul ineg insertlane ireduce ishl
    istore16 istore8 isub jump load nearest popcnt return scalar_to_vector select sextend shuffle
    sload16 sload8 splat sqrt sshr stack_addr store swiden_high swiden_low symbol_value trunc udiv uextend uload16
    uload32 uload8 ushr uwiden_high uwiden_low vany_true vconst
";

/// Panics at an opcode that is not allowed, at memory that may trap, and at a divisor that was not made harmless.
pub(crate) fn scan(clif: &str) {
    let mut definitions: BTreeMap<&str, &str> = BTreeMap::new();
    let mut divisors = Vec::new();
    for line in clif.lines().map(|line| line.split(';').next().unwrap_or_default().trim()) {
        let Some((result, code)) = instruction(line) else { continue };
        let opcode = code.split([' ', '.']).next().unwrap_or_default();
        assert!(ALLOWED.split_whitespace().any(|allowed| allowed == opcode), "`{opcode}` in `{line}`");
        if opcode.contains("load") || opcode.contains("store") {
            assert!(code.contains("notrap"), "`{line}` may trap");
        }
        if opcode.ends_with("div") && opcode != "fdiv" {
            divisors.push(code.rsplit(' ').next().unwrap_or_default());
        }
        definitions.insert(result, opcode);
    }
    for divisor in divisors {
        assert_eq!(definitions.get(divisor), Some(&"select"), "divisor {divisor}\n{clif}");
    }
}

/// How many divisions of integers there are.
pub(crate) fn divisions(clif: &str) -> usize {
    let lines = clif.lines().map(|line| line.split(';').next().unwrap_or_default().trim());
    let opcodes = lines.filter_map(|line| instruction(line)?.1.split([' ', '.']).next());
    opcodes.filter(|opcode| *opcode == "udiv").count()
}

/// The result, if any, and the instruction of a line that holds one.
fn instruction(line: &str) -> Option<(&str, &str)> {
    let head = ["function", "block", "sig", "gv", "fn", "const", "region", "}", "ss"];
    if line.is_empty() || head.iter().any(|head| line.starts_with(head)) {
        return None;
    }
    Some(line.split_once(" = ").unwrap_or(("", line)))
}
