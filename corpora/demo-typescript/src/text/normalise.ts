/** Upper-cases the first letter of every word, also after hyphens and apostrophes. */
export function titleCase(text: string): string {
  return text
    .toLowerCase()
    .replace(/(^|[\s\-'])(\p{L})/gu, (_, lead: string, letter: string) => lead + letter.toUpperCase());
}

/** Trims and turns every run of white space into one space. */
export function collapse(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
