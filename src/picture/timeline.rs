//! The lives of tiles and windows as SVG: a bar for each from its making to its last reader, and how many tiles are alive
//! as a curve.
//!
//! ```text
//! height  ▬▬▬▬▬▬▬ ▬▬▬▬▬▬
//!           ▬▬▬▬▬▬▬
//! smooth    ▬ ▬ ▬ ▬ ▬ ▬
//! alive   ▁▂▃▃▃▃▃▂▁
//! ```

use super::NodeKind;
use super::svg::{document, escape, number};
use super::text;

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chart {
    /// What it is about, in a line.
    pub title: String,
    /// From top to bottom.
    pub lanes: Vec<ChartLane>,
    /// How many are alive, per task.
    pub alive: Vec<u64>,
    /// What the curve does not show.
    pub notes: Vec<String>,
}

/// One tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartLane {
    /// Its name.
    pub name: String,
    /// A line about its tiles.
    pub about: String,
    /// Colours.
    pub kind: NodeKind,
    /// Per tile or window: what is said of it, its first task, and one past its last.
    pub bars: Vec<(String, u64, u64)>,
}

/// Space to the left, for names.
const LEFT: f64 = 220.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 56.0;
/// Height of a row of bars.
const ROW: f64 = 11.0;
/// Rows of bars of a lane that are drawn; those of more are drawn over each other.
const MOST_ROWS: usize = 24;
/// Least height of a lane, for its name.
const LANE: f64 = 44.0;
const CURVE: f64 = 110.0;
/// Width that the tasks share, and how wide one is at the most.
const WIDTH: f64 = 900.0;
const WIDEST: f64 = 28.0;

/// Draws charts, one below the other.
pub fn to_timeline_svg(charts: &[Chart]) -> String {
    let (mut body, mut width, mut height) = (String::new(), 0.0f64, 0.0);
    for chart in charts {
        let (own, wide, high) = drawn(chart);
        body += &format!("<g transform=\"translate(0 {})\">\n{own}</g>\n", number(height));
        width = width.max(wide);
        height += high;
    }
    let titles: Vec<&str> = charts.iter().map(|chart| &*chart.title).collect();
    document(width, height, &titles.join("; "), &body)
}

/// A chart, its width and its height.
fn drawn(chart: &Chart) -> (String, f64, f64) {
    let tasks = chart.alive.len().max(1) as f64;
    let step = (WIDTH / tasks).min(WIDEST);
    let mut body = line(LEFT, 26.0, "name", &chart.title);
    let mut top = TOP;
    for lane in &chart.lanes {
        let (text, height) = drawn_lane(lane, top, step);
        body += &text;
        top += height;
    }
    body += &curve(chart, top, step);
    let bottom = top + CURVE + 44.0;
    for (at, note) in chart.notes.iter().enumerate() {
        body += &line(LEFT, bottom + 16.0 * at as f64, "line", note);
    }
    let width = LEFT + (step * tasks).max(420.0) + RIGHT;
    (body, width, bottom + 16.0 * chart.notes.len() as f64)
}

fn line(x: f64, y: f64, class: &str, text: &str) -> String {
    let text = escape(&text::one_line(text));
    format!(
        "<text class=\"{class}\" style=\"text-anchor:start\" x=\"{}\" y=\"{}\">{text}</text>\n",
        number(x),
        number(y)
    )
}

/// A lane: its name, and bars in as few rows as keep them apart.
fn drawn_lane(lane: &ChartLane, top: f64, step: f64) -> (String, f64) {
    let mut rows: Vec<u64> = Vec::new();
    let mut bars = String::new();
    for (title, from, to) in &lane.bars {
        let free = rows.iter().position(|end| end <= from).unwrap_or(rows.len());
        if free == rows.len() {
            rows.push(*to);
        } else {
            rows[free] = *to;
        }
        let (x, y) = (LEFT + step * *from as f64, top + ROW * (free % MOST_ROWS) as f64);
        let width = (step * to.saturating_sub(*from) as f64 - 1.0).max(1.0);
        bars += &format!(
            "<rect class=\"shape\" style=\"stroke-width:.75\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"><title>{}</title></rect>\n",
            number(x),
            number(y),
            number(width),
            number(ROW - 2.0),
            escape(title)
        );
    }
    let names = line(16.0, top + 12.0, "name", &text::shorten(&lane.name, text::NAME, LEFT - 32.0))
        + &line(16.0, top + 28.0, "line", &text::shorten(&lane.about, text::REGULAR, LEFT - 32.0));
    let height = (ROW * rows.len().min(MOST_ROWS) as f64).max(LANE - 12.0) + 14.0;
    (format!("<g class=\"node {}\">\n{names}{bars}</g>\n", lane.kind.word()), height)
}

/// How many tiles are alive, as steps above an axis.
fn curve(chart: &Chart, top: f64, step: f64) -> String {
    let most = chart.alive.iter().copied().max().unwrap_or(0).max(1);
    let bottom = top + CURVE;
    let y = |count: u64| bottom - (CURVE - 16.0) * count as f64 / most as f64;
    let mut path = format!("M{} {}", number(LEFT), number(bottom));
    for (at, count) in chart.alive.iter().enumerate() {
        let x = LEFT + step * at as f64;
        path += &format!("L{} {}H{}", number(x), number(y(*count)), number(x + step));
    }
    let right = LEFT + step * chart.alive.len() as f64;
    path += &format!("V{}z", number(bottom));
    let tasks = chart.alive.len();
    format!(
        "<g class=\"node windowed\"><path class=\"shape\" d=\"{path}\"/></g>\n\
         <path class=\"track\" d=\"M{left} {bottom}H{right}M{left} {high}H{right}\" style=\"stroke-dasharray:2 3\"/>\n{}{}{}{}{}",
        line(16.0, top + 28.0, "name", "alive"),
        line(16.0, top + 44.0, "line", &format!("{most} tiles at the most")),
        line(LEFT - 24.0, y(most) + 4.0, "line", &most.to_string()),
        line(LEFT, bottom + 16.0, "line", "task 0"),
        line((right - 40.0).max(LEFT + 60.0), bottom + 16.0, "line", &format!("task {tasks}")),
        left = number(LEFT),
        right = number(right),
        bottom = number(bottom),
        high = number(y(most)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_has_a_bar_and_every_task_a_step() {
        let bar = |tile: &str, from, to| (tile.to_owned(), from, to);
        let lane = |name: &str, bars| ChartLane {
            name: name.to_owned(),
            about: "2 tiles".to_owned(),
            kind: NodeKind::Tensor,
            bars,
        };
        let chart = Chart {
            title: "a <b>".to_owned(),
            lanes: vec![
                lane("a", vec![bar("[0]", 0, 3), bar("[1]", 1, 4)]),
                lane("b", vec![bar("[0]", 2, 3), bar("[1]", 3, 4)]),
            ],
            alive: vec![1, 2, 3, 2],
            notes: vec!["and more".to_owned()],
        };
        let svg = to_timeline_svg(std::slice::from_ref(&chart));
        assert_eq!(svg.matches("<rect class=\"shape\"").count(), 4);
        assert!(svg.contains("a &lt;b&gt;") && svg.contains("3 tiles at the most"), "{svg}");
        assert!(
            svg.contains("y=\"56\"") && svg.contains("y=\"67\""),
            "tiles that live together are apart: {svg}"
        );
        let two = to_timeline_svg(&[chart, Chart::default()]);
        assert_eq!(two.matches("<svg").count(), 1);
        assert!(two.contains("translate(0 0)") && two.matches("translate(0 ").count() == 2, "{two}");
    }
}
