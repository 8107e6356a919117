//! A small reader of XML that accepts no more than what is well-formed.

/// One element; the list it is in is in the order of the opening tags.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// The text directly inside, unescaped.
    pub(crate) text: String,
    /// Where its parent is in the list.
    pub(crate) parent: Option<usize>,
}

impl Element {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        self.get(name).and_then(|value| value.parse().ok()).unwrap_or(f64::NAN)
    }

    pub(crate) fn has_class(&self, class: &str) -> bool {
        self.get("class").is_some_and(|list| list.split(' ').any(|c| c == class))
    }
}

/// All elements of a document, or what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Vec<Element>, String> {
    if let Some(c) = text.chars().find(|c| !is_xml_char(*c)) {
        return Err(format!("U+{:04X} is no character of XML", c as u32));
    }
    let mut elements: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut rest = text.trim();
    while let Some(after) = rest.strip_prefix('<') {
        let (tag, after) = after.split_once('>').ok_or("a tag without an end")?;
        read_tag(tag, &mut elements, &mut open)?;
        let (content, next) = after.split_at(after.find('<').unwrap_or(after.len()));
        match open.last() {
            Some(parent) => elements[*parent].text.push_str(&unescape(content)?),
            None if after.is_empty() => return Ok(elements),
            None => return Err(format!("`{after}` after the end")),
        }
        rest = next;
    }
    Err(format!("{} elements left open", open.len()))
}

fn read_tag(tag: &str, elements: &mut Vec<Element>, open: &mut Vec<usize>) -> Result<(), String> {
    if let Some(name) = tag.strip_prefix('/') {
        let last = open.pop().ok_or_else(|| format!("`{name}` ends but never began"))?;
        let expect = &elements[last].name;
        return if expect == name { Ok(()) } else { Err(format!("`{name}` ends inside `{expect}`")) };
    }
    let body = tag.strip_suffix('/').unwrap_or(tag);
    let (name, attributes) = body.split_once(' ').unwrap_or((body, ""));
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Err(format!("`{name}` is no name"));
    }
    let (name, attributes) = (name.to_owned(), read_attributes(attributes)?);
    elements.push(Element { name, attributes, text: String::new(), parent: open.last().copied() });
    if !tag.ends_with('/') {
        open.push(elements.len() - 1);
    }
    Ok(())
}

fn read_attributes(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").ok_or_else(|| format!("no value in `{rest}`"))?;
        let (value, after) = after.split_once('"').ok_or_else(|| format!("no closing quote in `{rest}`"))?;
        if found.iter().any(|(other, _)| other == name) || name.contains([' ', '"', '\'', '<']) {
            return Err(format!("`{name}` is given twice or is no name"));
        }
        found.push((name.to_owned(), unescape(value)?));
        if !after.is_empty() && !after.starts_with(' ') {
            return Err(format!("no blank before `{after}`"));
        }
        rest = after.trim_start();
    }
    Ok(found)
}

fn unescape(text: &str) -> Result<String, String> {
    if text.contains(['<', '>']) {
        return Err(format!("a bare angle in `{text}`"));
    }
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (entity, after) = part.split_once(';').ok_or_else(|| format!("a bare `&` before `{part}`"))?;
        out.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            other => return Err(format!("unknown entity `{other}`")),
        });
        out.push_str(after);
    }
    Ok(out)
}

fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

#[test]
fn the_reader_reads_and_refuses() {
    let elements = parse("<a b=\"1\"><c/>x &lt; &quot;<d>y</d></a>\n").unwrap();
    let names: Vec<&str> = elements.iter().map(|e| e.name.as_str()).collect();
    assert_eq!((names, elements[0].text.as_str()), (vec!["a", "c", "d"], "x < \""));
    assert_eq!((elements[2].parent, elements[0].number("b")), (Some(0), 1.0));
    let wrong = [
        "",
        "<a>",
        "<a></b>",
        "<a/><b/>",
        "<a>&</a>",
        "<a>&x;</a>",
        "<a b=1/>",
        "<a b=\"1\" b=\"2\"/>",
        "<a>\u{1}</a>",
        "<a></a></a>",
        "<a b=\"<\"/>",
        "<a>]]></a>",
        "x<a/>",
        "<a b=\"1\"c=\"2\"/>",
    ];
    for text in wrong {
        assert!(parse(text).is_err(), "{text}");
    }
}
