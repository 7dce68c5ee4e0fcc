# Short names for what CONTRIBUTING.md lists.
check:
    cargo fmt --check && cargo clippy --all-targets -- -D warnings
test:
    cargo test
bench largest="100000":
    cargo bench -p delassus --bench gs_pile -- {{largest}}
doc:
    cargo doc -p delassus --no-deps
fuzz target="json_problem" seconds="120":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}}
page:
    crates/delassus-view/build-page
view scene="stack:10":
    cargo run --release -p delassus-cli --features view -- view {{scene}}
