//! Generates the parser from `grammar/itp.lalrpop`.

fn main() {
    lalrpop::Configuration::new()
        .set_in_dir("grammar")
        .emit_rerun_directives(true)
        .process()
        .expect("grammar/itp.lalrpop is a valid LR(1) grammar");
}
