/** The 25 holidays of the demo: for some there is another hotel, and for three there is none. */

export interface Holiday {
  /** Label and key of its run. */
  readonly run: string;
  readonly traveller: string;
  readonly from: string;
  readonly to: string;
  readonly hotel: string;
  /** Where the first one has no room. */
  readonly second_hotel: string;
  readonly car: string;
  /** How its run has to end. */
  readonly end: "COMPLETED" | "COMPENSATED";
}

/** They ask like everybody else; the hotel service has no room for them, now or later. */
export const travellersWithoutHotel: readonly string[] = ["Dana", "Leslie", "Tony"];

/** Has no room for any traveller. */
export const fullHotel = "Casa Ribeira";

const trips = [
  {
    trip: {
      from: "Zurich",
      to: "Lisbon",
      hotel: "Alfama Inn",
      second_hotel: "Lapa Palace",
      car: "compact",
    },
    travellers: ["Ada", "Barbara", "Dana", "Dennis", "Edsger"],
  },
  {
    trip: {
      from: "Oslo",
      to: "Naples",
      hotel: "Hotel Vesuvio",
      second_hotel: "Pensione Posillipo",
      car: "scooter",
    },
    travellers: ["Frances", "Grace", "Hedy", "Ivan", "Jean"],
  },
  {
    trip: {
      from: "Vienna",
      to: "Porto",
      hotel: fullHotel,
      second_hotel: "Foz Guesthouse",
      car: "van",
    },
    travellers: ["Ken", "Leslie", "Margaret", "Niklaus", "Ole"],
  },
  {
    trip: {
      from: "Dublin",
      to: "Athens",
      hotel: "Plaka House",
      second_hotel: "Hotel Acropolis",
      car: "cabriolet",
    },
    travellers: ["Peter", "Radia", "Shafi", "Sophie", "Tony"],
  },
  {
    trip: {
      from: "Prague",
      to: "Palermo",
      hotel: "Villa Mondello",
      second_hotel: "Albergo Kalsa",
      car: "compact",
    },
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
