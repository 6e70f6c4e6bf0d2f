/**
 * Estimates the ghost text that the editor displays, as far as an extension can know.
 *
 * VS Code reports only accepted items to a published extension. What was shown is therefore
 * estimated, by VS Code's rules for when ghost text is displayed:
 *
 * - It appears when the answer arrives, if the document is still the one that was asked for, it
 *   is in the active editor of a focused window, and the cursor is still where it was. With
 *   the list of suggestions open, only if the item goes on from the selected suggestion.
 * - It stays while its own beginning is typed.
 * - It goes with any other edit, when the cursor moves away, when the editor or the window loses
 *   the focus, when another answer takes its place, and when it is dismissed or accepted.
 *
 * What goes within {@link SETTLE_MS} was not seen and is not reported. An estimate
 * errs where another extension's ghost text is shown instead of ours.
 *
 * Everything is reported as `estimated`, even accepted items, which must have been shown: if
 * only those were `confirmed`, a rate over confirmed items would consist of accepts alone.
 */

import type { Acceptance, Event, Identity } from "./protocol";

/** Least time for which ghost text is displayed before it is reported as shown, in milliseconds. */
export const SETTLE_MS = 50;

/** Timeout for the accept command that follows its edit, in milliseconds. */
export const ACCEPT_MS = 1000;

/** A candidate as it was offered. */
export interface Candidate extends Identity {
  /** Text that would be inserted at the cursor. */
  text: string;
}

/** An answer that the editor was given and that fits the text there. */
export interface Offer {
  /** The document. */
  document: string;
  /** Start of the ghost text, as an offset in the document. */
  offset: number;
  /** Candidates, best first; at least one. */
  candidates: [Candidate, ...Candidate[]];
}

/** An edit of a document: a text replaces a number of characters from an offset on. */
export interface Edit {
  offset: number;
  removed: number;
  text: string;
}

/** A clock, which tests replace. */
export interface Clock {
  /** Milliseconds from any fixed moment. */
  now(): number;
  /** Calls back after the given milliseconds; the result cancels it. */
  after(ms: number, then: () => void): () => void;
}

/** The ghost text on display. */
interface Display {
  document: string;
  candidates: [Candidate, ...Candidate[]];
  /** Index of the displayed candidate, from 0. */
  index: number;
  /** The part of its text that is not typed yet, and its offset in the document. */
  remaining: string;
  offset: number;
  since: number;
  /** True once it was reported as shown. */
  reported: boolean;
  cancel: () => void;
}

/** Follows what is displayed and reports it. */
export class Shown {
  private display: Display | undefined;

  constructor(
    private readonly report: (event: Event) => void,
    private readonly clock: Clock,
  ) {}

  /** The candidate now shown, and the part of it that is not typed yet. */
  get current(): { candidate: Candidate; remaining: string; document: string } | undefined {
    if (this.display === undefined || this.display.remaining === "") {
      return undefined;
    }
    const { document, remaining } = this.display;
    return { candidate: selected(this.display), remaining, document };
  }

  /** An answer arrived and is displayed. */
  offered(offer: Offer): void {
    const before = this.display;
    const same =
      before !== undefined &&
      before.document === offer.document &&
      before.offset === offer.offset &&
      before.remaining !== ""
        ? offer.candidates.findIndex((candidate) => candidate.text === before.remaining)
        : -1;
    if (before !== undefined && same !== -1) {
      const stays = selected(before);
      const now = offer.candidates[same];
      if (now?.completion === stays.completion && now.candidate === stays.candidate) {
        // The same completion again, perhaps with more candidates: it goes on being shown.
        before.candidates = offer.candidates;
        before.index = same;
        return;
      }
    }
    this.end();
    // The editor goes on with the text that was there where the new answer has it too.
    this.begin(offer.document, offer.offset, offer.candidates, Math.max(same, 0));
  }

  /** A document was edited. */
  edited(document: string, edits: readonly Edit[]): void {
    const display = this.display;
    if (display === undefined || display.document !== document || edits.length === 0) {
      return;
    }
    const [edit] = edits;
    if (
      edits.length === 1 &&
      edit !== undefined &&
      edit.removed === 0 &&
      edit.offset === display.offset &&
      edit.text !== "" &&
      display.remaining.startsWith(edit.text)
    ) {
      display.remaining = display.remaining.slice(edit.text.length);
      display.offset += edit.text.length;
      if (display.remaining === "") {
        this.complete(display);
      }
      return;
    }
    this.end();
  }

  /** The cursor is there now, or the selection is not empty: no offset. */
  moved(document: string, offset: number | undefined): void {
    const display = this.display;
    if (display?.document === document && display.remaining !== "" && offset !== display.offset) {
      this.end();
    }
  }

  /** Ends the display, and reports its duration if it was reported as shown. */
  end(): void {
    const display = this.take();
    if (display?.reported) {
      this.report({
        ...identity(selected(display)),
        event: "shown",
        certainty: "estimated",
        shownMs: this.length(display),
      });
    }
  }

  /** The person pressed Escape on ghost text; returns whether it was this extension's. */
  dismissed(): boolean {
    if (this.current === undefined) {
      return false;
    }
    const display = this.take();
    if (display === undefined) {
      return false;
    }
    this.report({
      ...identity(selected(display)),
      event: "dismissed",
      certainty: "estimated",
      shownMs: this.length(display),
    });
    return true;
  }

  /** The person takes over a part; the rest goes on being shown. */
  partlyAccepted(of: Candidate, characters: number, unit: "word" | "line"): void {
    const display = this.display;
    const event: Event = {
      ...identity(of),
      event: "partlyAccepted",
      certainty: "estimated",
      characters,
      unit,
    };
    if (display !== undefined && isSame(selected(display), of)) {
      event.shownMs = this.length(display);
      display.reported = true;
    }
    this.report(event);
  }

  /** The person took over the whole: what the argument of the item's command says of it. */
  accepted(of: Identity): Acceptance {
    const acceptance: Acceptance = { ...identity(of), certainty: "estimated" };
    const display = this.display;
    if (display !== undefined && selected(display).completion === of.completion) {
      acceptance.shownMs = this.length(display);
      this.take();
    }
    return acceptance;
  }

  /** The next candidate takes the place of the one displayed, or with -1 the previous. */
  turned(by: 1 | -1): void {
    const display = this.display;
    if (display === undefined || display.candidates.length < 2 || display.remaining === "") {
      return;
    }
    const { document, offset, candidates, index } = display;
    // Candidates are cut to what is not typed yet; those that don't begin with what is typed are
    // not displayed any more, and neither are they here.
    const typed = selected(display).text.slice(0, -display.remaining.length);
    const standing = candidates.flatMap((candidate, place) =>
      candidate.text.startsWith(typed) && candidate.text !== typed ? [place] : [],
    );
    const at = standing.indexOf(index);
    const next = standing[(at + by + standing.length) % standing.length];
    if (next === undefined || next === index) {
      return;
    }
    this.end();
    this.begin(document, offset, candidates, next, typed.length);
  }

  private begin(
    document: string,
    offset: number,
    candidates: [Candidate, ...Candidate[]],
    index: number,
    typed = 0,
  ): void {
    const text = candidates[index]?.text ?? candidates[0].text;
    const display: Display = {
      document,
      candidates,
      index,
      remaining: text.slice(typed),
      offset,
      since: this.clock.now(),
      reported: false,
      cancel: () => {},
    };
    this.display = display;
    display.cancel = this.clock.after(SETTLE_MS, () => {
      if (!display.reported) {
        display.reported = true;
        this.report({ ...identity(selected(display)), event: "shown", certainty: "estimated" });
      }
    });
  }

  /** All of it is in the text: by an accept, whose command follows, or typed to its end. */
  private complete(display: Display): void {
    display.cancel();
    const ended = this.clock.now();
    display.cancel = this.clock.after(ACCEPT_MS, () => {
      if (this.display === display) {
        display.since += this.clock.now() - ended;
        this.end();
      }
    });
  }

  private take(): Display | undefined {
    const display = this.display;
    display?.cancel();
    this.display = undefined;
    return display;
  }

  private length(display: Display): number {
    return Math.max(0, Math.round(this.clock.now() - display.since));
  }
}

/** Returns the number of characters of a text, as the server counts them: code points. */
export function characters(text: string): number {
  return [...text].length;
}

function selected(display: Display): Candidate {
  return display.candidates[display.index] ?? display.candidates[0];
}

function identity(of: Identity): Identity {
  return { completion: of.completion, candidate: of.candidate };
}

function isSame(a: Identity, b: Identity): boolean {
  return a.completion === b.completion && a.candidate === b.candidate;
}
