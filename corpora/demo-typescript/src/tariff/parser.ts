import { ParseError, ValidationError } from "../errors";
import { requireOneOf, requireRange } from "../guards";
import { Scanner } from "../text/scanner";
import { CURRENCIES, Money, parsePercent, type Currency } from "../units/money";
import { Weight } from "../units/weight";
import {
  CONDITIONS,
  RateTable,
  Service,
  type Bracket,
  type Charge,
  type Condition,
  type Discount,
  type Overflow,
  type Surcharge,
  type Tariff,
} from "./tariff";
import { ZoneMap } from "./zones";

const WORD = /[a-z][a-z0-9-]*/i;
const ZONE = /[A-Z][A-Z0-9]*/;
const NUMBER = /\d+/;
const AMOUNT = /\d+(?:\.\d+)?/;
const WEIGHT = /\d+(?:\.\d+)?\s*[a-z]+/i;
const QUOTED = /"[^"]*"/;
const DEFAULT_DIVISOR = 5000;

/**
 * Reads the tariff format, one statement per line, `#` starting a comment:
 *
 * ```text
 * tariff parcel-eu EUR
 * divisor 5000
 * zone A: DE, AT
 * service express "Express" 1
 *   A: 2kg 12.90, 5kg 15.50, +1kg 1.20
 * surcharge fuel 7.5%
 * surcharge island 4.50 when remote
 * discount volume 10% from 5
 * ```
 */
export function parseTariff(text: string): Tariff {
  const builder = new TariffBuilder();
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.replace(/#.*$/, "").trimEnd();
    if (line.trim() !== "") {
      readStatement(builder, line, index + 1);
    }
  }
  return builder.build();
}

function readStatement(builder: TariffBuilder, line: string, lineNumber: number): void {
  const scanner = new Scanner(line, lineNumber);
  try {
    if (/^\s/.test(line)) {
      builder.rates(scanner);
    } else {
      builder.statement(scanner);
    }
    scanner.finish();
  } catch (error) {
    if (error instanceof ParseError) {
      throw error.atLine(lineNumber);
    }
    if (error instanceof ValidationError) {
      throw new ParseError(error.message, lineNumber, scanner.column);
    }
    throw error;
  }
}

/** Collects statements; each method consumes what belongs to its keyword. */
class TariffBuilder {
  private header: { name: string; currency: Currency } | undefined;
  private divisor = DEFAULT_DIVISOR;
  private service: Service | undefined;
  private readonly zones = new ZoneMap();
  private readonly services = new Map<string, Service>();
  private readonly surcharges: Surcharge[] = [];
  private readonly discounts: Discount[] = [];

  statement(scanner: Scanner): void {
    const keyword = scanner.expect(WORD, "a keyword");
    if (keyword !== "tariff" && this.header === undefined) {
      throw scanner.error('expected "tariff" first', 1);
    }
    this.service = undefined;
    switch (keyword) {
      case "tariff":
        return this.readHeader(scanner);
      case "divisor":
        return this.readDivisor(scanner);
      case "zone":
        return this.readZone(scanner);
      case "service":
        return this.readService(scanner);
      case "surcharge":
        return this.readSurcharge(scanner);
      case "discount":
        return this.readDiscount(scanner);
      default:
        throw scanner.error(`unknown keyword "${keyword}"`, 1);
    }
  }

  /** Reads an indented line of prices below a service. */
  rates(scanner: Scanner): void {
    if (this.service === undefined) {
      throw scanner.error("rates outside a service");
    }
    const zone = scanner.expect(ZONE, "a zone");
    if (!this.zones.has(zone)) {
      throw scanner.error(`unknown zone ${zone}`);
    }
    scanner.expect(/:/, '":"');
    const brackets: Bracket[] = [];
    let overflow: Overflow | undefined;
    for (const entry of scanner.rest().split(",")) {
      const part = new Scanner(entry);
      const isOverflow = part.accept("+");
      const weight = Weight.parse(part.expect(WEIGHT, "a weight"));
      const price = Money.parse(part.expect(AMOUNT, "a price"), this.currency);
      part.finish();
      if (overflow !== undefined) {
        throw new ParseError("nothing may follow the overflow step");
      }
      if (isOverflow) {
        overflow = { step: weight, price };
      } else {
        brackets.push({ upTo: weight, price });
      }
    }
    this.service.addTable(zone, new RateTable(brackets, overflow));
  }

  build(): Tariff {
    const { header, divisor, zones, services, surcharges, discounts } = this;
    if (header === undefined) {
      throw new ParseError("empty tariff");
    }
    return { ...header, divisor, zones, services, surcharges, discounts };
  }

  private get currency(): Currency {
    return this.header?.currency ?? "EUR";
  }

  private readHeader(scanner: Scanner): void {
    if (this.header !== undefined) {
      throw scanner.error("second tariff header", 1);
    }
    const name = scanner.expect(WORD, "a name");
    const currency = requireOneOf(scanner.expect(WORD, "a currency"), "currency", CURRENCIES);
    this.header = { name, currency };
  }

  private readDivisor(scanner: Scanner): void {
    const divisor = Number(scanner.expect(NUMBER, "a number"));
    this.divisor = requireRange(divisor, "divisor", 1000, 10_000);
  }

  private readZone(scanner: Scanner): void {
    const zone = scanner.expect(ZONE, "a zone");
    scanner.expect(/:/, '":"');
    for (const pattern of scanner.rest().split(",")) {
      this.zones.add(zone, pattern);
    }
  }

  private readService(scanner: Scanner): void {
    const code = scanner.expect(WORD, "a service code");
    const title = scanner.expect(QUOTED, "a quoted title").slice(1, -1);
    const days = Number(scanner.expect(NUMBER, "transit days"));
    if (this.services.has(code)) {
      throw scanner.error(`service ${code} is already defined`);
    }
    this.service = new Service(code, title, requireRange(days, "days", 1, 30));
    this.services.set(code, this.service);
  }

  private readSurcharge(scanner: Scanner): void {
    const name = scanner.expect(WORD, "a surcharge name");
    const charge = this.readCharge(scanner);
    let when: Condition = "always";
    if (scanner.accept("when")) {
      when = requireOneOf(scanner.expect(WORD, "a condition"), "condition", CONDITIONS);
    }
    this.surcharges.push({ name, charge, when });
  }

  private readDiscount(scanner: Scanner): void {
    const name = scanner.expect(WORD, "a discount name");
    const basisPoints = parsePercent(scanner.expect(/\d+(?:\.\d+)?%/, "a percentage"));
    scanner.expect(/from\b/, '"from"');
    const minParcels = Number(scanner.expect(NUMBER, "a number of parcels"));
    this.discounts.push({ name, basisPoints, minParcels });
  }

  private readCharge(scanner: Scanner): Charge {
    const text = scanner.expect(/\d+(?:\.\d+)?%?/, "an amount or percentage");
    if (text.endsWith("%")) {
      return { kind: "percent", basisPoints: parsePercent(text) };
    }
    return { kind: "fixed", amount: Money.parse(text, this.currency) };
  }
}
