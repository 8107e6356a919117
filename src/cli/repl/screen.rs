//! What the results are shown on: how wide it is, which colours it has, and whether it draws pixels.
//!
//! ```text
//! TERM=xterm-kitty   ->   Pixels::Kitty        TERM=xterm-256color   ->   Colours::Palette
//! ```

/// Which colours there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// None: darkness is a letter.
    None,
    /// The 256 that most terminals have.
    Palette,
    /// 24 bits.
    True,
}

/// How pixels are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pixels {
    /// As halves of characters.
    Blocks,
    /// By the protocol of kitty.
    Kitty,
    /// By the protocol of iTerm2.
    Iterm,
    /// By that of the terminals of DEC.
    Sixel,
}

/// What results are shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Characters in a row.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// Which colours there are.
    pub colours: Colours,
    /// How pixels are drawn.
    pub pixels: Pixels,
}

impl Screen {
    /// Paper: no colours, and nothing that depends on who looks.
    pub fn plain() -> Screen {
        Screen { columns: 80, rows: 24, colours: Colours::None, pixels: Pixels::Blocks }
    }

    /// A terminal, as its environment describes it; `variable` looks up names in there.
    pub fn terminal(variable: &dyn Fn(&str) -> Option<String>) -> Screen {
        let has = |name: &str, words: &[&str]| {
            variable(name).is_some_and(|value| words.iter().any(|word| value.to_lowercase().contains(word)))
        };
        let colours = if has("COLORTERM", &["truecolor", "24bit"]) || has("TERM", &["kitty", "direct"]) {
            Colours::True
        } else {
            Colours::Palette
        };
        let kitty = has("TERM", &["kitty", "ghostty"]) || has("TERM_PROGRAM", &["ghostty"]);
        let iterm = has("TERM_PROGRAM", &["iterm", "wezterm"]) || has("LC_TERMINAL", &["iterm"]);
        // A multiplexer would show the pixels as text.
        let inside = variable("TMUX").is_some() || has("TERM", &["screen", "tmux"]);
        let pixels = match () {
            () if inside => Pixels::Blocks,
            () if kitty => Pixels::Kitty,
            () if iterm => Pixels::Iterm,
            () if has("TERM", &["sixel", "mlterm", "foot", "yaft"]) => Pixels::Sixel,
            () => Pixels::Blocks,
        };
        Screen { colours, pixels, ..Screen::plain() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_what_a_terminal_can() {
        let check = |variables: &[(&str, &str)], colours: Colours, pixels: Pixels| {
            let find = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
            };
            let screen = Screen::terminal(&find);
            assert_eq!((screen.colours, screen.pixels), (colours, pixels), "{variables:?}");
        };
        check(&[("TERM", "xterm-256color")], Colours::Palette, Pixels::Blocks);
        check(&[("TERM", "xterm"), ("COLORTERM", "truecolor")], Colours::True, Pixels::Blocks);
        check(&[("TERM", "xterm-kitty")], Colours::True, Pixels::Kitty);
        check(&[("TERM", "xterm-kitty"), ("TMUX", "x")], Colours::True, Pixels::Blocks);
        check(&[("TERM_PROGRAM", "iTerm.app")], Colours::Palette, Pixels::Iterm);
        check(&[("TERM", "foot")], Colours::Palette, Pixels::Sixel);
        check(&[], Colours::Palette, Pixels::Blocks);
    }
}
