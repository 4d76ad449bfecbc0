// Ids that the database draws at random: one may be taken, in one of some ten thousand inserts at
// most. Then nothing is inserted, and the insert is repeated.

/** Most attempts at an insert. A row that is still missing then is not missing by chance. */
export const INSERTS_MAX = 3;
