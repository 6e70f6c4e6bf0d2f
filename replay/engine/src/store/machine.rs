//! The machine that a run was made on.

use serde::{Deserialize, Serialize};

/// The properties of a machine that figures depend on. Nothing in it identifies the machine or its
/// owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The version of this program.
    pub program: String,
    /// The operating system's kernel, as in `Linux 6.1.0`.
    pub kernel: String,
    /// The processor's instruction set, as in `x86_64`.
    pub architecture: String,
    /// Name of the processor, if it has one.
    pub processor: Option<String>,
    /// Number of processors that this program may use.
    pub processors: usize,
    /// All memory, in bytes, where it is known.
    pub memory_bytes: Option<u64>,
}

impl Machine {
    /// This one, as the files of
    /// [`/proc`](https://www.kernel.org/doc/html/latest/filesystems/proc.html) describe it.
    pub fn this() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let kernel = ["/proc/sys/kernel/ostype", "/proc/sys/kernel/osrelease"]
            .map(|path| read(path).trim().to_owned())
            .join(" ");
        Self {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: kernel.trim().to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            processor: field(&read("/proc/cpuinfo"), "model name"),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            // In kibibytes, which the file calls kB.
            memory_bytes: field(&read("/proc/meminfo"), "MemTotal")
                .and_then(|total| total.trim_end_matches("kB").trim().parse::<u64>().ok())
                .map(|kibibytes| kibibytes * 1024),
        }
    }
}

/// The first value under a name, of lines `NAME : VALUE`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "model\t\t: 85\nmodel name\t: A Processor: 2 GHz\nmodel name\t: another\n";
        assert_eq!(
            field(text, "model name").as_deref(),
            Some("A Processor: 2 GHz")
        );
        assert_eq!(field(text, "name"), None);
    }

    #[test]
    fn this_machine_has_a_kernel_processors_and_memory() {
        let machine = Machine::this();
        assert!(machine.kernel.starts_with("Linux "), "{machine:?}");
        assert!(machine.processors > 0, "{machine:?}");
        assert!(machine.memory_bytes > Some(1 << 26), "{machine:?}");
    }
}
