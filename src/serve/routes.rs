//! Addresses -> answers.
//!
//! ```text
//! GET /tiles/height/-3/5/-2.png?set=seed=8      -> edition -> engine for {seed: 8} -> tile -> png, with a tag
//! ```

use super::answer::{
    ALONE, Answer, Answered, BYTES, ORIGIN, PNG, Refusal, counted, has, missing, room_for, tag, wrong,
};
use super::chunks::{self, group, metadata, padded};
use super::guard::guard;
use super::layers::{describe, find};
use super::opening::looks;
use super::paint::{Palette, levels, natural_range, png, range_of};
use super::query::{Cut, Query};
use super::shelf::{Edition, Variant};
use super::tile::{self, Patch, SIDE, Window};
use super::{Server, answer};
use crate::diagnostic::quoted;
use crate::engine::Cancel;
use crate::graph::COLORMAPS;
use crate::graph::types::Element;
use crate::graph::view::View;
use crate::io::{colours, npy_header};
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

/// What every handler is given.
type Shared = State<Arc<Server>>;
/// The pairs after the `?`, or a refusal that axum words.
type Pairs = axum::extract::Query<Vec<(String, String)>>;

/// How long a client may wait for news before it has to ask again.
const WAIT: Duration = Duration::from_secs(25);

/// The files of the page, by the name that they are asked for by.
const PAGE: [(&str, &str, &str); 10] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
    ("/main.js", "text/javascript; charset=utf-8", include_str!("page/main.js")),
    ("/camera.js", "text/javascript; charset=utf-8", include_str!("page/camera.js")),
    ("/tiles.js", "text/javascript; charset=utf-8", include_str!("page/tiles.js")),
    ("/npy.js", "text/javascript; charset=utf-8", include_str!("page/npy.js")),
    ("/colour.js", "text/javascript; charset=utf-8", include_str!("page/colour.js")),
    ("/panel.js", "text/javascript; charset=utf-8", include_str!("page/panel.js")),
    ("/address.js", "text/javascript; charset=utf-8", include_str!("page/address.js")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];

/// All addresses.
pub(super) fn router(server: Arc<Server>) -> Router {
    let port = server.port;
    let mut router = Router::new();
    for (path, kind, text) in PAGE {
        router = router.route(path, get(move || async move { (page_headers(kind), text) }));
    }
    router
        .route("/script", get(script))
        .route("/news", get(news))
        .route("/load", get(load))
        .route("/colormaps", get(colormaps))
        .route("/graph.svg", get(graph))
        .route("/tiles/{layer}/{level}/{x}/{y}", get(tiles))
        .route("/slice.npy", get(slice))
        .route("/zarr/zarr.json", get(zarr_group))
        .route("/zarr/{layer}/{*key}", get(zarr))
        .fallback(|| async { missing("there is nothing here; docs/serve.md lists the addresses") })
        .with_state(server)
        .layer(from_fn(move |request: Request, next: Next| guard(port, request, next)))
}

fn page_headers(kind: &'static str) -> [(header::HeaderName, &'static str); 2] {
    [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")]
}

/// What the script has, and what is wrong with it.
async fn script(State(server): Shared, pairs: Pairs) -> Response {
    let query = Query(pairs.0);
    let work = server.clone();
    let told = server.pool.run(move |_| {
        let (number, diagnostics, edition) = work.shelf.now();
        let mut value = json!({"name": work.shelf.name(), "number": number, "diagnostics": diagnostics});
        if let Some(edition) = edition {
            let variant = edition.variant(&query.settings()?)?;
            value["digest"] = format!("{:016x}", edition.digest).into();
            value["program"] = describe(&variant.engine);
        }
        Ok(Answer::json(&value))
    });
    fresh(told.await.unwrap_or_else(|failed| Err(failed.into())))
}

/// Waits until the script was read more often than the client knows of, or for a while.
async fn news(State(server): Shared, pairs: Pairs) -> Response {
    let known = Query(pairs.0).one("after").and_then(|text| text.parse::<u64>().ok());
    let mut news = server.shelf.news();
    let _ = timeout(WAIT, news.wait_for(|number| Some(*number) != known)).await;
    let number = *news.borrow();
    fresh(Ok(Answer::json(&json!({"number": number}))))
}

/// How much there is to do.
async fn load(State(server): Shared) -> Response {
    let (running, waiting) = server.pool.load();
    fresh(Ok(Answer::json(&json!({"running": running, "waiting": waiting}))))
}

/// All colour maps, as 256 colours each.
async fn colormaps() -> Response {
    let names = COLORMAPS.into_iter().filter(|name| *name != "gray");
    let maps = names.filter_map(|name| Some((name.to_owned(), json!(colours(name)?.to_vec()))));
    fresh(Ok(Answer::json(&json!(maps.collect::<serde_json::Map<_, _>>()))))
}

/// The pipeline as a picture.
async fn graph(State(server): Shared, headers: HeaderMap, uri: Uri, pairs: Pairs) -> Response {
    let query = Query(pairs.0);
    let draw = server.draw;
    computed(server, headers, uri, move |_, edition, _| {
        let variant = edition.variant(&query.settings()?)?;
        Ok(Answer::new("image/svg+xml", draw(variant.engine.program())))
    })
    .await
}

/// A tile, as pixels or as elements.
async fn tiles(
    State(server): Shared,
    Path((layer, level, x, y)): Path<(String, String, String, String)>,
    headers: HeaderMap,
    uri: Uri,
    pairs: Pairs,
) -> Response {
    let query = Query(pairs.0);
    computed(server, headers, uri, move |server, edition, cancel| {
        let (y, ending) = y.split_once('.').unwrap_or((&y, ""));
        let level = level.parse().map_err(|_| wrong(not_a("level", &level, "/tiles/height/-4/0/0.png")))?;
        let number = |text: &str| {
            text.parse().map_err(|_| wrong(not_a("tile", text, "/tiles/height/0/-3/7.png, x before y")))
        };
        let window = Window::of_tiles(level, [number(y)?, number(&x)?], query.side()?, query.tiles()?)?;
        let variant = edition.variant(&query.settings()?)?;
        let view = find(&variant.engine.program().graph, &layer)?.view;
        match ending {
            "npy" if level > 0 => Err(wrong("elements have no levels above 0")),
            "npy" => elements(server, &variant, &view, &query, &window, cancel),
            "png" => pixels(server, &variant, &view, &query, &window, cancel),
            _ => Err(wrong("a tile ends in .png or .npy")),
        }
    })
    .await
}

/// That a word is not the number of something, and how an address is written.
fn not_a(what: &str, word: &str, example: &str) -> String {
    format!("{} is not the number of a {what}: write it like {example}", quoted(word))
}

fn elements(
    server: &Server,
    variant: &Variant,
    view: &View,
    query: &Query,
    window: &Window,
    cancel: &Cancel,
) -> Answered {
    let cut = query.cut(view.domain())?;
    let range = query.range()?;
    let patch = tile::read(&variant.engine, view, &cut, window, &server.room, cancel)?;
    let levels = range.map(|range| levels(&patch, range));
    let Patch { element, channels, first, size, data, permit } = patch;
    let (element, data) = levels.map_or((element, data), |levels| (Element::U8, levels));
    let sizes = [channels, size[0], size[1]].map(|len| len as i64);
    let shape = if cut.channels.is_some() { &sizes[..] } else { &sizes[1..] };
    let mut file = npy_header(element, shape);
    file.extend(data);
    let answer = Answer::new(BYTES, counted(file, permit));
    let answer = answer.with(ORIGIN, &format!("{},{}", first[0], first[1]));
    Ok(answer.with(ALONE, &format!("{:.2}", alone(variant, view, query, &cut, window)?)))
}

/// How many times as much one tile of a window computes by itself as it would as one of 16: a recurrence of 50 steps
/// that spreads by one element each computes 228 × 228 for 128 × 128, and 612 × 612 for 512 × 512. Found once per level.
fn alone(variant: &Variant, view: &View, query: &Query, cut: &Cut, window: &Window) -> Result<f64, Refusal> {
    let side = i128::from(query.side()?);
    let key = format!("{} {:?} {:?} {} {side}", view.name, query.one("dims"), query.one("at"), window.step);
    // Several tiles of a level are asked for at once: the first finds it, the others wait.
    let found = variant.alone.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
    let needs = |count| tile::needs(&variant.engine, view, cut, &Window { count: [count; 2], ..*window });
    let alone = || needs(side).zip(needs(4 * side)).map_or(1.0, |(one, of_many)| one / of_many.max(1.0));
    Ok(*found.get_or_init(alone))
}

fn pixels(
    server: &Server,
    variant: &Variant,
    view: &View,
    query: &Query,
    window: &Window,
    cancel: &Cancel,
) -> Answered {
    let cut = query.cut(view.domain())?;
    let (map, range) = looks(&variant.engine.program().graph, &view.name);
    let map = query.one("colormap").or(map.as_deref()).unwrap_or("viridis");
    let colours = colours(map).ok_or_else(|| {
        wrong(format!("there is no colour map {}, only {}", quoted(map), COLORMAPS.join(", ")))
    })?;
    let coloured = cut.channels.is_some() && view.element.is_float();
    let known = query.range()?.or(range).or(natural_range(view.element)).or(coloured.then_some((0.0, 1.0)));
    let range = match known {
        Some(range) => range,
        None => found_range(server, variant, view, query, cancel)?,
    };
    let patch = tile::read(&variant.engine, view, &cut, window, &server.room, cancel)?;
    Ok(Answer::new(PNG, png(&patch, window, &Palette { colours, range })?))
}

/// The range of a coarse view of a layer around its origin, found once.
fn found_range(
    server: &Server,
    variant: &Variant,
    view: &View,
    query: &Query,
    cancel: &Cancel,
) -> Result<(f64, f64), Refusal> {
    let key = format!("{} {:?} {:?}", view.name, query.one("dims"), query.one("at"));
    if let Some(range) = variant.ranges.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(*range);
    }
    let cut = query.cut(view.domain())?;
    // Around 0 where there is no end, else from the first element on.
    let middle = [cut.rows, Some(cut.columns)].map(|dim| {
        let interval = dim.map(|dim| view.domain().dims()[dim].interval);
        interval
            .and_then(|interval| interval.lower())
            .map_or(-i128::from(SIDE) / 4, |lower| i128::from(lower / COARSE))
    });
    let window = Window { first: middle, count: [i128::from(SIDE) / 2; 2], step: COARSE, zoom: 1 };
    let range = range_of(&tile::read(&variant.engine, view, &cut, &window, &server.room, cancel)?);
    variant.ranges.lock().unwrap_or_else(PoisonError::into_inner).insert(key, range);
    Ok(range)
}

/// Elements from one to the next in a coarse view.
const COARSE: i64 = 8;

/// Any slice, in the words of the language.
async fn slice(State(server): Shared, headers: HeaderMap, uri: Uri, pairs: Pairs) -> Response {
    let query = Query(pairs.0);
    computed(server, headers, uri, move |server, edition, cancel| {
        let text = query.one("read").ok_or_else(|| wrong("say what to read: ?read=name[0:512, 0:512]"))?;
        let variant = edition.variant(&query.settings()?)?;
        let view = variant.engine.view(text)?;
        let (array, permit) = read(server, &variant, view, cancel)?;
        let mut file = npy_header(array.element, &array.shape);
        file.extend(array.data);
        Ok(Answer::new(BYTES, counted(file, permit)))
    })
    .await
}

/// Reads a view whole, with a place among the answers on their way.
fn read(
    server: &Server,
    variant: &Variant,
    view: Arc<View>,
    cancel: &Cancel,
) -> Result<(crate::io::Array, tokio::sync::OwnedSemaphorePermit), Refusal> {
    let prepared = variant.engine.prepare_view(view)?.stopped_by(cancel);
    let bytes = prepared
        .shape()
        .iter()
        .fold(prepared.element().bytes(), |bytes, len| bytes.saturating_mul(*len as u64));
    let permit = room_for(&server.room, usize::try_from(bytes).unwrap_or(usize::MAX))?;
    let (array, _) = prepared.read_array()?;
    Ok((array, permit))
}

async fn zarr_group(State(server): Shared) -> Response {
    fresh(Ok(Answer::json(&group(&server.shelf.name()))))
}

/// Metadata or a chunk of a layer as a zarr array.
async fn zarr(
    State(server): Shared,
    Path((layer, key)): Path<(String, String)>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    computed(server, headers, uri, move |server, edition, cancel| {
        let variant = edition.variant(&Vec::new())?;
        let view = find(&variant.engine.program().graph, &layer)?.view;
        if key == "zarr.json" {
            return Ok(Answer::json(&metadata(&view)));
        }
        let part = chunks::part(&view, &key)?;
        let (array, permit) = read(server, &variant, Arc::new(part), cancel)?;
        let chunk = chunks::chunks(&view).chunk;
        let bytes = padded(array.data, &array.shape, &chunk, array.element.bytes() as usize);
        Ok(Answer::new(BYTES, counted(bytes, permit)))
    })
    .await
}

/// The answer that work on a thread of the pool gives, unless the client has it already.
async fn computed(
    server: Arc<Server>,
    headers: HeaderMap,
    uri: Uri,
    work: impl FnOnce(&Server, &Edition, &Cancel) -> Answered + Send + 'static,
) -> Response {
    let edition = match server.shelf.edition() {
        Ok(edition) => edition,
        Err(refusal) => return refusal.into_response(),
    };
    let tag = tag(edition.digest, uri.path_and_query().map_or("", |address| address.as_str()));
    if has(&headers, &tag) {
        return tagged(StatusCode::NOT_MODIFIED.into_response(), &tag);
    }
    let shared = server.clone();
    let answered = server.pool.run(move |cancel| work(&shared, &edition, cancel)).await;
    match answered.map_err(Refusal::from).and_then(|answer| answer) {
        Ok(answer) => tagged(answer.into_response(), &tag),
        Err(refusal) => refusal.into_response(),
    }
}

/// With a tag, to be asked about before it is used again.
fn tagged(mut response: Response, tag: &str) -> Response {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Not to be kept by anybody.
fn fresh(answered: answer::Answered) -> Response {
    let mut response = answered.into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
