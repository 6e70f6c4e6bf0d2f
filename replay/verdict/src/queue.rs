//! Runs jobs on several threads: the only loop over work in this program.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Runs jobs on at most `threads` threads and returns the results in the order of the jobs.
///
/// Each thread makes one worker with `new_worker` and keeps it for all its jobs. Threads take jobs
/// in order. After the first error no thread takes another job; those under way are completed.
/// `finished` is called after each job that succeeds, with the number of such jobs so far.
///
/// # Errors
/// The error of the first job, in the order of the jobs, that failed.
pub fn run_jobs<J: Sync, W, R: Send, E: Send>(
    jobs: &[J],
    threads: usize,
    new_worker: impl Fn() -> W + Sync,
    run: impl Fn(&mut W, &J) -> Result<R, E> + Sync,
    finished: impl Fn(usize) + Sync,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let succeeded = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let results: Mutex<Vec<Option<Result<R, E>>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let work = || {
        let mut worker = new_worker();
        while !stopped.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else {
                break;
            };
            let result = run(&mut worker, job);
            let failed = result.is_err();
            results.lock()[index] = Some(result);
            if failed {
                stopped.store(true, Ordering::Relaxed);
            } else {
                finished(succeeded.fetch_add(1, Ordering::Relaxed) + 1);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(work);
        }
    });
    // Only after an error do jobs lack a result, and they come after the job of the first error.
    results.into_inner().into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_job_order_on_any_number_of_threads() {
        let jobs: Vec<u64> = (0..50).collect();
        for threads in [0, 1, 4, 100] {
            let done = Mutex::new(Vec::new());
            let results = run_jobs(
                &jobs,
                threads,
                || 0,
                |jobs_of_worker, job| {
                    *jobs_of_worker += 1;
                    std::thread::sleep(std::time::Duration::from_micros(50 - job));
                    Ok::<_, ()>((job * 2, *jobs_of_worker))
                },
                |count| done.lock().push(count),
            )
            .expect("no job fails");
            assert!(
                results
                    .iter()
                    .map(|(double, _)| *double)
                    .eq((0..50).map(|job| job * 2))
            );
            assert!(results.iter().all(|(_, count)| *count >= 1));
            let mut done = done.into_inner();
            done.sort_unstable();
            assert!(done.into_iter().eq(1..=50));
        }
    }

    #[test]
    fn first_error_stops_the_queue() {
        let jobs: Vec<usize> = (0..1000).collect();
        let started = AtomicUsize::new(0);
        let outcome: Result<Vec<()>, usize> = run_jobs(
            &jobs,
            2,
            || (),
            |(), job| {
                started.fetch_add(1, Ordering::Relaxed);
                if *job == 3 {
                    return Err(*job);
                }
                std::thread::sleep(std::time::Duration::from_micros(100));
                Ok(())
            },
            |_| {},
        );
        assert_eq!(outcome, Err(3));
        assert!(started.load(Ordering::Relaxed) < 1000);
    }

    #[test]
    fn no_jobs_give_no_results() {
        let results = run_jobs(&[(); 0], 4, || (), |(), ()| Ok::<_, ()>(()), |_| {});
        assert_eq!(results, Ok(Vec::new()));
    }
}
