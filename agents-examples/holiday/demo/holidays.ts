/** The 25 holidays of the demo, and the three travellers for whom there is no hotel room. */

export interface Holiday {
  /** Label and key of its run. */
  readonly run: string;
  readonly traveller: string;
  readonly from: string;
  readonly to: string;
  readonly hotel: string;
  readonly car: string;
  /** How its run has to end. */
  readonly end: "COMPLETED" | "COMPENSATED";
}

/** They ask like everybody else; the hotel service has no room for them, now or later. */
export const travellersWithoutHotel: readonly string[] = ["Dana", "Leslie", "Tony"];

const trips = [
  {
    trip: { from: "Zurich", to: "Lisbon", hotel: "Alfama Inn", car: "compact" },
    travellers: ["Ada", "Barbara", "Dana", "Dennis", "Edsger"],
  },
  {
    trip: { from: "Oslo", to: "Naples", hotel: "Hotel Vesuvio", car: "scooter" },
    travellers: ["Frances", "Grace", "Hedy", "Ivan", "Jean"],
  },
  {
    trip: { from: "Vienna", to: "Porto", hotel: "Casa Ribeira", car: "van" },
    travellers: ["Ken", "Leslie", "Margaret", "Niklaus", "Ole"],
  },
  {
    trip: { from: "Dublin", to: "Athens", hotel: "Plaka House", car: "cabriolet" },
    travellers: ["Peter", "Radia", "Shafi", "Sophie", "Tony"],
  },
  {
    trip: { from: "Prague", to: "Palermo", hotel: "Villa Mondello", car: "compact" },
    travellers: ["Ursula", "Vint", "Wendy", "Xavier", "Yukihiro"],
  },
];

export const holidays: readonly Holiday[] = trips
  .flatMap(({ trip, travellers }) => travellers.map((traveller) => ({ ...trip, traveller })))
  .map((holiday, index) => ({
    ...holiday,
    run: `holiday-${String(index + 1).padStart(2, "0")}`,
    end: travellersWithoutHotel.includes(holiday.traveller) ? "COMPENSATED" : "COMPLETED",
  }));
