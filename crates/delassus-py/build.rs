//! On macOS the symbols of the interpreter are looked up when the module is loaded; the linker must be told.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
