import { ParseError } from "../errors";

/** A cursor over one line of text that knows its column for error messages. */
export class Scanner {
  private position = 0;

  constructor(
    readonly text: string,
    private readonly line = 1,
  ) {}

  get column(): number {
    return this.position + 1;
  }

  get atEnd(): boolean {
    this.skipSpace();
    return this.position >= this.text.length;
  }

  /** Consumes what `pattern` matches right here, after white space; undefined if it does not. */
  match(pattern: RegExp): string | undefined {
    this.skipSpace();
    const sticky = new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, "")}y`);
    sticky.lastIndex = this.position;
    const found = sticky.exec(this.text)?.[0];
    if (found !== undefined) {
      this.position += found.length;
    }
    return found;
  }

  /** Like {@link match}, but the text must be there; `what` names it in the error. */
  expect(pattern: RegExp, what: string): string {
    const found = this.match(pattern);
    if (found === undefined) {
      throw this.error(`expected ${what}`);
    }
    return found;
  }

  /** Consumes the literal when it comes next. */
  accept(literal: string): boolean {
    this.skipSpace();
    if (!this.text.startsWith(literal, this.position)) {
      return false;
    }
    this.position += literal.length;
    return true;
  }

  /** The rest of the line, trimmed. */
  rest(): string {
    const remainder = this.text.slice(this.position).trim();
    this.position = this.text.length;
    return remainder;
  }

  /** Fails unless everything was consumed. */
  finish(): void {
    if (!this.atEnd) {
      throw this.error(`unexpected "${this.rest()}"`);
    }
  }

  error(reason: string, column = this.column): ParseError {
    return new ParseError(reason, this.line, column);
  }

  private skipSpace(): void {
    const offset = this.text.slice(this.position).search(/\S/);
    this.position = offset < 0 ? this.text.length : this.position + offset;
  }
}
