//! The system calls that nothing inside may make.
//!
//! The namespaces and the missing capabilities already refuse most of these; the filter keeps
//! the rest of the kernel's surface (new namespaces, io_uring, keyrings, exotic sockets) out of
//! reach. What it refuses answers EPERM, ENOSYS where programs have a fallback to take, ENOPROTOOPT
//! for options of sockets, or nothing at all for advice.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use super::{MemoryControl, SandboxError};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Installs the filter for this process and all it will start. A call in a foreign architecture's
/// convention kills its process.
pub(super) fn apply(memory: MemoryControl) -> Result<(), SandboxError> {
    let failed = |error: &dyn std::fmt::Display| SandboxError::BelowLevel {
        refused: format!("the kernel takes no system call filter ({error})"),
        remedy: "use a kernel with CONFIG_SECCOMP_FILTER on x86-64 or aarch64".into(),
    };
    let programs = programs(memory).map_err(|error| failed(&error))?;
    for program in &programs {
        apply_filter(program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn programs(memory: MemoryControl) -> Result<[BpfProgram; 4], BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let compile = |rules: Rules, errno: i32| -> Result<BpfProgram, BackendError> {
        SeccompFilter::new(
            rules,
            SeccompAction::Allow,
            SeccompAction::Errno(errno.unsigned_abs()),
            arch,
        )?
        .try_into()
    };
    Ok([
        compile(forbidden()?, libc::EPERM)?,
        compile(absent(memory)?, libc::ENOSYS)?,
        compile(options()?, libc::ENOPROTOOPT)?,
        compile(advice()?, 0)?,
    ])
}

/// System calls newer than the C library's table; the same numbers on every architecture.
const OPEN_TREE_ATTR: i64 = 467;
const STATMOUNT_TO_LSM_LIST: [i64; 5] = [457, 458, 459, 460, 461];
const CACHESTAT: i64 = 451;

/// An option newer than the C library's table; the same number on every architecture here.
const SO_NETNS_COOKIE: i32 = 71;

fn forbidden() -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    let mut always: Vec<i64> = vec![
        // Mounts and roots.
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        OPEN_TREE_ATTR,
        // Namespaces.
        libc::SYS_unshare,
        libc::SYS_setns,
        // Other processes' insides.
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_migrate_pages,
        libc::SYS_move_pages,
        // The kernel itself.
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_syslog,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_fanotify_init,
        libc::SYS_lookup_dcookie,
        libc::SYS_nfsservctl,
        // Clocks and names.
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_adjtimex,
        libc::SYS_clock_adjtime,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        // Keyrings, which no namespace separates.
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        // Files by handle, past every path.
        libc::SYS_name_to_handle_at,
        libc::SYS_open_by_handle_at,
        libc::SYS_vhangup,
    ];
    // Mount listings and security modules.
    always.extend(STATMOUNT_TO_LSM_LIST);
    #[cfg(target_arch = "x86_64")]
    always.extend([
        libc::SYS_iopl,
        libc::SYS_ioperm,
        libc::SYS_modify_ldt,
        libc::SYS_uselib,
        libc::SYS_ustat,
        libc::SYS__sysctl,
    ]);
    for call in always {
        rules.insert(call, Vec::new());
    }

    let namespaces = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    // The conditions of one rule must all hold, so each flag has a rule of its own.
    let any_namespace = (0..32)
        .map(|bit| 1u64 << bit)
        .filter(|flag| u64::from(namespaces.cast_unsigned()) & flag != 0)
        .map(|flag| rule(&[(0, SeccompCmpOp::MaskedEq(flag), flag)]))
        .collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_clone, any_namespace);

    // Characters pushed into a terminal's input, and the console's selection.
    let terminal = [libc::TIOCSTI, libc::TIOCLINUX]
        .into_iter()
        .map(|request| rule(&[(1, SeccompCmpOp::Eq, request)]))
        .collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_ioctl, terminal);

    // Unix, IPv4, IPv6 and netlink sockets stay inside their namespace. Others do not: a virtual
    // machine's vsock reaches its host.
    let families = [
        libc::AF_UNIX,
        libc::AF_INET,
        libc::AF_INET6,
        libc::AF_NETLINK,
    ];
    let others: Vec<_> = families
        .into_iter()
        .map(|family| (0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())))
        .collect();
    // Lists of sockets have cookies, see `options`.
    let lists = [
        (0, SeccompCmpOp::Eq, libc::AF_NETLINK.unsigned_abs().into()),
        (
            2,
            SeccompCmpOp::Eq,
            libc::NETLINK_SOCK_DIAG.unsigned_abs().into(),
        ),
    ];
    rules.insert(libc::SYS_socket, vec![rule(&others)?, rule(&lists)?]);

    // Ask (all ones), the default, and without address randomization.
    let personalities = [0xffff_ffff, 0, libc::ADDR_NO_RANDOMIZE as u64];
    let others: Vec<_> = personalities
        .into_iter()
        .map(|value| (0, SeccompCmpOp::Ne, value))
        .collect();
    rules.insert(libc::SYS_personality, vec![rule(&others)?]);

    // Limits and scheduling of other processes: pid 1 and a worker's waiting program have the same
    // user. Zero is the caller itself.
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
    ] {
        rules.insert(call, vec![rule(&[(0, SeccompCmpOp::Ne, 0)])?]);
    }
    // These can also name a group or a user, by their first argument.
    for (call, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        let others = [
            rule(&[(0, SeccompCmpOp::Ne, process)])?,
            rule(&[(1, SeccompCmpOp::Ne, 0)])?,
        ];
        rules.insert(call, others.into());
    }
    Ok(with_x32(rules))
}

fn absent(memory: MemoryControl) -> Result<Rules, BackendError> {
    let mut calls = vec![
        // Its flags are in memory, where a filter cannot look; the C library falls back to clone.
        libc::SYS_clone3,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        // What belongs to no process would outlive a run of a worker, whose program keeps its
        // namespace.
        libc::SYS_shmget,
        libc::SYS_semget,
        libc::SYS_msgget,
        libc::SYS_mq_open,
        // Which pages of the machine's files are in memory is a store that outlives every run.
        libc::SYS_mincore,
        CACHESTAT,
    ];
    if memory == MemoryControl::Watch {
        // Memory that belongs to no process, which the watch would miss.
        calls.extend([libc::SYS_memfd_create, libc::SYS_memfd_secret]);
    }
    let mut rules: Rules = calls.into_iter().map(|call| (call, Vec::new())).collect();
    // One flag reads only what is in memory. Without flags, these are older calls.
    for call in [libc::SYS_preadv2, libc::SYS_pwritev2] {
        rules.insert(call, vec![rule(&[(5, SeccompCmpOp::Ne, 0)])?]);
    }
    let mut both = with_x32(rules);
    // In x32, their numbers are others, and their positions are one argument, not two.
    for call in [546 | X32, 547 | X32] {
        both.insert(call, vec![rule(&[(4, SeccompCmpOp::Ne, 0)])?]);
    }
    Ok(both)
}

/// Options of sockets that show a counter of the whole machine, which outlives every run: cookies of
/// a socket and of a network namespace.
fn options() -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    let cookies = [libc::SO_COOKIE, SO_NETNS_COOKIE]
        .into_iter()
        .map(|option| {
            rule(&[
                (1, SeccompCmpOp::Eq, libc::SOL_SOCKET.unsigned_abs().into()),
                (2, SeccompCmpOp::Eq, option.unsigned_abs().into()),
            ])
        })
        .collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_getsockopt, cookies);
    Ok(with_x32(rules))
}

/// Advice by which pages of the machine's files would leave memory or enter it: it seems taken.
fn advice() -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    rules.insert(libc::SYS_fadvise64, Vec::new());
    rules.insert(libc::SYS_readahead, Vec::new());
    let leaves = [libc::MADV_COLD, libc::MADV_PAGEOUT]
        .into_iter()
        .map(|advice| rule(&[(2, SeccompCmpOp::Eq, u64::from(advice.unsigned_abs()))]))
        .collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_madvise, leaves);
    Ok(with_x32(rules))
}

/// One rule that matches if all of (argument, comparison, value) hold, over 32 bits: the kernel
/// ignores the upper half of each of these arguments.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, BackendError> {
    conditions
        .iter()
        .map(|(argument, operation, value)| {
            SeccompCondition::new(
                *argument,
                SeccompCmpArgLen::Dword,
                operation.clone(),
                *value,
            )
        })
        .collect::<Result<Vec<_>, _>>()
        .and_then(SeccompRule::new)
}

/// The bit that x32's numbers have.
const X32: i64 = 0x4000_0000;

/// Adds the same rules under the numbers of x32, an older convention that shares x86-64's
/// architecture code but sets bit 30. A few calls have numbers of their own there
/// (arch/x86/entry/syscalls/syscall_64.tbl).
fn with_x32(rules: Rules) -> Rules {
    if std::env::consts::ARCH != "x86_64" {
        return rules;
    }
    let own = |call: i64| match call {
        libc::SYS_ioctl => 514,
        libc::SYS_ptrace => 521,
        libc::SYS_kexec_load => 528,
        libc::SYS_move_pages => 533,
        libc::SYS_process_vm_readv => 539,
        libc::SYS_process_vm_writev => 540,
        libc::SYS_getsockopt => 542,
        other => other,
    };
    let mut both = rules.clone();
    for (call, conditions) in rules {
        both.insert(own(call) | X32, conditions.clone());
        both.insert(call | X32, conditions);
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_filters_compile_within_the_kernels_bound() {
        for memory in [MemoryControl::Watch, MemoryControl::CgroupV2] {
            for program in programs(memory).unwrap() {
                assert!(program.len() <= 4096);
            }
        }
    }
}
