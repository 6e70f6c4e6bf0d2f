//! Base64 encoding of values that JSON has no form for.

/// Bytes as base64: JSON would spell them out as numbers.
pub(super) mod bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(D::Error::custom)
    }
}

/// Paths as base64: they need not be text.
pub(super) mod paths {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::PathBuf;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let encode = |path: &PathBuf| STANDARD.encode(path.as_os_str().as_bytes());
        serializer.collect_seq(paths.iter().map(encode))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        Vec::<String>::deserialize(deserializer)?
            .into_iter()
            .map(|text| {
                let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
                Ok(PathBuf::from(OsString::from_vec(bytes)))
            })
            .collect()
    }
}

/// Named files as base64.
pub(super) mod files {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(
        files: &BTreeMap<PathBuf, Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            files
                .iter()
                .map(|(path, bytes)| (path, STANDARD.encode(bytes))),
        )
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<PathBuf, Vec<u8>>, D::Error> {
        BTreeMap::<PathBuf, String>::deserialize(deserializer)?
            .into_iter()
            .map(|(path, text)| {
                let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
                Ok((path, bytes))
            })
            .collect()
    }
}
