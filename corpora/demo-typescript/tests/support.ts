import { Address } from "../src/address/address";
import { BusinessCalendar } from "../src/calendar/business";
import { LocalDate } from "../src/calendar/date";
import { WaybillError } from "../src/errors";
import { QuoteEngine, type QuoteRequest } from "../src/rating/quote";
import { Parcel } from "../src/shipment/parcel";
import { Shipment, type ShipmentData } from "../src/shipment/shipment";
import { parseTariff } from "../src/tariff/parser";
import { TrackingHistory } from "../src/tracking/history";
import { Money } from "../src/units/money";

export const TARIFF_TEXT = `# price list for tests
tariff parcel-eu EUR
divisor 5000
zone A: DE, AT
zone B: FR, NL, GB
zone C: FR-20, CH

service express "Express Next Day" 1
  A: 2kg 12.90, 5kg 15.50, +1kg 1.20
  B: 5kg 25
service economy "Economy" 3   # slow
  A: 10kg 8.00
  B: 10kg 14.40, +500g 0.75
  C: 10kg 20.00

surcharge fuel 7.5%
surcharge island 4.50 when remote
surcharge bulky 9.00 when bulky
surcharge clearance 11.00 when customs
surcharge signature 1.25 when signature
surcharge insurance 1% when insured
discount small 5% from 2
discount volume 10% from 3
`;

export const day = LocalDate.parse;
export const eur = (text: string): Money => Money.parse(text, "EUR");

export const BERLIN = Address.parse("Ada Krug; Torstrasse 1; 10115 Berlin; DE");
export const VIENNA = Address.parse("Max Huber; Ring 4; 1010 Wien; Austria");
export const PARIS = Address.parse("Zoé Blanc; 3 Rue Cler; 75007 Paris; FR");
export const AJACCIO = Address.parse("Luc Rossi; 8 Cours Bel; 20000 Ajaccio; FR");
export const LONDON = Address.parse("Eve Hall; 9 Mill Rd; London SW1A 1AA; UK");

export function makeEngine(text = TARIFF_TEXT): QuoteEngine {
  const calendar = new BusinessCalendar().addHoliday(day("2024-05-01"));
  return new QuoteEngine(parseTariff(text), calendar);
}

export function makeRequest(overrides: Partial<QuoteRequest> = {}): QuoteRequest {
  return {
    from: BERLIN,
    to: VIENNA,
    parcels: [Parcel.parse("1.5kg 20x20x10cm")],
    shipOn: day("2024-04-29"),
    ...overrides,
  };
}

export function makeShipment(overrides: Partial<ShipmentData> = {}): Shipment {
  return Shipment.of({
    id: "RR473124829GB",
    from: BERLIN,
    to: PARIS,
    parcels: [Parcel.parse("2kg 30x20x10cm blue box"), Parcel.parse("750g 10x10x10cm")],
    service: "express",
    price: eur("19.99"),
    deliverBy: day("2024-05-03"),
    history: TrackingHistory.start(day("2024-04-30"), "Berlin"),
    ...overrides,
  });
}

/** The message of the library error that `action` throws. */
export function failure(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof WaybillError) {
      return `${error.name}: ${error.message}`;
    }
    throw error;
  }
  throw new Error("nothing was thrown");
}
