//! The registry of codes. Each has a page `errors/CODE.md`: title, text, a wrong and a right script.
//!
//! E00 files and command line · E01 syntax · E02 names, constants, functions · E03 shapes and windows ·
//! E04 types · E05 reads · E06 views · E07 cycles and recurrences · E08 inputs, outputs, formats, writes ·
//! E09 limits · E10 data and runs · W warnings. Numbers are never reused.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing runs.
    Error,
    /// It runs, but probably not as meant.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

macro_rules! codes {
    ($($code:ident)*) => {
        /// The number of an error or a warning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(
                #[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/errors/", stringify!($code), ".md"))]
                $code,
            )*
        }

        impl Code {
            /// Every code, by number.
            pub const ALL: &[Code] = &[$(Code::$code),*];

            /// As printed, `E0304`.
            pub fn id(self) -> &'static str {
                match self { $(Code::$code => stringify!($code)),* }
            }

            /// The page that `itp explain` prints.
            pub fn page(self) -> &'static str {
                match self {
                    $(Code::$code => include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/errors/", stringify!($code), ".md"))),*
                }
            }
        }
    };
}

codes! {
    E0001 E0002 E0003
    E0101 E0102 E0103 E0104 E0105 E0106 E0107 E0108 E0109 E0110 E0111 E0112 E0113 E0114 E0115 E0116 E0117
    E0118 E0119 E0120 E0121 E0122
    E0201 E0202 E0203 E0204 E0205 E0206 E0207 E0208 E0209 E0210 E0211
    E0301 E0302 E0303 E0304 E0305 E0306 E0307 E0308 E0309 E0310 E0311 E0312 E0313 E0314
    E0401 E0402 E0403 E0404 E0405 E0406 E0407 E0408
    E0501 E0502 E0503 E0504 E0505
    E0601 E0602 E0603 E0604 E0605 E0606 E0607 E0608
    E0701 E0702 E0703 E0704
    E0801 E0802 E0803 E0804 E0805 E0806 E0807 E0808 E0809
    E0901 E0902 E0903
    E1001 E1002 E1003 E1004 E1005 E1006 E1007 E1008 E1009 E1010
    W0001 W0002 W0003 W0004
}

impl Code {
    /// The code with that name, in either case; a number alone is that of an error.
    pub fn parse(text: &str) -> Option<Code> {
        let number = text.trim_start_matches('0');
        let is = |code: &Code| {
            let own = code.id().strip_prefix('E').map(|own| own.trim_start_matches('0'));
            code.id().eq_ignore_ascii_case(text) || own == Some(number)
        };
        Code::ALL.iter().copied().find(is)
    }

    /// From its first letter.
    pub fn severity(self) -> Severity {
        if self.id().starts_with('W') { Severity::Warning } else { Severity::Error }
    }

    /// The first line of its page, without number and marks.
    pub fn title(self) -> &'static str {
        let line = self.page().lines().next().unwrap_or_default();
        line.split_once(": ").map_or(line, |(_, title)| title)
    }

    /// The `wrong` or `right` script of its page, if it has one.
    pub fn example(self, which: &str) -> Option<&'static str> {
        let (_, rest) = self.page().split_once(&format!("```itp {which}\n"))?;
        rest.split_once("```").map(|(script, _)| script)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
