//! With the feature `jolt`: compiles Jolt and `jolt/shim.cpp`, both with the same flags, those of Jolt's own release.

fn main() {
    println!("cargo:rerun-if-changed=jolt/shim.cpp");
    println!("cargo:rerun-if-env-changed=JOLT_SOURCE");
    #[cfg(feature = "jolt")]
    jolt::build();
}

#[cfg(feature = "jolt")]
mod jolt {
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    /// The crate whose package carries the source.
    const CARRIER: &str = "joltc-sys-0.3.1";

    pub(crate) fn build() {
        let source = source();
        let mut files = Vec::new();
        collect(&source.join("Jolt"), &mut files);
        files.sort();
        let files = together(files);
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").opt_level(3).warnings(false);
        build.define("NDEBUG", None).define("JPH_OBJECT_STREAM", None).include(&source);
        if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64") {
            for flag in ["-mavx2", "-mbmi", "-mpopcnt", "-mlzcnt", "-mf16c", "-mfma"] {
                build.flag(flag);
            }
        }
        build.files(files).file("jolt/shim.cpp").compile("jolt_shim");
    }

    /// Some files at a time are compiled as one, which takes less time; names in that of ragdolls are those of another.
    fn together(files: Vec<PathBuf>) -> Vec<PathBuf> {
        let (alone, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.ends_with("Ragdoll.cpp"));
        let out = PathBuf::from(env::var("OUT_DIR").expect("cargo names the folder"));
        let parts = files.chunks(24).enumerate().map(|(i, part)| {
            let text: String = part.iter().map(|file| format!("#include {file:?}\n")).collect();
            let path = out.join(format!("jolt-{i}.cpp"));
            fs::write(&path, text).expect("the folder can be written to");
            path
        });
        parts.chain(alone).collect()
    }

    /// `JOLT_SOURCE`, or what `cargo fetch` has left.
    fn source() -> PathBuf {
        if let Ok(given) = env::var("JOLT_SOURCE") {
            return given.into();
        }
        let home = env::var("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|_| env::var("HOME").map(|home| Path::new(&home).join(".cargo")));
        let registries = home.map(|home| home.join("registry/src")).into_iter();
        let crates = registries.flat_map(|all| entries(&all)).flat_map(|one| entries(&one));
        let mut found = crates.filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(CARRIER)
        });
        let found = found.next().map(|path| path.join("JoltC/JoltPhysics"));
        found.unwrap_or_else(|| {
            panic!("no source of Jolt: run `cargo fetch` here first, or name its folder in JOLT_SOURCE")
        })
    }

    fn entries(folder: &Path) -> Vec<PathBuf> {
        let all = fs::read_dir(folder).into_iter().flatten();
        all.filter_map(|entry| Some(entry.ok()?.path())).collect()
    }

    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        for path in entries(folder) {
            if path.is_dir() {
                collect(&path, files);
            } else if path.extension().is_some_and(|end| end == "cpp") {
                files.push(path);
            }
        }
    }
}
