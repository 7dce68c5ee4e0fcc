//! How a file's bytes are to be read.

/// How a file's bytes are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Own JSON, all kinds.
    Json,
    /// FCLIB HDF5, local or global.
    Fclib,
    /// Siconos text; where its kind is not given, its shape tells it.
    Dat(Option<DatFormat>),
}

impl Format {
    /// All formats, with the names used on the command line.
    pub const NAMES: [(&'static str, Format); 15] = [
        ("json", Format::Json),
        ("fclib", Format::Fclib),
        ("dat", Format::Dat(None)),
        named(DatFormat::Lcp),
        named(DatFormat::Mlcp),
        named(DatFormat::Fc2d),
        named(DatFormat::Fc3d),
        named(DatFormat::Gfc2d),
        named(DatFormat::Gfc3d),
        named(DatFormat::Rfc2d),
        named(DatFormat::Rfc3d),
        named(DatFormat::Grfc2d),
        named(DatFormat::Grfc3d),
        named(DatFormat::Relay),
        named(DatFormat::Gmp),
    ];

    /// Tells the format from a file's name: `.dat`, `.hdf5`/`.h5`, anything else is JSON.
    pub fn of_name(name: &str) -> Format {
        match name.rsplit('.').next() {
            Some("dat") => Format::Dat(None),
            Some("hdf5" | "h5") => Format::Fclib,
            _ => Format::Json,
        }
    }
}

const fn named(kind: DatFormat) -> (&'static str, Format) {
    (kind.name(), Format::Dat(Some(kind)))
}

/// What a `.dat` file holds, for files whose numbers do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatFormat {
    /// Linear complementarity problem.
    Lcp,
    /// Mixed linear complementarity problem.
    Mlcp,
    /// Planar frictional contact, local form.
    Fc2d,
    /// Spatial frictional contact, local form.
    Fc3d,
    /// Planar frictional contact, global form.
    Gfc2d,
    /// Spatial frictional contact, global form.
    Gfc3d,
    /// Planar rolling friction, local form; never told from the numbers, which may be those of `Fc3d`.
    Rfc2d,
    /// Spatial rolling friction, local form.
    Rfc3d,
    /// Planar rolling friction, global form; never told from the numbers.
    Grfc2d,
    /// Spatial rolling friction, global form.
    Grfc3d,
    /// Variables between bounds.
    Relay,
    /// A matrix with a law for each block row.
    Gmp,
}

impl DatFormat {
    /// Every format, in the order in which they are tried.
    pub const ALL: [DatFormat; 12] = [
        DatFormat::Lcp,
        DatFormat::Mlcp,
        DatFormat::Fc2d,
        DatFormat::Fc3d,
        DatFormat::Gfc2d,
        DatFormat::Gfc3d,
        DatFormat::Rfc2d,
        DatFormat::Rfc3d,
        DatFormat::Grfc2d,
        DatFormat::Grfc3d,
        DatFormat::Relay,
        DatFormat::Gmp,
    ];

    /// The name that `--format` takes.
    pub const fn name(self) -> &'static str {
        match self {
            DatFormat::Lcp => "lcp",
            DatFormat::Mlcp => "mlcp",
            DatFormat::Fc2d => "fc2d",
            DatFormat::Fc3d => "fc3d",
            DatFormat::Gfc2d => "gfc2d",
            DatFormat::Gfc3d => "gfc3d",
            DatFormat::Rfc2d => "rfc2d",
            DatFormat::Rfc3d => "rfc3d",
            DatFormat::Grfc2d => "grfc2d",
            DatFormat::Grfc3d => "grfc3d",
            DatFormat::Relay => "relay",
            DatFormat::Gmp => "gmp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_text_file_can_be_named() {
        for kind in DatFormat::ALL {
            assert!(Format::NAMES.contains(&named(kind)), "{kind:?}");
        }
    }
}
