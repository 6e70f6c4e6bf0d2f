/** When the boat leaves. */

/** List the departures of a day in minutes after midnight. */
export function departures(first, last, every) {
  const times = [];
  for (let time = first; time <= last; time += every) {
    times.push(time);
  }
  return times;
}

/** Give the next departure, or nothing after the last. */
export function next(times, now) {
  const later = times.filter((time) => time >= now);
  return later.length > 0 ? Math.min(...later) : undefined;
}

/** Write minutes after midnight as a clock shows them. */
export function clock(minutes) {
  const hours = Math.floor(minutes / 60) % 24;
  const rest = String(minutes % 60).padStart(2, "0");
  return `${hours}:${rest}`;
}
