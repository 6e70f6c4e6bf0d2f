/** What a crossing costs. */

export const ADULT = 450;

/** Give the fare in cents: children below 4 travel free, others below 15 for half. */
export function fare(age) {
  if (age < 0) {
    throw new RangeError("an age can't be negative");
  }
  if (age < 4) {
    return 0;
  }
  return age < 15 ? ADULT / 2 : ADULT;
}

/** Add up a party's fares; five or more get a tenth off. */
export function partyFare(ages) {
  const sum = ages.reduce((total, age) => total + fare(age), 0);
  const discount = ages.length >= 5 ? sum / 10 : 0;
  return Math.round(sum - discount);
}
