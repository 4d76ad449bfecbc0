// Ids that the database draws at random: one may be taken, in one of some ten thousand inserts at
// most. Then nothing is inserted, and the insert is repeated.

/** After so many the row is not missing by chance. */
export const INSERTS_MAX = 3;
