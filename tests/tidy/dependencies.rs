//! What Cargo.lock says about the crates that itp is made of: few, from the registry, none that is banned.

use std::fs;
use std::path::Path;

/// Packages of Cargo.lock, tests and every system included. Each is read by somebody who could do harm: who needs more
/// raises this, and says why in the commit.
const MOST_PACKAGES: usize = 270;

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The packages of a lock file, each as name and source; the package itself has no source.
fn packages(lock: &str) -> Vec<(String, Option<String>)> {
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let blocks = lock.split("[[package]]").skip(1);
    blocks.map(|package| (field(package, "name").unwrap(), field(package, "source"))).collect()
}

/// The crates that deny.toml bans.
fn banned(deny: &str) -> Vec<String> {
    let names = deny.split("{ crate = \"").skip(1);
    names.map(|rest| rest.split('"').next().unwrap_or_default().to_owned()).collect()
}

/// What is wrong with a lock file.
fn wrongs(lock: &str, deny: &str) -> Vec<String> {
    let (packages, banned) = (packages(lock), banned(deny));
    let mut wrongs = Vec::new();
    if packages.len() > MOST_PACKAGES {
        wrongs.push(format!("{} packages, at most {MOST_PACKAGES}", packages.len()));
    }
    for (name, source) in &packages {
        if banned.contains(name) {
            wrongs.push(format!("`{name}` is banned by deny.toml"));
        }
        let registry = |source: &String| source.starts_with("registry+");
        if name != "itp" && !source.as_ref().is_some_and(registry) {
            wrongs.push(format!("`{name}` does not come from the registry: {source:?}"));
        }
    }
    wrongs
}

#[test]
fn dependencies_are_few_and_none_is_banned() {
    let (lock, deny) = (read("Cargo.lock"), read("deny.toml"));
    assert_eq!(wrongs(&lock, &deny), Vec::<String>::new());
    for name in ["bincode", "tower-lsp", "tiny_http", "miette"] {
        assert!(banned(&deny).contains(&name.to_owned()), "deny.toml does not ban {name}");
    }
    assert!(packages(&lock).len() > 100);
}

#[test]
fn a_bad_dependency_is_found() {
    let package =
        |name: &str, source: &str| format!("[[package]]\nname = \"{name}\"\nsource = \"{source}\"\n\n");
    let deny = "deny = [ { crate = \"bincode\" } ]";
    assert!(wrongs(&package("serde", "registry+x"), deny).is_empty());
    assert_eq!(wrongs(&package("bincode", "registry+x"), deny).len(), 1);
    assert_eq!(wrongs(&package("serde", "git+x"), deny).len(), 1);
    assert_eq!(wrongs(&package("serde", "registry+x").repeat(MOST_PACKAGES + 1), deny).len(), 1);
}
