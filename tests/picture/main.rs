//! Pictures of pipelines: what they look like, and laws that hold for every graph.

mod xml;

use itp::picture::{
    Layout, NodeKind, Picture, PictureEdge, PictureNode, Pillar, Rect, Track, layout, to_dot, to_mermaid,
    to_svg,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use xml::Element;

fn node(kind: NodeKind, name: &str, lines: &[&str]) -> PictureNode {
    let lines = lines.iter().map(|line| (*line).to_owned()).collect();
    PictureNode { name: name.into(), kind, lines, tooltip: None }
}

fn edge(from: usize, to: usize, label: &str) -> PictureEdge {
    PictureEdge { from, to, label: label.into() }
}

/// A script with every kind of node, a diamond, a long edge and a loop.
fn terrain() -> Picture {
    use NodeKind::*;
    let plane = "f32[y: inf, x: inf]";
    let mut nodes = vec![
        node(Input, "survey", &["f32[y: 0..4096, x: 0..4096]", "from \"survey.tif\""]),
        node(View, "endless", &[plane, "survey.mirror()"]),
        node(Tensor, "height", &[plane, "fbm, 6 octaves"]),
        node(Tensor, "slope", &[plane]),
        node(Tensor, "shade", &[plane]),
        node(Recurrence, "erosion", &["f32[t: 0..50, y: inf, x: inf]", "chunk [128, 128]"]),
        node(
            Windowed,
            "parts",
            &["f32[k: 2, y: inf, x: inf]", "window [2, 256, 256] stride [2, 192, 192]", "blend sum"],
        ),
        node(Tensor, "seamless", &[plane]),
        node(Var, "mask", &["u8[y: inf, x: inf]"]),
        node(Tensor, "final", &[plane]),
        node(Output, "hills.png", &["[-256:256, 0:512]", "colormap terrain"]),
        node(Output, "raw.npy", &["[0:64, 0:64]"]),
    ];
    nodes[2].tooltip = Some("Rolling hills,\nwithout end.".into());
    let edges = vec![
        edge(0, 1, ""),
        edge(1, 2, ""),
        edge(2, 3, "±1"),
        edge(2, 4, "±1"),
        edge(3, 5, ""),
        edge(4, 5, "3×3"),
        edge(5, 5, "t-1, ±1"),
        edge(5, 6, "256×256"),
        edge(6, 7, ""),
        edge(7, 9, ""),
        edge(8, 9, ""),
        edge(2, 9, "±8"),
        edge(9, 10, ""),
        edge(7, 11, ""),
    ];
    Picture { nodes, edges }
}

/// Names and labels that try to break out of their quotes.
fn hostile() -> Picture {
    let name = "</text><script>\"&'\\N #quot; %%{init}%% `x` \u{0}\u{202e}\u{ffff}";
    let mut nodes = vec![node(NodeKind::Output, name, &["]]> -->\n n9 -- \"", "1. $x$ *b*"])];
    nodes.push(node(NodeKind::Input, "", &["- \u{1b}[31m"]));
    nodes[0].tooltip = Some("\" onload=\"x\n\n\\\"; <b>&amp;".into());
    Picture { nodes, edges: vec![edge(1, 0, "a|\"b\"|--><&"), edge(0, 7, "nowhere"), edge(9, 0, "")] }
}

#[test]
fn terrain_in_every_format() {
    insta::assert_snapshot!("terrain_svg", to_svg(&terrain()));
    insta::assert_snapshot!("terrain_dot", to_dot(&terrain()));
    insta::assert_snapshot!("terrain_mermaid", to_mermaid(&terrain()));
}

#[test]
fn hostile_in_every_format() {
    insta::assert_snapshot!("hostile_svg", to_svg(&hostile()));
    insta::assert_snapshot!("hostile_dot", to_dot(&hostile()));
    insta::assert_snapshot!("hostile_mermaid", to_mermaid(&hostile()));
}

#[test]
fn an_empty_pipeline_in_every_format() {
    insta::assert_snapshot!("empty_svg", to_svg(&Picture::default()));
    insta::assert_snapshot!("empty_dot", to_dot(&Picture::default()));
    insta::assert_snapshot!("empty_mermaid", to_mermaid(&Picture::default()));
}

#[test]
fn ten_thousand_nodes_are_no_trouble() {
    let count = 10_000;
    let nodes = (0..count).map(|i| node(NodeKind::Tensor, &format!("t{i}"), &[])).collect();
    let chain = (1..count).map(|i| edge(i - 1, i, ""));
    let skips = (1..count).map(|i| edge(i / 2, i, "far"));
    let picture = Picture { nodes, edges: chain.chain(skips).collect() };
    let elements = xml::parse(&to_svg(&picture)).unwrap();
    assert_eq!(elements.iter().filter(|e| e.has_class("node")).count(), count);
    let found = layout(&picture);
    assert!(found.boxes.is_sorted_by(|a, b| a.bottom() < b.y), "a chain goes down");
}

fn kinds() -> impl Strategy<Value = NodeKind> {
    (0..NodeKind::ALL.len()).prop_map(|i| NodeKind::ALL[i])
}

/// Graphs with these texts. Most edges go from earlier to later nodes; `cycles` adds a few that go anywhere.
fn pictures(texts: BoxedStrategy<String>, cycles: usize) -> impl Strategy<Value = Picture> {
    let node = (texts.clone(), kinds(), vec(texts.clone(), 0..4), proptest::option::of(texts.clone()))
        .prop_map(|(name, kind, lines, tooltip)| PictureNode { name, kind, lines, tooltip });
    let label = prop_oneof![Just(String::new()), Just("±1".to_owned()), texts];
    vec(node, 0..24).prop_flat_map(move |nodes| {
        let end = 0..nodes.len().max(1);
        let forward = (end.clone(), end.clone(), label.clone()).prop_map(|(a, b, label)| PictureEdge {
            from: a.min(b),
            to: a.max(b),
            label,
        });
        let any =
            (end.clone(), end, label.clone()).prop_map(|(from, to, label)| PictureEdge { from, to, label });
        (Just(nodes), vec(forward, 0..40), vec(any, 0..=cycles)).prop_map(|(nodes, mut edges, more)| {
            edges.extend(more);
            Picture { nodes, edges }
        })
    })
}

fn plain() -> BoxedStrategy<String> {
    "[ -~]{0,30}".boxed()
}

fn wild() -> BoxedStrategy<String> {
    prop_oneof![any::<String>(), "[\u{0}-\u{ff}]{0,12}", "[\"&<>'#;\\\\`|%{}\\-\n\\[\\]]{0,12}"].boxed()
}

fn pillars(track: &Track) -> &[Pillar] {
    match track {
        Track::Down(pillars) | Track::Up(pillars) => pillars,
        Track::Loop(_) => &[],
    }
}

fn check_rects_apart(layout: &Layout) {
    let tags = layout.routes.iter().filter_map(|route| route.tag.as_ref()).map(|tag| tag.rect);
    let rects: Vec<Rect> = layout.boxes.iter().copied().chain(tags).collect();
    for (i, a) in rects.iter().enumerate() {
        let inside = a.x >= 0.0 && a.y >= 0.0 && a.right() <= layout.width && a.bottom() <= layout.height;
        assert!(inside, "{a:?} is outside {} × {}", layout.width, layout.height);
        for b in &rects[i + 1..] {
            assert!(!a.overlaps(b), "{a:?} overlaps {b:?}");
        }
    }
}

/// No line runs through a box: curves stay in the gaps between the layers, straight parts beside the boxes.
fn check_lines_clear(layout: &Layout) {
    for route in &layout.routes {
        let pillars = pillars(&route.track);
        for node in &layout.boxes {
            let hit =
                |p: &Pillar| node.overlaps(&Rect { x: p.x, y: p.top, width: 0.01, height: p.bottom - p.top });
            assert!(!pillars.iter().any(hit), "{route:?} runs through {node:?}");
            let beside = |pair: &[Pillar]| pair[0].bottom < node.bottom() && node.y < pair[1].top;
            assert!(!pillars.windows(2).any(beside), "{route:?} curves beside {node:?}");
        }
    }
}

/// Every line begins and ends at the box it belongs to.
fn check_ends(layout: &Layout) {
    for route in &layout.routes {
        let (from, to) = (layout.boxes[route.from], layout.boxes[route.to]);
        let touches = |p: Option<&Pillar>, node: Rect| p.is_some_and(|p| node.x < p.x && p.x < node.right());
        match &route.track {
            Track::Down(line) => {
                assert!(touches(line.first(), from) && touches(line.last(), to));
                assert!(line[0].top == from.bottom() && line[line.len() - 1].bottom == to.y);
            }
            Track::Up(line) => {
                assert!(touches(line.first(), to) && touches(line.last(), from));
                assert!(line[0].top == to.bottom() && line[line.len() - 1].bottom == from.y);
            }
            Track::Loop(rect) => {
                assert_eq!((route.from, rect.x), (route.to, from.right()));
                assert!(from.y < rect.y && rect.bottom() < from.bottom());
            }
        }
    }
}

/// Widths of the printable ASCII characters in thousandths of an em, as the metrics of Helvetica give them.
#[rustfmt::skip]
const HELVETICA: [u32; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

fn helvetica(text: &str, size: f64) -> f64 {
    let width =
        |c: char| HELVETICA.get((c as usize).wrapping_sub(32)).map_or(1.0, |w| f64::from(*w) / 1000.0);
    text.chars().map(width).sum::<f64>() * size
}

/// The font size that the style sheet gives a class.
fn font_size(style: &str, class: &str) -> f64 {
    let rule = style.split_once(&format!(".{class}{{font-size:")).map(|(_, rule)| rule);
    let size = rule.and_then(|rule| rule.split_once("px")).and_then(|(size, _)| size.parse().ok());
    size.expect("each class of text has a font size")
}

/// Checks that a text around the middle of `x` stays inside `room` with some px to spare.
fn check_fits(text: &Element, width: f64, size: f64, room: &Rect, spare: f64) {
    let (x, y) = (text.number("x"), text.number("y"));
    let wide = x - width / 2.0 >= room.x + spare && x + width / 2.0 <= room.right() - spare;
    let high = y - size >= room.y && y + size * 0.3 <= room.bottom();
    assert!(wide && high, "{text:?}, {width} px wide, leaves {room:?}");
}

fn check_texts_fit(picture: &Picture) {
    let elements = xml::parse(&to_svg(picture)).expect("the picture is well-formed");
    let style = elements.iter().find(|e| e.name == "style").expect("there is a style sheet").text.as_str();
    let [line, kind, name] = ["line", "kind", "name"].map(|class| font_size(style, class));
    let groups = (0..elements.len()).filter(|i| elements[*i].has_class("node"));
    for (group, room) in groups.zip(&layout(picture).boxes) {
        for (i, text) in
            elements.iter().enumerate().filter(|(_, e)| e.name == "text" && e.parent == Some(group))
        {
            if text.has_class("line") {
                check_fits(text, helvetica(&text.text, line), line, room, 8.0);
                continue;
            }
            let part = |class: &str| {
                elements[i..].iter().find(|e| e.has_class(class)).expect("a title has a kind and a name")
            };
            // A bold face is about a tenth wider.
            let words = helvetica(&part("kind").text, kind) + helvetica(&part("name").text, name * 1.1);
            check_fits(text, words + part("name").number("dx"), name, room, 8.0);
        }
    }
}

/// The text of a node's tooltip begins with its kind, its name and its lines, whatever they contain.
fn check_titles(picture: &Picture, elements: &[Element]) {
    let is_title =
        |e: &&Element| e.name == "title" && e.parent.is_some_and(|p| elements[p].has_class("node"));
    let titles: Vec<&Element> = elements.iter().filter(is_title).collect();
    assert_eq!(titles.len(), picture.nodes.len());
    for (title, node) in titles.iter().zip(&picture.nodes) {
        let shown =
            |text: &str| text.chars().filter(|c| c.is_alphanumeric() || c.is_ascii_punctuation()).collect();
        let words: Vec<String> = [node.kind.word(), &node.name].into_iter().map(shown).collect();
        let title: String = shown(&title.text);
        assert!(title.starts_with(&words.concat()), "{title:?} lacks {words:?}");
    }
}

fn real_edges(picture: &Picture) -> impl Iterator<Item = &PictureEdge> {
    let count = picture.nodes.len();
    picture.edges.iter().filter(move |edge| edge.from < count && edge.to < count)
}

/// Takes the quoted parts out of a line of DOT; an open quote shows as an error.
fn outside_quotes(line: &str) -> Result<String, String> {
    let mut chars = line.chars();
    let (mut out, mut quoted) = (String::new(), false);
    while let Some(c) = chars.next() {
        match (quoted, c) {
            (_, '"') => quoted = !quoted,
            (true, '\\') => _ = chars.next(),
            (true, _) => {}
            (false, c) => out.push(c),
        }
    }
    if quoted { Err(format!("open quote in {line}")) } else { Ok(out) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn nothing_overlaps(picture in pictures(plain(), 0)) {
        let layout = layout(&picture);
        check_rects_apart(&layout);
        check_lines_clear(&layout);
        check_ends(&layout);
    }

    #[test]
    fn nothing_overlaps_with_cycles(picture in pictures(plain(), 12)) {
        let layout = layout(&picture);
        check_rects_apart(&layout);
        check_lines_clear(&layout);
        check_ends(&layout);
    }

    #[test]
    fn without_cycles_data_flows_down(picture in pictures(plain(), 0)) {
        let layout = layout(&picture);
        prop_assert!(!layout.routes.iter().any(|route| matches!(route.track, Track::Up(_))));
    }

    #[test]
    fn texts_fit_their_boxes(picture in pictures(plain(), 2)) {
        check_texts_fit(&picture);
    }

    #[test]
    fn svg_is_well_formed(picture in pictures(wild(), 2)) {
        let elements = xml::parse(&to_svg(&picture)).unwrap();
        check_titles(&picture, &elements);
        let links: BTreeSet<_> = real_edges(&picture).map(|edge| (edge.from, edge.to)).collect();
        prop_assert_eq!(elements.iter().filter(|e| e.has_class("edge")).count(), links.len());
    }

    #[test]
    fn dot_keeps_its_quotes(picture in pictures(wild(), 2)) {
        let dot = to_dot(&picture);
        prop_assert_eq!(dot.lines().count(), 5 + picture.nodes.len() + real_edges(&picture).count());
        for line in dot.lines() {
            let bare = outside_quotes(line).unwrap();
            prop_assert!(bare.chars().all(|c| c.is_ascii_alphanumeric() || " {}[]=,;->".contains(c)), "{}", line);
        }
    }

    #[test]
    fn mermaid_keeps_its_quotes(picture in pictures(wild(), 2)) {
        let mermaid = to_mermaid(&picture);
        let quoted = picture.nodes.len() + real_edges(&picture).count();
        for line in mermaid.lines().skip(1).take(quoted) {
            let parts: Vec<&str> = line.split('"').collect();
            prop_assert!(parts.len() == 3 || parts.len() == 1, "{}", line);
            prop_assert!(line.trim_start().starts_with('n') && !line.contains("%%"), "{}", line);
        }
    }

    #[test]
    fn the_same_picture_gives_the_same_text(picture in pictures(plain(), 4)) {
        prop_assert_eq!(to_svg(&picture), to_svg(&picture.clone()));
    }
}
