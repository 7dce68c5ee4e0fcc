# Short names for what CONTRIBUTING.md lists.
check:
    cargo fmt --all --check && cargo clippy --workspace --all-targets -- -D warnings
test:
    cargo test --workspace
features:
    scripts/check-features
python:
    scripts/check-python
packages:
    scripts/check-packages
deny:
    scripts/check-deny
bench largest="100000":
    cargo bench -p delassus --bench gs_pile -- {{largest}}
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
fuzz target="json_problem" seconds="120":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}}
page:
    crates/delassus-view/build-page
view scene="stack:10":
    cargo run --release -p delassus-cli --features view -- view {{scene}}
